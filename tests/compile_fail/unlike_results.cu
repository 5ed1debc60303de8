// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// An op with one result and operands that have two are refused.
// expect: bitsparse: the operands have a second result if, and only if, the op has two
#include <cstdint>

#include <bitsparse/device/operands.cuh>

namespace bs = bitsparse;

#ifdef BITSPARSE_EXPECT_FAILURE
using operands_type = bs::decompress_operands<bs::bf16, bs::none, bs::bf16>;
#else
using operands_type = bs::decompress_operands<bs::bf16>;
#endif

int main() {
  bs::detail::operand_spans spans;
  std::uint64_t num_rows = 0;
  using format           = bs::default_format<bs::bf16>;
  return bs::detail::check_dense<format, bs::identity>(operands_type{}, 0, 0, num_rows, spans).ok()
             ? 0
             : 1;
}
