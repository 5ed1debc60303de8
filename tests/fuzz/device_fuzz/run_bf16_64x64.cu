// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device fuzzer's cases of one format: without ops, and transposed.
#include <tests/fuzz/device_fuzz/fuzz_run.cuh>

namespace bitsparse_test {

namespace bs = bitsparse;

std::string run_bf16_64x64(fuzz_worker& worker, fuzz_case const& c) {
  using format = bs::tile_format<bs::bf16, 64, 64>;
  using turned =
      fuzz_types<format, bs::bf16, bs::identity, bs::none, bs::identity, bs::transposed<bs::bf16>>;
  return c.op == fuzz_op::transposed
             ? run_types<turned>(bs::supported_codecs{}, worker, c)
             : run_types<fuzz_types<format>>(bs::supported_codecs{}, worker, c);
}

}  // namespace bitsparse_test
