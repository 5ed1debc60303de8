// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device fuzzer's cases of ops fused into compress, in bf16.
#include <tests/fuzz/device_fuzz/fuzz_run.cuh>

namespace bitsparse_test {

namespace bs = bitsparse;

std::string run_bf16_forward(fuzz_worker& worker, fuzz_case const& c) {
  using format  = bs::default_format<bs::bf16>;
  using codecs  = bs::type_list<bs::codec::sign, bs::codec::compact>;
  using relu    = fuzz_types<format, bs::bf16, bs::relu>;
  using squared = fuzz_types<format, bs::bf16, bs::relu_squared, bs::bf16>;
  return c.op == fuzz_op::relu ? run_types<relu>(codecs{}, worker, c)
                               : run_types<squared>(codecs{}, worker, c);
}

}  // namespace bitsparse_test
