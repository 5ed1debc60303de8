// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 3: the Op template axis: element-wise arithmetic fused into compress and decompress.
///
/// An op is a stateless functor on floats. compress reads x, calls apply(x), rounds `stored` to the
/// tensor's element and, if it is given a matrix for it, `emitted` to that one's. decompress reads
/// the stored value s and, if the op wants one, a gradient g, calls apply(s, g), and rounds `first`
/// and `second` to their matrices' elements. Each result is rounded once, to the nearest, ties to
/// even; 8-bit floats are scaled, which is a rounded multiplication of its own on either side of the op,
/// and saturate (see compress_operands).
///
/// One's own op is a struct like those below:
///
///     struct leaky {  // compress<codec::sign, leaky>
///       __device__ static forward_values apply(float x) { return {x > 0 ? x : 0.1f * x, x}; }
///     };
///     struct scaled_gradient {  // decompress<scaled_gradient>
///       static constexpr bool uses_gradient = true;
///       static constexpr int num_results    = 1;
///       __device__ static backward_values apply(float s, float g) { return {s > 0 ? g : 0.1f * g, 0}; }
///     };
///
/// What is stored need not be sparse to be restored; only zeros (+0) save memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include <bitsparse/config.hpp>

namespace bitsparse {
inline namespace v0 {

/// What a forward op makes of a value.
struct forward_values {
  float stored;   // goes into the compressed tensor
  float emitted;  // goes into a dense matrix, if there is one
};

/// What a backward op makes of a stored value and its gradient.
struct backward_values {
  float first;
  float second;  // of ops with num_results 2
};

/// Stores, emits and restores the values as they are, bit for bit, also as a part of both<>; the
/// default. Where the elements differ it converts.
struct identity {
  static constexpr bool uses_gradient = false;
  static constexpr int num_results    = 1;
#if defined(__CUDACC__)
  __device__ static __forceinline__ forward_values apply(float x) {
    return {x, x};
  }
  __device__ static __forceinline__ backward_values apply(float stored, float /*gradient*/) {
    return {stored, 0};
  }
#endif
};

#if defined(__CUDACC__)

namespace detail {

/// max(x, +0); a NaN stays one.
__device__ __forceinline__ float relu_of(float x) {
  float r;
  asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(r) : "f"(x));
  return r;
}
/// gradient where the stored value lets it through, +0 where that is zero or negative, as in PyTorch;
/// a NaN lets it through.
__device__ __forceinline__ float where_positive(float stored, float gradient) {
  return stored <= 0 ? 0.0f : gradient;
}

}  // namespace detail

// -------------------------------------------------------------------------------------------------
// Forward
// -------------------------------------------------------------------------------------------------

/// r = max(x, 0). Stores r, emits r.
struct relu {
  __device__ static __forceinline__ forward_values apply(float x) {
    float const r = detail::relu_of(x);
    return {r, r};
  }
};

/// r = max(x, 0). Stores r, emits r * r.
struct relu_squared {
  __device__ static __forceinline__ forward_values apply(float x) {
    float const r = detail::relu_of(x);
    return {r, r * r};
  }
};

/// r = max(x, 0). Stores and emits r * r: for code that keeps only the activation and takes the root
/// in its backward pass.
struct square_of_relu {
  __device__ static __forceinline__ forward_values apply(float x) {
    float const r = detail::relu_of(x);
    return {r * r, r * r};
  }
};

// -------------------------------------------------------------------------------------------------
// Backward
// -------------------------------------------------------------------------------------------------

/// s * s: the ReLU² activation of a tensor that stores r.
struct square {
  static constexpr bool uses_gradient = false;
  static constexpr int num_results    = 1;
  __device__ static __forceinline__ backward_values apply(float stored, float /*gradient*/) {
    return {stored * stored, 0};
  }
};

/// The square root of s: r, of a tensor that stores r * r.
struct square_root {
  static constexpr bool uses_gradient = false;
  static constexpr int num_results    = 1;
  __device__ static __forceinline__ backward_values apply(float stored, float /*gradient*/) {
    return {__fsqrt_rn(stored), 0};
  }
};

/// The gradient at ReLU's input: g where s > 0, else 0.
struct relu_gradient {
  static constexpr bool uses_gradient = true;
  static constexpr int num_results    = 1;
  __device__ static __forceinline__ backward_values apply(float stored, float gradient) {
    return {detail::where_positive(stored, gradient), 0};
  }
};

/// The gradient at ReLU²'s input, of a tensor that stores r: 2 s g where s > 0, else 0.
struct relu_squared_gradient {
  static constexpr bool uses_gradient = true;
  static constexpr int num_results    = 1;
  __device__ static __forceinline__ backward_values apply(float stored, float gradient) {
    return {detail::where_positive(stored, 2 * stored * gradient), 0};
  }
};

/// The same, of a tensor that stores r * r: 2 sqrt(s) g where s > 0, else 0.
struct root_gradient {
  static constexpr bool uses_gradient = true;
  static constexpr int num_results    = 1;
  __device__ static __forceinline__ backward_values apply(float stored, float gradient) {
    return {detail::where_positive(stored, 2 * __fsqrt_rn(stored) * gradient), 0};
  }
};

/// Two ops on the same stored value and gradient in one pass: all that a layer's backward pass needs.
/// @tparam First, Second ops with one result
template <class First, class Second>
struct both {
  static constexpr bool uses_gradient = First::uses_gradient || Second::uses_gradient;
  static constexpr int num_results    = 2;
  static_assert(First::num_results == 1 && Second::num_results == 1,
                "bitsparse: both<> takes two ops with one result each");
  __device__ static __forceinline__ backward_values apply(float stored, float gradient) {
    return {First::apply(stored, gradient).first, Second::apply(stored, gradient).first};
  }
};

/// r * r and the gradient, of a tensor that stores r: what relu_squared's backward pass needs.
using square_and_gradient = both<square, relu_squared_gradient>;
/// s and the gradient: what relu's backward pass needs.
using value_and_relu_gradient = both<identity, relu_gradient>;
/// s and the gradient, of a tensor that stores r * r: what square_of_relu's backward pass needs.
using value_and_root_gradient = both<identity, root_gradient>;

#endif

namespace detail {

template <class Op>
inline constexpr bool is_identity = std::is_same_v<Op, identity>;

/// The op that makes each of a backward op's results, as far as that is known.
template <class Op>
struct results_of {
  using first  = Op;
  using second = void;
};
#if defined(__CUDACC__)
template <class First, class Second>
struct results_of<both<First, Second>> {
  using first  = First;
  using second = Second;
};
#endif

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
