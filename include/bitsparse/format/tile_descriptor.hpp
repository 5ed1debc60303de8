// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: the 64-bit word that says, for one tile, how it is stored, how large its chunk is and
/// where that lies.
#pragma once

#include <cstdint>
#include <type_traits>

#include <bitsparse/config.hpp>
#include <bitsparse/format/encoding.hpp>

namespace bitsparse {
inline namespace v0 {

/// Chunk offsets have 35 bits: a tensor's own address space ends at 512 GiB.
inline constexpr std::uint64_t max_tensor_units = std::uint64_t{1} << 35;

/// One tile's entry in the directory.
///
/// Layout, low bit first:
///
///     63                    29 28    25 24          11 10         0
///     +-----------------------+--------+--------------+------------+
///     | chunk offset, units   | enc.   | kept - 1     | chunk units|
///     +-----------------------+--------+--------------+------------+
///
/// `kept - 1` is 0 where nothing is kept, so that an all-zero word is a `zero` tile.
class tile_descriptor {
 public:
  constexpr tile_descriptor() = default;
  BITSPARSE_HOST_DEVICE explicit constexpr tile_descriptor(std::uint64_t word) : word_(word) {}
  BITSPARSE_HOST_DEVICE constexpr tile_descriptor(encoding form,
                                                  std::uint32_t kept,
                                                  std::uint32_t chunk_units,
                                                  std::uint64_t offset_units)
      : word_(std::uint64_t{chunk_units} | std::uint64_t{kept == 0 ? 0 : kept - 1} << 11 |
              static_cast<std::uint64_t>(form) << 25 | offset_units << 29) {}

  BITSPARSE_HOST_DEVICE constexpr std::uint64_t word() const { return word_; }
  BITSPARSE_HOST_DEVICE constexpr std::uint32_t chunk_units() const {
    return static_cast<std::uint32_t>(word_ & 0x7ff);
  }
  BITSPARSE_HOST_DEVICE constexpr encoding form() const {
    return static_cast<encoding>(word_ >> 25 & 0xf);
  }
  /// Kept values of the tile; 0 for `zero`. A `lost` tile says how many it had.
  BITSPARSE_HOST_DEVICE constexpr std::uint32_t kept() const {
    return form() == encoding::zero ? 0 : static_cast<std::uint32_t>(word_ >> 11 & 0x3fff) + 1;
  }
  /// Where the chunk starts in the tensor's own address space, in 16-byte units.
  BITSPARSE_HOST_DEVICE constexpr std::uint64_t offset_units() const { return word_ >> 29; }

 private:
  std::uint64_t word_ = 0;
};

static_assert(std::is_trivially_copyable_v<tile_descriptor> && sizeof(tile_descriptor) == 8);

}  // namespace v0
}  // namespace bitsparse
