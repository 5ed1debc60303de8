// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The template arguments of a case, and what its ops make of numbers on the host.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <bitsparse/device/op.cuh>
#include <bitsparse/device/operands.cuh>
#include <tests/fuzz/device_fuzz/fuzz_fill.hpp>
#include <tests/support/device_ops.cuh>

namespace bitsparse_test {

/// What a case is made of. Those without an op keep the bits.
template <class Format,
          class Source     = typename Format::element,
          class ForwardOp  = bitsparse::identity,
          class Emitted    = bitsparse::none,
          class BackwardOp = bitsparse::identity,
          class First      = typename Format::element,
          class Gradient   = bitsparse::none,
          class Second     = bitsparse::none>
struct fuzz_types {
  using format                      = Format;
  using source                      = Source;
  using forward_op                  = ForwardOp;
  using emitted                     = Emitted;
  using backward_op                 = BackwardOp;
  using first                       = First;
  using gradient                    = Gradient;
  using second                      = Second;
  static constexpr bool stores_bits = std::is_same_v<ForwardOp, bitsparse::identity> &&
                                      std::is_same_v<Source, typename Format::element>;
  static constexpr bool restores_bits = std::is_same_v<BackwardOp, bitsparse::identity>;
};

/// An op's expression, in the same order of operations.
template <class Op>
struct host_op;

inline float host_relu(float x) {
  return std::isnan(x) ? number_of<bitsparse::fp32>(0x7fffffffu) : x <= 0 ? 0.0f : x;
}
inline float host_where_positive(float stored, float gradient) {
  return stored <= 0 ? 0.0f : gradient;
}

template <>
struct host_op<bitsparse::identity> {
  static two_numbers forward(float x) { return {x, x}; }
  static two_numbers backward(float s, float) { return {s, 0}; }
};
template <>
struct host_op<bitsparse::relu> {
  static two_numbers forward(float x) { return {host_relu(x), host_relu(x)}; }
};
template <>
struct host_op<bitsparse::relu_squared> {
  static two_numbers forward(float x) {
    float const r = host_relu(x);
    return {r, r * r};
  }
};
template <>
struct host_op<bitsparse::relu_squared_gradient> {
  static two_numbers backward(float s, float g) { return {host_where_positive(s, 2 * s * g), 0}; }
};
template <>
struct host_op<bitsparse::square_and_gradient> {
  static two_numbers backward(float s, float g) {
    return {s * s, host_where_positive(s, 2 * s * g)};
  }
};

/// Whether bits are those of a NaN, as an object.
template <class Element>
struct nan_test {
  bool operator()(typename Element::bits_type bits) const { return is_nan<Element>(bits); }
};

}  // namespace bitsparse_test
