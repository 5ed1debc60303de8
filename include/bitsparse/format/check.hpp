// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: the argument checks that host and device operations share. They look at shapes and
/// addresses and touch no memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <bitsparse/format/matrix_view.hpp>
#include <bitsparse/format/size.hpp>
#include <bitsparse/format/tensor_view.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

inline bool is_aligned(void const* pointer, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

/// Whether [a, a + a_bytes) and [b, b + b_bytes) share a byte.
inline bool overlaps(void const* a, std::uint64_t a_bytes, void const* b, std::uint64_t b_bytes) {
  auto const first  = reinterpret_cast<std::uintptr_t>(a);
  auto const second = reinterpret_cast<std::uintptr_t>(b);
  if (a_bytes == 0 || b_bytes == 0) return false;
  return first < second ? second - first < a_bytes : first - second < b_bytes;
}

/// Whether every row starts at a 16-byte boundary.
template <class Element>
bool has_vector_rows(const_matrix_view<Element> matrix) {
  return is_aligned(matrix.data, unit_bytes) &&
         matrix.ld * sizeof(typename Element::bits_type) % unit_bytes == 0;
}

/// Bytes from a matrix's first value to its last; size_overflow if it cannot exist.
template <class Element>
constexpr std::uint64_t span_bytes(const_matrix_view<Element> matrix) {
  if (matrix.rows == 0 || matrix.cols == 0) return 0;
  return checked_mul(checked_add(checked_mul(matrix.rows - 1, matrix.ld), matrix.cols),
                     sizeof(typename Element::bits_type));
}

/// Checks a dense operand.
template <class Element>
status check_matrix(const_matrix_view<Element> matrix) {
  constexpr auto invalid = status_code::invalid_argument;
  if (matrix.ld < matrix.cols) {
    return {
        invalid,
        "dense matrix: the leading dimension is less than the number of columns; it counts values "
        "from row to row"};
  }
  if (matrix.rows == 0 || matrix.cols == 0) return {};
  if (matrix.data == nullptr) return {invalid, "dense matrix: the data pointer is null"};
  if (!is_aligned(matrix.data, sizeof(typename Element::bits_type))) {
    return {invalid,
            "dense matrix: the data pointer is not aligned to its element; it has to be the "
            "address of a "
            "value"};
  }
  if (span_bytes(matrix) >= std::uint64_t{1} << 63) {
    return {invalid, "dense matrix: rows x leading dimension is more than the address space"};
  }
  return {};
}

/// Checks a compressed operand's memory.
template <class Format>
status check_tensor(const_compressed_view<Format> tensor) {
  constexpr auto invalid        = status_code::invalid_argument;
  std::uint64_t const directory = directory_bytes<Format>(tensor.rows, tensor.cols);
  if (directory == 0) return {};
  if (max_payload_bytes<Format>(tensor.rows, tensor.cols) == size_overflow) {
    return {status_code::unsupported,
            "compressed tensor: its dense bytes are more than the 512 GiB that offsets address; "
            "split it by rows"};
  }
  if (tensor.directory == nullptr) return {invalid, "compressed tensor: the directory is null"};
  if (!is_aligned(tensor.directory, alignof(tile_descriptor))) {
    return {invalid, "compressed tensor: the directory is not aligned to 8 bytes"};
  }
  if (tensor.payload == nullptr && tensor.payload_bytes != 0) {
    return {invalid, "compressed tensor: the payload is null but its size is not 0"};
  }
  if (!is_aligned(tensor.payload, unit_bytes)) {
    return {invalid,
            "compressed tensor: the payload is not aligned to 16 bytes; round its address up"};
  }
  if (overlaps(tensor.payload, tensor.payload_bytes, tensor.directory, directory)) {
    return {invalid, "compressed tensor: the directory and the payload overlap"};
  }
  return {};
}

/// Checks a compressed and a dense operand of one operation.
template <class Format>
status check_operands(const_compressed_view<Format> tensor,
                      const_matrix_view<typename Format::element> matrix) {
  constexpr auto invalid = status_code::invalid_argument;
  if (status const checked = check_matrix(matrix); !checked.ok()) return checked;
  if (tensor.rows != matrix.rows || tensor.cols != matrix.cols) {
    return {invalid, "compressed tensor: its rows x columns are not the dense matrix's"};
  }
  if (status const checked = check_tensor(tensor); !checked.ok()) return checked;
  std::uint64_t const dense = span_bytes(matrix);
  if (overlaps(matrix.data, dense, tensor.payload, tensor.payload_bytes) ||
      overlaps(matrix.data,
               dense,
               tensor.directory,
               directory_bytes<Format>(tensor.rows, tensor.cols))) {
    return {invalid, "dense matrix: it overlaps the compressed tensor's memory"};
  }
  return {};
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
