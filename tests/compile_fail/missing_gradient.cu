// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// An op that uses a gradient and operands that have none are refused.
// expect: bitsparse: the operands have a gradient if, and only if, the op uses one
#include <cstdint>

#include <bitsparse/device/operands.cuh>

namespace bs = bitsparse;

struct with_gradient {
#ifdef BITSPARSE_EXPECT_FAILURE
  static constexpr bool uses_gradient = true;
#else
  static constexpr bool uses_gradient = false;
#endif
  static constexpr int num_results = 1;
};

int main() {
  bs::decompress_operands<bs::bf16> const operands{};
  bs::detail::operand_spans spans;
  std::uint64_t num_rows = 0;
  using format           = bs::default_format<bs::bf16>;
  return bs::detail::check_dense<format, with_gradient>(operands, 0, 0, num_rows, spans).ok() ? 0
                                                                                              : 1;
}
