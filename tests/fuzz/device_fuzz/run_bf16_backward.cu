// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device fuzzer's cases of ops fused into decompress, in bf16.
#include <tests/fuzz/device_fuzz/fuzz_run.cuh>

namespace bitsparse_test {

namespace bs = bitsparse;

std::string run_bf16_backward(fuzz_worker& worker, fuzz_case const& c) {
  using b        = bs::bf16;
  using format   = bs::default_format<b>;
  using codecs   = bs::type_list<bs::codec::compact>;
  using none     = bs::none;
  using identity = bs::identity;
  using gradient = fuzz_types<format, b, identity, none, bs::relu_squared_gradient, b, b>;
  using both     = fuzz_types<format, b, identity, none, bs::square_and_gradient, b, b, b>;
  return c.op == fuzz_op::gradient ? run_types<gradient>(codecs{}, worker, c)
                                   : run_types<both>(codecs{}, worker, c);
}

}  // namespace bitsparse_test
