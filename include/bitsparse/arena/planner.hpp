// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: from what a run reported, or from shapes and expected densities, to an arena's
/// capacity. Plain C++17.
#pragma once

#include <cstdint>
#include <type_traits>

#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/size.hpp>

namespace bitsparse {
inline namespace v0 {

/// The slab size to use unless there is a reason: 512 KiB.
/// Source: docs/results/h200/arena.json: on the densities of a trained ReLU² network larger slabs
///   waste more than 3 %, and smaller ones slow compression down.
inline constexpr std::uint64_t default_slab_bytes = 512 * 1024;

/// What an arena says of itself.
struct arena_report {
  std::uint32_t device_slabs_in_use;
  std::uint32_t host_slabs_in_use;
  std::uint32_t peak_device_slabs;  // since clear()
  std::uint32_t peak_host_slabs;    // since clear()
  std::uint32_t needed_slabs;   // the most that were wanted at once since clear(), refused ones too
  std::uint32_t spilled_slabs;  // host slabs handed out since clear()
  std::uint32_t refused_slabs;  // requests refused since clear()
  std::uint32_t conditions;     // device_condition bits since clear()
  std::uint32_t unmoved_slabs;  // that offload() or prefetch() had to leave where they were since
                                // clear(), for want of a free slab
  std::uint64_t bytes_to_host;  // moved by offload() since clear(): what crossed the link
  std::uint64_t bytes_to_device;  // moved by prefetch() since clear()
};

/// The most slabs that chunks of so many bytes can take: a slab is left for the next one only when
/// a chunk does not fit into its rest.
/// Units: slab_bytes a power of two, more than max_chunk_bytes.
constexpr std::uint64_t max_slabs(std::uint64_t chunk_bytes,
                                  std::uint64_t slab_bytes,
                                  std::uint64_t max_chunk_bytes) {
  return chunk_bytes == 0 ? 0 : detail::ceil_div(chunk_bytes, slab_bytes - max_chunk_bytes) + 1;
}

/// Slabs that suffice for a tensor whose tiles all have about this density: every chunk is counted
/// as that of a tile with so many non-negative kept values. Codec compact, which makes no larger
/// chunks, is planned as sign.
/// Units: density is kept values / values, 0 .. 1.
template <class Format, class Codec>
constexpr std::uint64_t planned_slabs(std::uint64_t rows,
                                      std::uint64_t cols,
                                      double density,
                                      std::uint64_t slab_bytes = default_slab_bytes) {
  auto const kept = static_cast<std::uint32_t>(density * Format::values + 0.999);
  using planned_codec =
      std::conditional_t<std::is_same_v<Codec, codec::compact>, codec::sign, Codec>;
  detail::tile_summary const tile{kept, Format::values, Format::values, false};
  std::uint32_t const units = detail::choose_encoding<Format, planned_codec>(tile).units;
  std::uint64_t const chunk_bytes =
      detail::checked_mul(num_tiles<Format>(rows, cols), std::uint64_t{units} * unit_bytes);
  return chunk_bytes == size_overflow
             ? size_overflow
             : max_slabs(chunk_bytes, slab_bytes, max_chunk_bytes<Format>());
}

/// Slabs that would have sufficed for the steps that the report covers, and some more.
/// Units: headroom is a factor, 1.0 for none.
constexpr std::uint64_t planned_slabs(arena_report const& report, double headroom = 1.0) {
  double const slabs = report.needed_slabs * headroom;
  return static_cast<std::uint64_t>(slabs) +
         (slabs > static_cast<double>(static_cast<std::uint64_t>(slabs)) ? 1 : 0);
}

}  // namespace v0
}  // namespace bitsparse
