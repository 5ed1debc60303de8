// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The warp layer alone: masks, sign bits, packing and ranks against the plainest code that says what
/// they do.
#include <cstdint>

#include <bitsparse/format/element.hpp>
#include <bitsparse/warp/bit_list.cuh>
#include <bitsparse/warp/mask.cuh>
#include <bitsparse/warp/pack.cuh>
#include <bitsparse/warp/rank.cuh>
#include <bitsparse/warp/vector.cuh>
#include <tests/support/arena_fixture.cuh>
#include <tests/support/catch.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

__device__ std::uint32_t random_word(std::uint64_t seed) {
  std::uint64_t mixed = (seed + 1) * 0x9e3779b97f4a7c15u;
  mixed               = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  mixed               = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>(mixed >> 32);
}

/// A vector whose value j is not 0 exactly where mask bit j is set; of every kind of bit pattern.
template <class Bits>
__device__ uint4 make_vector(std::uint32_t mask, std::uint64_t seed) {
  uint4 vector{0, 0, 0, 0};
  for (std::uint32_t j = 0; j < bs::vector_values<Bits>; ++j) {
    std::uint32_t const word = random_word(seed * 16 + j);
    auto const top           = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    Bits bits                = static_cast<Bits>(word >> 3);
    if (word % 8 == 0) bits = top;  // -0
    if (word % 8 == 1) bits = 1;
    if (word % 8 == 2) bits = static_cast<Bits>(~Bits{0});
    if (bits == 0) bits = top;
    if (mask >> j & 1) bs::or_vector_value(vector, j, bits);
  }
  return vector;
}

/// Every mask, one per thread; counts what is wrong.
template <class Bits>
__global__ void vectors_kernel(std::uint64_t seed, unsigned long long* faults) {
  constexpr std::uint32_t values = bs::vector_values<Bits>;
  constexpr std::uint32_t guard  = 0xa5;
  __shared__ Bits packed[32][2 * values + 8];
  __shared__ bs::unpack_table<Bits> table;
  table.fill(threadIdx.x);
  std::uint32_t const mask  = (blockIdx.x * 32 + threadIdx.x) & ((1u << values) - 1);
  uint4 const vector        = make_vector<Bits>(mask, seed << 20 | (blockIdx.x * 32 + threadIdx.x));
  std::uint32_t const shift = random_word(seed + mask) % values;  // any place for the first value
  auto* const row           = packed[threadIdx.x];
  for (auto& value : packed[threadIdx.x]) value = static_cast<Bits>(guard);
  __syncthreads();
  unsigned long long wrong = bs::vector_mask<Bits>(vector) != mask;
  bs::pack_vector(vector, mask, row + shift);
  std::uint32_t kept = 0;
  for (std::uint32_t j = 0; j < values; ++j) {
    if (mask >> j & 1) wrong += row[shift + kept++] != bs::vector_value<Bits>(vector, j);
  }
  for (std::uint32_t i = 0; i < 2 * values; ++i) {  // nothing outside
    if (i < shift || i >= shift + kept) wrong += row[i] != static_cast<Bits>(guard);
  }
  uint4 const again = bs::unpack_vector<Bits>(mask, row + shift, table);
  wrong += again.x != vector.x || again.y != vector.y || again.z != vector.z || again.w != vector.w;
  // Sign bits carry any mask, and come off again.
  uint4 positive = vector;
  (void)bs::take_signs<Bits>(positive);
  std::uint32_t const carried = random_word(seed ^ mask) & ((1u << values) - 1);
  uint4 signs                 = bs::set_signs<Bits>(positive, carried);
  for (std::uint32_t j = 0; j < values; ++j) {
    std::uint32_t const sign = bs::vector_value<Bits>(signs, j) >> (8 * sizeof(Bits) - 1);
    wrong += sign != (carried >> j & 1);
  }
  wrong += bs::take_signs<Bits>(signs) != carried;
  wrong += signs.x != positive.x || signs.y != positive.y || signs.z != positive.z ||
           signs.w != positive.w;
  if (wrong != 0) atomicAdd(faults, wrong);
}

/// The list of every 16-bit mask's bits, in either half of a word or in both, between guards.
template <int Usual, std::uint32_t Step>
__global__ void bit_lists_kernel(unsigned long long* faults) {
  constexpr std::uint16_t guard = 0xa5a5;
  std::uint32_t const mask      = blockIdx.x * 32 + threadIdx.x;
  for (std::uint32_t const bits : {mask, mask << 16, mask << 16 | mask}) {
    std::uint16_t list[34];
    for (std::uint16_t& entry : list) entry = guard;
    std::uint32_t const count = __popc(bits);
    bs::list_bits<Usual, Step>(bits, 1000, list + 1 + count);
    unsigned long long wrong = 0;
    std::uint32_t k          = 0;
    for (std::uint32_t bit = 0; bit < 32; ++bit) {
      if ((bits >> bit & 1) == 0) continue;
      wrong += list[1 + k] != 1000 + bit + Step * (count - k);
      ++k;
    }
    wrong += list[0] != guard;
    for (std::uint32_t i = 1 + count; i < 34; ++i) wrong += list[i] != guard;
    if (wrong != 0) atomicAdd(faults, wrong);
  }
}

/// Ranks of Rows counts per lane, each 0 .. MaxCount, or all MaxCount.
template <int Rows, int MaxCount>
__global__ void ranks_kernel(unsigned long long* faults) {
  using rank = bs::warp_rank<Rows, MaxCount>;
  __shared__ typename rank::temp_storage storage;
  __shared__ std::uint32_t all[Rows][32];
  std::uint32_t counts[Rows];
  for (int row = 0; row < Rows; ++row) {
    std::uint32_t const word = random_word(blockIdx.x * 1024 + row * 32 + threadIdx.x);
    counts[row]              = blockIdx.x == 0 ? MaxCount : word % (MaxCount + 1);
    all[row][threadIdx.x]    = counts[row];
  }
  __syncwarp();
  std::uint32_t const total = rank::exclusive(counts, storage);
  std::uint32_t before = 0, wrong = 0;
  for (int row = 0; row < Rows; ++row) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if (lane == threadIdx.x) wrong += counts[row] != before;
      before += all[row][lane];
    }
  }
  wrong += total != before;
  if (wrong != 0) atomicAdd(faults, wrong);
}

template <class Bits>
unsigned long long vector_faults() {
  device_array<unsigned long long> faults(1);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    vectors_kernel<Bits><<<2048, 32>>>(seed, faults.data());  // 65,536 masks
  }
  require_cuda(cudaDeviceSynchronize(), "vectors_kernel");
  return faults.read();
}

template <int Usual, std::uint32_t Step>
unsigned long long bit_list_faults() {
  device_array<unsigned long long> faults(1);
  bit_lists_kernel<Usual, Step><<<2048, 32>>>(faults.data());
  require_cuda(cudaDeviceSynchronize(), "bit_lists_kernel");
  return faults.read();
}

template <int Rows, int MaxCount>
unsigned long long rank_faults() {
  device_array<unsigned long long> faults(1);
  ranks_kernel<Rows, MaxCount><<<200, 32>>>(faults.data());
  require_cuda(cudaDeviceSynchronize(), "ranks_kernel");
  return faults.read();
}

}  // namespace

TEST_CASE("warp: masks, packing and carried signs of every mask, for each width of value",
          "[warp]") {
  CHECK(vector_faults<std::uint8_t>() == 0);
  CHECK(vector_faults<std::uint16_t>() == 0);
  CHECK(vector_faults<std::uint32_t>() == 0);
}

TEST_CASE("warp_rank: sums of one row and of many, up to the largest counts", "[warp]") {
  CHECK(rank_faults<1, 16>() == 0);
  CHECK(rank_faults<8, 16>() == 0);
  CHECK(rank_faults<8, 8>() == 0);
  CHECK(rank_faults<5, 4>() == 0);
  CHECK(rank_faults<3, 32>() == 0);
  CHECK(rank_faults<2, 2047>() == 0);
}

TEST_CASE("warp: a word's set bits are listed in front of an end, and nothing else is written",
          "[warp]") {
  CHECK(bit_list_faults<1, 0>() == 0);
  CHECK(bit_list_faults<8, 0>() == 0);
  CHECK(bit_list_faults<10, 1>() == 0);
}
