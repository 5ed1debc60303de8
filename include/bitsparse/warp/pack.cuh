// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 1: moving a lane's kept values to and from the place that their rank gives them.
#pragma once

#include <vector_types.h>
#include <cstdint>

#include <bitsparse/config.hpp>
#include <bitsparse/warp/vector.cuh>

namespace bitsparse {
inline namespace v0 {

namespace detail {

/// If \p take is not 0, stores a value at the shared-memory address and advances it.
///
/// Written in PTX because the compiler makes two instructions of the conditional advance.
template <class Bits>
__device__ __forceinline__ void store_next(std::uint32_t& address, Bits value, std::uint32_t take) {
  if constexpr (sizeof(Bits) == 1) {
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %2, 0; @p st.shared.u8 [%0], %1; @p add.u32 %0, %0, 1;}"
        : "+r"(address)
        : "r"(static_cast<std::uint32_t>(value)), "r"(take)
        : "memory");
  } else if constexpr (sizeof(Bits) == 2) {
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %2, 0; @p st.shared.u16 [%0], %1; @p add.u32 %0, %0, 2;}"
        : "+r"(address)
        : "h"(value), "r"(take)
        : "memory");
  } else {
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %2, 0; @p st.shared.u32 [%0], %1; @p add.u32 %0, %0, 4;}"
        : "+r"(address)
        : "r"(value), "r"(take)
        : "memory");
  }
}

/// If \p take is not 0, loads the value at the shared-memory address and advances it; else 0.
template <class Bits>
__device__ __forceinline__ Bits load_next(std::uint32_t& address, std::uint32_t take) {
  std::uint32_t value;
  if constexpr (sizeof(Bits) == 1) {
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %2, 0; mov.u32 %1, 0; @p ld.shared.u8 %1, [%0]; @p add.u32 "
        "%0, %0, 1;}"
        : "+r"(address), "=&r"(value)
        : "r"(take)
        : "memory");
  } else if constexpr (sizeof(Bits) == 2) {
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %2, 0; mov.u32 %1, 0; @p ld.shared.u16 %1, [%0]; @p add.u32 "
        "%0, %0, 2;}"
        : "+r"(address), "=&r"(value)
        : "r"(take)
        : "memory");
  } else {
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %2, 0; mov.u32 %1, 0; @p ld.shared.u32 %1, [%0]; @p add.u32 "
        "%0, %0, 4;}"
        : "+r"(address), "=&r"(value)
        : "r"(take)
        : "memory");
  }
  return static_cast<Bits>(value);
}

}  // namespace detail

/// Stores the values of a vector whose mask bit is set, one after the other, from \p target on.
/// Shapes: target, in shared memory, has room for popc(mask) values. Threads: any.
template <class Bits>
__device__ __forceinline__ void pack_vector(uint4 const& vector, std::uint32_t mask, Bits* target) {
  auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(target));
#pragma unroll
  for (std::uint32_t j = 0; j < vector_values<Bits>; ++j) {
    detail::store_next(address, vector_value<Bits>(vector, j), mask & 1u << j);
  }
}

/// The vector whose value j is the next of \p source where mask bit j is set, and 0 elsewhere.
/// Shapes: source, in shared memory, has popc(mask) values. Threads: any.
template <class Bits>
__device__ __forceinline__ uint4 unpack_vector(std::uint32_t mask, Bits const* source) {
  auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(source));
  uint4 vector{0, 0, 0, 0};
#pragma unroll
  for (std::uint32_t j = 0; j < vector_values<Bits>; ++j) {
    or_vector_value(vector, j, detail::load_next<Bits>(address, mask & 1u << j));
  }
  return vector;
}

}  // namespace v0
}  // namespace bitsparse
