// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// fuzz_gather.cuh's kernel.
#include <vector_types.h>

#include <tests/fuzz/device_fuzz/fuzz_gather.cuh>

namespace bitsparse_test {
namespace {

/// One block per tile, and one for the metadata. A chunk that is not as the host codec's, or lies
/// nowhere, stays away: the comparison will miss it.
__global__ void gather_kernel(gather_params const p) {
  if (blockIdx.x == p.num_tiles) {
    for (std::uint32_t i = threadIdx.x; i < p.map_slabs; i += blockDim.x)
      p.map_copy[i] = p.slab_map[i];
    if (threadIdx.x == 0) *p.state_copy = *p.state;
    return;
  }
  bitsparse::tile_descriptor const tile = p.directory[blockIdx.x], want = p.expected[blockIdx.x];
  std::uint32_t const units = tile.chunk_units();
  if (tile.form() == bitsparse::encoding::lost || units == 0 || units != want.chunk_units()) return;
  std::uint64_t const slab = tile.offset_units() >> p.arena.slab_shift;
  std::uint64_t const last = (tile.offset_units() + units - 1) >> p.arena.slab_shift;
  if (slab >= p.map_slabs || last != slab) return;
  std::uint32_t const entry = p.slab_map[slab];
  if (entry == 0 || entry > p.arena.num_slabs()) return;
  std::uint64_t const in_slab = tile.offset_units() - (slab << p.arena.slab_shift);
  auto const* const from =
      reinterpret_cast<uint4 const*>(p.arena.slab_address(entry - 1)) + in_slab;
  auto* const to = reinterpret_cast<uint4*>(p.chunks) + want.offset_units();
  for (std::uint32_t unit = threadIdx.x; unit < units; unit += blockDim.x) to[unit] = from[unit];
}

}  // namespace

cudaError_t gather_chunks(gather_params const& params, cudaStream_t stream) {
  gather_kernel<<<params.num_tiles + 1, 128, 0, stream>>>(params);
  return cudaGetLastError();
}

}  // namespace bitsparse_test
