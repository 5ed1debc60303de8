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

// Written in PTX, because the compiler makes two instructions of a conditional advance and copies
// the address for each; a word at a time, because it shares the work between its values.

/// Stores the values of a word whose mask bit is set at the shared-memory address, one after the
/// other, and advances it.
/// @param mask bit j for value j; bits above are ignored
template <class Bits>
__device__ __forceinline__ void pack_word(std::uint32_t& address,
                                          std::uint32_t word,
                                          std::uint32_t mask) {
  if constexpr (sizeof(Bits) == 1) {
    asm volatile(
        "{.reg .pred p0, p1, p2, p3; .reg .b32 m, b1, b2, b3;"
        "and.b32 m, %2, 1; setp.ne.u32 p0, m, 0; and.b32 m, %2, 2; setp.ne.u32 p1, m, 0;"
        "and.b32 m, %2, 4; setp.ne.u32 p2, m, 0; and.b32 m, %2, 8; setp.ne.u32 p3, m, 0;"
        "shr.u32 b1, %1, 8; shr.u32 b2, %1, 16; shr.u32 b3, %1, 24;"
        "@p0 st.shared.u8 [%0], %1; @p0 add.u32 %0, %0, 1;"
        "@p1 st.shared.u8 [%0], b1; @p1 add.u32 %0, %0, 1;"
        "@p2 st.shared.u8 [%0], b2; @p2 add.u32 %0, %0, 1;"
        "@p3 st.shared.u8 [%0], b3; @p3 add.u32 %0, %0, 1;}"
        : "+r"(address)
        : "r"(word), "r"(mask)
        : "memory");
  } else if constexpr (sizeof(Bits) == 2) {
    asm volatile(
        "{.reg .pred p0, p1; .reg .b32 m; .reg .b16 b0, b1;"
        "and.b32 m, %2, 1; setp.ne.u32 p0, m, 0; and.b32 m, %2, 2; setp.ne.u32 p1, m, 0;"
        "mov.b32 {b0, b1}, %1;"
        "@p0 st.shared.u16 [%0], b0; @p0 add.u32 %0, %0, 2;"
        "@p1 st.shared.u16 [%0], b1; @p1 add.u32 %0, %0, 2;}"
        : "+r"(address)
        : "r"(word), "r"(mask)
        : "memory");
  } else {
    asm volatile(
        "{.reg .pred p0; .reg .b32 m; and.b32 m, %2, 1; setp.ne.u32 p0, m, 0;"
        "@p0 st.shared.u32 [%0], %1; @p0 add.u32 %0, %0, 4;}"
        : "+r"(address)
        : "r"(word), "r"(mask)
        : "memory");
  }
}

/// Bytes of two words by a selector whose nibbles are 0 to 7; its high half is ignored. Not
/// __byte_perm(), which masks the selector first.
__device__ __forceinline__ std::uint32_t select_bytes(std::uint32_t first,
                                                      std::uint32_t second,
                                                      std::uint32_t selector) {
  std::uint32_t bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(first), "r"(second), "r"(selector));
  return bytes;
}

/// The word whose values are the next ones from the shared-memory address where the mask bit is set,
/// and 0 elsewhere; advances the address. 2- and 4-byte values.
template <class Bits>
__device__ __forceinline__ std::uint32_t unpack_word(std::uint32_t& address, std::uint32_t mask) {
  std::uint32_t word;
  if constexpr (sizeof(Bits) == 2) {
    asm volatile(
        "{.reg .pred p0, p1; .reg .b32 m; .reg .b16 b0, b1;"
        "and.b32 m, %2, 1; setp.ne.u32 p0, m, 0; and.b32 m, %2, 2; setp.ne.u32 p1, m, 0;"
        "mov.u16 b0, 0; mov.u16 b1, 0;"
        "@p0 ld.shared.u16 b0, [%0]; @p0 add.u32 %0, %0, 2;"
        "@p1 ld.shared.u16 b1, [%0]; @p1 add.u32 %0, %0, 2;"
        "mov.b32 %1, {b0, b1};}"
        : "+r"(address), "=&r"(word)
        : "r"(mask)
        : "memory");
  } else {
    asm volatile(
        "{.reg .pred p0; .reg .b32 m; and.b32 m, %2, 1; setp.ne.u32 p0, m, 0;"
        "mov.u32 %1, 0; @p0 ld.shared.u32 %1, [%0]; @p0 add.u32 %0, %0, 4;}"
        : "+r"(address), "=&r"(word)
        : "r"(mask)
        : "memory");
  }
  return word;
}

}  // namespace detail

/// Stores the values of a vector whose mask bit is set, one after the other, from \p target on.
/// Shapes: target, in shared memory, has room for popc(mask) values. Threads: any.
template <class Bits>
__device__ __forceinline__ void pack_vector(uint4 const& vector, std::uint32_t mask, Bits* target) {
  constexpr std::uint32_t per = 4 / sizeof(Bits);
  auto address                = static_cast<std::uint32_t>(__cvta_generic_to_shared(target));
  detail::pack_word<Bits>(address, vector.x, mask);
  detail::pack_word<Bits>(address, vector.y, mask >> per);
  detail::pack_word<Bits>(address, vector.z, mask >> 2 * per);
  detail::pack_word<Bits>(address, vector.w, mask >> 3 * per);
}

/// What unpack_vector() looks up, in shared memory: for 1-byte values, by the 4 mask bits of a word, a
/// byte selector and, in the high half, the number of bits set. Others need none.
template <class Bits>
struct unpack_table {
  __device__ __forceinline__ void fill(std::uint32_t /*thread*/) {}
};
template <>
struct unpack_table<std::uint8_t> {
  std::uint32_t entries[16];

  /// Threads: at least 16, numbered from 0; the caller synchronises before the table is used.
  __device__ __forceinline__ void fill(std::uint32_t thread) {
    // Nibble j of the selector: how many bits below j are set, plus 4, a zero byte, where bit j is
    // not. One product adds the bits up for all nibbles.
    std::uint32_t const bits =  // bit j at nibble j
        (thread & 1) | (thread & 2) << 3 | (thread & 4) << 6 | (thread & 8) << 9;
    std::uint32_t const selector = bits * (0x1110u - 4u) + 0x4444u;
    if (thread < 16) entries[thread] = (selector & 0xffffu) | __popc(thread) << 16;
  }
};

/// The vector whose value j is the next of \p source where mask bit j is set, and 0 elsewhere.
/// Shapes: source, in shared memory, has popc(mask) values; 1-byte values: it is followed by 7 more
///   bytes that may be read. Threads: any.
template <class Bits>
__device__ __forceinline__ uint4 unpack_vector(std::uint32_t mask,
                                               Bits const* source,
                                               unpack_table<Bits> const& table) {
  std::uint32_t words[4];
  if constexpr (sizeof(Bits) == 1) {
    auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(source));
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      std::uint32_t const entry = table.entries[mask >> 4 * w & 0xfu];
      std::uint32_t low, high;  // the 8 bytes from the word that the next value is in
      asm volatile("ld.shared.u32 %0, [%2]; ld.shared.u32 %1, [%2 + 4];"
                   : "=&r"(low), "=r"(high)
                   : "r"(address & ~3u));
      words[w] = detail::select_bytes(__funnelshift_r(low, high, address * 8), 0, entry);
      address += entry >> 16;
    }
  } else {
    constexpr std::uint32_t per = 4 / sizeof(Bits);
    auto address                = static_cast<std::uint32_t>(__cvta_generic_to_shared(source));
#pragma unroll
    for (std::uint32_t w = 0; w < 4; ++w) {
      words[w] = detail::unpack_word<Bits>(address, mask >> w * per);
    }
  }
  return {words[0], words[1], words[2], words[3]};
}

}  // namespace v0
}  // namespace bitsparse
