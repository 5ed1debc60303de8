// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: non-owning views of dense matrices and of compressed tensors. They hold pointers of the
/// memory, host or device, that the operation they are passed to works on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <bitsparse/config.hpp>
#include <bitsparse/format/tile_format.hpp>

namespace bitsparse {
inline namespace v0 {

/// A dense row-major matrix that may be written.
///
/// Shapes: rows x cols values; value (r, c) lies at data[r * ld + c].
/// Units: ld, the leading dimension, counts values; ld >= cols.
/// Alignment: data is aligned to its element; rows that are 16-byte aligned are read and written
///   faster.
template <class Element>
struct matrix_view {
  using bits_type = typename Element::bits_type;

  bits_type* data    = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t ld   = 0;
};

/// A dense row-major matrix that is only read; see matrix_view.
template <class Element>
struct const_matrix_view {
  using bits_type = typename Element::bits_type;

  bits_type const* data = nullptr;
  std::uint64_t rows    = 0;
  std::uint64_t cols    = 0;
  std::uint64_t ld      = 0;

  constexpr const_matrix_view() = default;
  constexpr const_matrix_view(bits_type const* values,
                              std::uint64_t num_rows,
                              std::uint64_t num_cols,
                              std::uint64_t leading_dimension)
      : data(values), rows(num_rows), cols(num_cols), ld(leading_dimension) {}
  constexpr const_matrix_view(matrix_view<Element> view)  // NOLINT(google-explicit-constructor)
      : const_matrix_view(view.data, view.rows, view.cols, view.ld) {}
};

static_assert(std::is_trivially_copyable_v<matrix_view<bf16>>);
static_assert(std::is_trivially_copyable_v<const_matrix_view<bf16>>);

}  // namespace v0
}  // namespace bitsparse
