// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device fuzzer's cases of one format without ops.
#include <tests/fuzz/device_fuzz/fuzz_run.cuh>

namespace bitsparse_test {

namespace bs = bitsparse;

std::string run_fp32_32x64(fuzz_worker& worker, fuzz_case const& c) {
  using types = fuzz_types<bs::tile_format<bs::fp32, 32, 64>>;
  return run_types<types>(bs::supported_codecs{}, worker, c);
}

}  // namespace bitsparse_test
