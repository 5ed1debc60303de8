// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device fuzzer's cases of one format: without ops, transposed, and both ways.
#include <tests/fuzz/device_fuzz/fuzz_run.cuh>

namespace bitsparse_test {

namespace bs = bitsparse;

std::string run_e4m3_64x128(fuzz_worker& worker, fuzz_case const& c) {
  using e4m3   = bs::fp8_e4m3;
  using format = bs::tile_format<e4m3, 64, 128>;
  using turned =
      fuzz_types<format, e4m3, bs::identity, bs::none, bs::identity, bs::transposed<e4m3>>;
  using both = fuzz_types<format, e4m3, bs::identity, bs::none, bs::identity, bs::both_ways<e4m3>>;
  switch (c.op) {
    case fuzz_op::transposed:
      return run_types<turned>(bs::supported_codecs{}, worker, c);
    case fuzz_op::both_ways:
      return run_types<both>(bs::supported_codecs{}, worker, c);
    default:
      return run_types<fuzz_types<format>>(bs::supported_codecs{}, worker, c);
  }
}

}  // namespace bitsparse_test
