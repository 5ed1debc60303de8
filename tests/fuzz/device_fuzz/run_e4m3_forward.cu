// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device fuzzer's cases of an op fused into compress, from bf16 to scaled e4m3.
#include <tests/fuzz/device_fuzz/fuzz_run.cuh>

namespace bitsparse_test {

namespace bs = bitsparse;

std::string run_e4m3_forward(fuzz_worker& worker, fuzz_case const& c) {
  using format  = bs::default_format<bs::fp8_e4m3>;
  using codecs  = bs::type_list<bs::codec::sign, bs::codec::compact>;
  using squared = fuzz_types<format, bs::bf16, bs::relu_squared, bs::fp8_e4m3>;
  return run_types<squared>(codecs{}, worker, c);
}

}  // namespace bitsparse_test
