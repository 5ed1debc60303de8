// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 3: CUDA's own element types as bitsparse's, so that their pointers make views.
#pragma once

#include <cstdint>

#include <bitsparse/format/element.hpp>
#include <bitsparse/format/matrix_view.hpp>

// Declared, not included: users who have the type have included its header.
struct __nv_bfloat16;
struct __half;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;

namespace bitsparse {
inline namespace v0 {
namespace detail {

template <class T>
struct element_of;
template <>
struct element_of<__nv_bfloat16> {
  using type = bf16;
};
template <>
struct element_of<__half> {
  using type = fp16;
};
template <>
struct element_of<float> {
  using type = fp32;
};
template <>
struct element_of<__nv_fp8_e4m3> {
  using type = fp8_e4m3;
};
template <>
struct element_of<__nv_fp8_e5m2> {
  using type = fp8_e5m2;
};

}  // namespace detail

/// The bitsparse element of a CUDA type: __nv_bfloat16, __half, float, __nv_fp8_e4m3 or
/// __nv_fp8_e5m2.
template <class T>
using element_of = typename detail::element_of<T>::type;

/// A view of a dense matrix of a CUDA type.
/// Shapes, Units, Alignment: see matrix_view.
template <class T>
matrix_view<element_of<T>> make_matrix(T* data,
                                       std::uint64_t rows,
                                       std::uint64_t cols,
                                       std::uint64_t ld) {
  return {reinterpret_cast<typename element_of<T>::bits_type*>(data), rows, cols, ld};
}
/// The same of a matrix that is only read.
template <class T>
const_matrix_view<element_of<T>> make_matrix(T const* data,
                                             std::uint64_t rows,
                                             std::uint64_t cols,
                                             std::uint64_t ld) {
  return {reinterpret_cast<typename element_of<T>::bits_type const*>(data), rows, cols, ld};
}

}  // namespace v0
}  // namespace bitsparse
