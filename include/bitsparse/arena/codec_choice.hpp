// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: which codec pays for a tensor, from what one compression of it with codec::compact
/// showed. Plain C++17.
#pragma once

#include <cstdint>

#include <bitsparse/config.hpp>
#include <bitsparse/format/encoding.hpp>

namespace bitsparse {
inline namespace v0 {

namespace detail {

/// The units of a tile's chunk with another codec than the one that gave it this form.
///
/// For Codec fast exact if the tile was encoded with sign or compact. For sign, if with compact, exact
/// but for a unit too much where an elias_fano_raw tile has no signs and fewer than 128 values: what
/// else the form does not tell about signs does not change the size. A tile in `dense` had signs or
/// too many values for flat/sign to be smaller.
template <class Format, class Codec>
BITSPARSE_HOST_DEVICE constexpr std::uint32_t units_with(encoding form,
                                                         std::uint32_t kept,
                                                         std::uint32_t valid_values) {
  bool const any_sign =
      form == encoding::dense || form == encoding::flat_raw || form == encoding::elias_fano_raw;
  constexpr std::uint32_t no_window = 255;
  return form == encoding::zero || form == encoding::lost
             ? 0
             : choose_encoding<Format, Codec>({kept, valid_values, no_window, any_sign}).units;
}

}  // namespace detail

/// What a tensor's chunks take with each codec, and the time of one compress and one decompress.
struct codec_costs {
  codec_id codec;
  std::uint64_t chunk_bytes;
  double milliseconds;
};

/// The costs of all three codecs: fast, sign, compact.
struct codec_comparison {
  codec_costs costs[3];

  /// The codec with the smallest chunks among those that take at most so much longer than the
  /// quickest; the quickest if there is none, as for a negative time.
  constexpr codec_costs const& choose(double max_extra_milliseconds) const {
    codec_costs const* best = &costs[0];
    for (auto const& one : costs) {
      if (one.milliseconds < best->milliseconds) best = &one;
    }
    double const affordable = best->milliseconds + max_extra_milliseconds;
    for (auto const& one : costs) {
      if (one.milliseconds <= affordable && one.chunk_bytes < best->chunk_bytes) best = &one;
    }
    return *best;
  }
};

/// Compares the codecs for a tensor.
///
/// Units: bytes; copy_bytes_per_ms counts bytes read and written, of a copy in the device's memory.
/// The time is the traffic of plain compress and decompress over that rate and over the fraction of
/// it that the codec reaches with bf16; 1-byte elements take somewhat longer with all three. With a fused op the extra time of compact vanishes in the op's own
/// traffic (docs/benchmarks.md).
/// Source: the fractions are the lower ones of bf16 in docs/results/h200/kernels.json, 50 to 95 %
///   zeros.
constexpr codec_comparison compare_codecs(std::uint64_t dense_bytes,
                                          std::uint64_t fast_bytes,
                                          std::uint64_t sign_bytes,
                                          std::uint64_t compact_bytes,
                                          double copy_bytes_per_ms) {
  auto const cost = [=](codec_id codec, std::uint64_t bytes, double compress, double decompress) {
    double const traffic = static_cast<double>(dense_bytes) + static_cast<double>(bytes);
    return codec_costs{codec, bytes, traffic / copy_bytes_per_ms * (1 / compress + 1 / decompress)};
  };
  return {{cost(codec_id::fast, fast_bytes, 0.95, 0.92),
           cost(codec_id::sign, sign_bytes, 0.95, 0.92),
           cost(codec_id::compact, compact_bytes, 0.73, 0.86)}};
}

}  // namespace v0
}  // namespace bitsparse
