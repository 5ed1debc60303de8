// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The library's elements, codecs and tiles by name: between the command line, file headers and the
/// enums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <bench/support/element_fields.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/tile_format.hpp>
#include <bitsparse/format/visit_format.hpp>

namespace inspect {

struct tile_shape {
  std::uint32_t rows;
  std::uint32_t cols;
};

inline std::string to_string(tile_shape tile) {
  return std::to_string(tile.rows) + "x" + std::to_string(tile.cols);
}

/// Appends to a list "a, b, c".
inline void append(std::string& list, std::string_view item) {
  if (!list.empty()) list += ", ";
  list += item;
}

inline char const* name_of(bitsparse::element_id element) {
  char const* name = "?";
  bench::for_each_type(bench::all_elements{}, [&](auto e) {
    if (e.id == element) name = e.name;
  });
  return name;
}

inline std::uint32_t value_bits_of(bitsparse::element_id element) {
  std::uint32_t bits = 0;
  bench::for_each_type(bench::all_elements{}, [&](auto e) {
    if (e.id == element) bits = e.value_bits;
  });
  return bits;
}

inline std::optional<bitsparse::element_id> find_element(std::string_view name) {
  std::optional<bitsparse::element_id> found;
  bench::for_each_type(bench::all_elements{}, [&](auto e) {
    if (name == e.name) found = e.id;
  });
  return found;
}

/// The names of all elements, or of those of one width.
inline std::string element_names(std::uint32_t value_bits = 0) {
  std::string names;
  bench::for_each_type(bench::all_elements{}, [&](auto e) {
    if (value_bits == 0 || e.value_bits == value_bits) append(names, e.name);
  });
  return names;
}

inline char const* name_of(bitsparse::codec_id codec) {
  char const* name = "?";
  bench::for_each_type(bitsparse::supported_codecs{}, [&](auto c) {
    if (c.id == codec) name = c.name;
  });
  return name;
}

inline std::optional<bitsparse::codec_id> find_codec(std::string_view name) {
  std::optional<bitsparse::codec_id> found;
  bench::for_each_type(bitsparse::supported_codecs{}, [&](auto c) {
    if (name == c.name) found = c.id;
  });
  return found;
}

/// From the one with the least arithmetic, `fast`, to the one with the smallest chunks.
inline std::vector<bitsparse::codec_id> all_codecs() {
  std::vector<bitsparse::codec_id> codecs;
  bench::for_each_type(bitsparse::supported_codecs{}, [&](auto c) { codecs.push_back(c.id); });
  return codecs;
}

inline std::string codec_names() {
  std::string names;
  bench::for_each_type(bitsparse::supported_codecs{}, [&](auto c) { append(names, c.name); });
  return names;
}

inline tile_shape default_tile(bitsparse::element_id element) {
  tile_shape tile{};
  bench::for_each_type(bench::all_elements{}, [&](auto e) {
    using format = bitsparse::default_format<decltype(e)>;
    if (e.id == element) tile = {format::rows, format::cols};
  });
  return tile;
}

inline bool is_supported(bitsparse::element_id element, tile_shape tile) {
  bool found = false;
  bench::for_each_type(bitsparse::supported_formats{}, [&](auto format) {
    using Format = decltype(format);
    found        = found || (Format::element::id == element && Format::rows == tile.rows &&
                      Format::cols == tile.cols);
  });
  return found;
}

/// Why a tile cannot be used, with those that can.
inline std::string unsupported_tile(bitsparse::element_id element, tile_shape tile) {
  std::string names;
  bench::for_each_type(bitsparse::supported_formats{}, [&](auto format) {
    using Format = decltype(format);
    if (Format::element::id == element) append(names, to_string({Format::rows, Format::cols}));
  });
  return "tile " + to_string(tile) + " is not supported for " + name_of(element) + " (" + names +
         ")";
}

}  // namespace inspect
