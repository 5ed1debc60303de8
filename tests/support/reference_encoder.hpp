// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Test support: the format once more, written from its description alone, one bit at a time. It
/// includes nothing of the library, so that a mistake there cannot hide here. Slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace bitsparse_test {

using bit_string = std::vector<bool>;

/// What the bytes of a tile depend on besides its values.
struct reference_tile {
  std::uint32_t value_bits;  // 8, 16 or 32
  bool has_window;           // bf16 alone
  std::uint32_t rows, cols;
  std::uint32_t valid_rows, valid_cols;
  std::vector<std::uint32_t> values;  // (rows * cols,), 0 outside the valid shape
};

struct reference_chunk {
  std::uint32_t encoding;
  std::uint32_t kept;
  std::vector<unsigned char> bytes;
};

// The encodings' numbers in a descriptor.
inline constexpr std::uint32_t reference_dense = 1;
inline bool reference_is_elias_fano(std::uint32_t e) {
  return e >= 6 && e <= 9;
}
inline bool reference_is_sign(std::uint32_t e) {
  return e == 3 || e == 7;
}
inline bool reference_is_window3(std::uint32_t e) {
  return e == 4 || e == 8;
}
inline bool reference_is_window4(std::uint32_t e) {
  return e == 5 || e == 9;
}

inline void append(bit_string& bits, std::uint32_t number, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) bits.push_back((number >> i & 1) != 0);
}
inline void pad(bit_string& bits, std::size_t multiple) {
  while (bits.size() % multiple != 0) bits.push_back(false);
}

/// The bits of an index that an Elias-Fano stream of a tile stores as they are.
inline std::uint32_t reference_lower_bits(std::uint32_t tile_values, std::uint32_t kept) {
  std::uint32_t bits = 8;
  while (bits > 3 && tile_values / (1u << bits) <= kept) --bits;
  return bits;
}

/// The Elias-Fano stream of a mask, or nothing if it keeps too many values.
inline bit_string reference_elias_fano(bit_string const& mask, std::uint32_t kept) {
  auto const tile_values = static_cast<std::uint32_t>(mask.size());
  if (kept * 32 > tile_values * 7) return {};
  std::uint32_t const bits = reference_lower_bits(tile_values, kept);
  bit_string stream(kept + tile_values / (1u << bits)), lower;
  std::uint32_t k = 0;
  for (std::uint32_t i = 0; i < tile_values; ++i) {
    if (!mask[i]) continue;
    stream[k + i / (1u << bits)] = true;
    append(lower, i, bits);
    ++k;
  }
  pad(stream, 32);
  stream.insert(stream.end(), lower.begin(), lower.end());
  pad(stream, 32);
  return stream;
}

/// A chunk's bits in encoding `e`, or nothing if the values cannot take it.
inline bit_string reference_bits(reference_tile const& tile, std::uint32_t e) {
  bit_string chunk;
  if (e == reference_dense) {
    for (std::uint32_t r = 0; r < tile.valid_rows; ++r) {
      for (std::uint32_t c = 0; c < tile.valid_cols; ++c) {
        append(chunk, tile.values[r * tile.cols + c], tile.value_bits);
      }
    }
    pad(chunk, 128);
    return chunk;
  }

  bit_string mask;
  std::vector<std::uint32_t> kept;
  std::set<std::uint32_t> codes;
  bool any_sign = false;
  for (std::uint32_t const value : tile.values) {
    mask.push_back(value != 0);
    if (value == 0) continue;
    kept.push_back(value);
    codes.insert(value >> 8 & 0x7f);
    any_sign = any_sign || value >> (tile.value_bits - 1) != 0;
  }
  bool const windowed          = reference_is_window3(e) || reference_is_window4(e);
  std::uint32_t const max_span = reference_is_window3(e) ? 7 : 15;
  if ((windowed || reference_is_sign(e)) && any_sign) return {};
  if (windowed && (!tile.has_window || *codes.rbegin() - *codes.begin() > max_span)) return {};

  bit_string stream = mask;
  if (reference_is_elias_fano(e)) {
    stream = reference_elias_fano(mask, static_cast<std::uint32_t>(kept.size()));
    if (stream.empty()) return {};
  }
  std::size_t carried = 0;  // bits
  if (reference_is_sign(e) || reference_is_window3(e)) {
    while (carried + 32 <= kept.size() && carried < stream.size()) carried += 32;
  }

  for (std::size_t k = 0; k < kept.size(); ++k) {
    bool const carries = reference_is_sign(e) && k < carried && stream[k];
    std::uint32_t const value =
        kept[k] | (carries ? std::uint32_t{1} << (tile.value_bits - 1) : 0u);
    append(chunk, value, windowed ? 8 : tile.value_bits);
  }
  pad(chunk, 32);
  if (windowed) {
    for (std::size_t k = 0; k < kept.size(); ++k) {
      append(chunk, (kept[k] >> 8) - *codes.begin(), reference_is_window3(e) ? 3 : 4);
      if (reference_is_window3(e)) chunk.push_back(k < carried && stream[k]);
    }
    pad(chunk, 32);
  }
  for (std::size_t i = carried; i < stream.size(); ++i) chunk.push_back(stream[i]);
  if (windowed) append(chunk, *codes.begin(), 8);
  pad(chunk, 128);
  return chunk;
}

/// Bits as bytes, the lowest bit of a byte first.
inline std::vector<unsigned char> reference_bytes(bit_string const& bits) {
  std::vector<unsigned char> bytes(bits.size() / 8);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (bits[i]) bytes[i / 8] = static_cast<unsigned char>(bytes[i / 8] | 1u << i % 8);
  }
  return bytes;
}

/// Encodes by trying every encoding of the codec, given as the numbers 1..9 in rising order.
inline reference_chunk reference_encode(reference_tile const& tile,
                                        std::vector<std::uint32_t> const& codec) {
  std::uint32_t kept = 0;
  for (std::uint32_t const value : tile.values) kept += value != 0;
  if (kept == 0) return {0, 0, {}};
  bit_string best, best_elias_fano;
  std::uint32_t best_form = 0, best_elias_fano_form = 0;
  for (std::uint32_t const e : codec) {
    bit_string const bits = reference_bits(tile, e);
    bit_string& smallest  = reference_is_elias_fano(e) ? best_elias_fano : best;
    if (bits.empty() || (!smallest.empty() && bits.size() >= smallest.size())) continue;
    smallest                                                        = bits;
    (reference_is_elias_fano(e) ? best_elias_fano_form : best_form) = e;
  }
  // An Elias-Fano mask must save at least one part in 32.
  if (!best_elias_fano.empty() && best_elias_fano.size() < best.size() &&
      (best.size() - best_elias_fano.size()) * 32 >= best.size()) {
    best      = best_elias_fano;
    best_form = best_elias_fano_form;
  }
  return {best_form, kept, reference_bytes(best)};
}

/// The 16-byte units of a mask form's chunk, by counting bits.
inline std::uint32_t reference_units(std::uint32_t e,
                                     std::uint32_t value_bits,
                                     std::uint32_t tile_values,
                                     std::uint32_t kept) {
  auto const padded = [](std::uint32_t bits, std::uint32_t multiple) {
    while (bits % multiple != 0) ++bits;
    return bits;
  };
  bool const windowed  = reference_is_window3(e) || reference_is_window4(e);
  std::uint32_t stream = tile_values;
  if (reference_is_elias_fano(e)) {
    std::uint32_t const lower_bits = reference_lower_bits(tile_values, kept);
    stream = padded(kept + tile_values / (1u << lower_bits), 32) + padded(lower_bits * kept, 32);
  }
  std::uint32_t bits =
      windowed ? padded(8 * kept, 32) + padded(4 * kept, 32) : padded(value_bits * kept, 32);
  if (reference_is_sign(e) || reference_is_window3(e)) {
    std::uint32_t const carried = kept - kept % 32;
    stream -= carried < stream ? carried : stream;
  }
  bits += stream + (windowed ? 8 : 0);
  return padded(bits, 128) / 128;
}

}  // namespace bitsparse_test
