// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: the one place where values known at run time (from a file, a command line) become
/// template arguments. Its lists are also what tests and benchmarks iterate.
#pragma once

#include <cstdint>

#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/tile_format.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {

template <class... Types>
struct type_list {};

/// The geometries that run-time dispatch knows: per element tiles of 32 rows of 256 bytes (the
/// default, first), 64 of 128 and 64 of 256. Any other legal tile_format works as a template argument.
using supported_formats = type_list<tile_format<bf16, 32, 128>,
                                    tile_format<bf16, 64, 64>,
                                    tile_format<bf16, 64, 128>,
                                    tile_format<fp16, 32, 128>,
                                    tile_format<fp16, 64, 64>,
                                    tile_format<fp16, 64, 128>,
                                    tile_format<fp32, 32, 64>,
                                    tile_format<fp32, 64, 32>,
                                    tile_format<fp32, 64, 64>,
                                    tile_format<fp8_e4m3, 32, 256>,
                                    tile_format<fp8_e4m3, 64, 128>,
                                    tile_format<fp8_e4m3, 64, 256>,
                                    tile_format<fp8_e5m2, 32, 256>,
                                    tile_format<fp8_e5m2, 64, 128>,
                                    tile_format<fp8_e5m2, 64, 256>>;

using supported_codecs = type_list<codec::fast, codec::sign, codec::compact>;

namespace detail {

template <class... Formats, class Visitor>
status visit_format(type_list<Formats...>,
                    element_id element,
                    std::uint32_t rows,
                    std::uint32_t cols,
                    Visitor&& visitor) {
  status result{status_code::unsupported,
                "tile geometry: not one that run-time dispatch knows for this element "
                "(see visit_format.hpp)"};
  (void)((Formats::element::id == element && Formats::rows == rows && Formats::cols == cols
              ? (result = visitor(Formats{}), true)
              : false) ||
         ...);
  return result;
}

template <class... Codecs, class Visitor>
status visit_codec(type_list<Codecs...>, codec_id codec, Visitor&& visitor) {
  status result{status_code::unsupported, "codec: not fast, sign or compact"};
  (void)((Codecs::id == codec ? (result = visitor(Codecs{}), true) : false) || ...);
  return result;
}

}  // namespace detail

/// Calls visitor(Format{}) with the supported format of that element and tile.
/// Errors: unsupported if there is none; else what the visitor returns.
template <class Visitor>
status visit_format(element_id element,
                    std::uint32_t tile_rows,
                    std::uint32_t tile_cols,
                    Visitor&& visitor) {
  return detail::visit_format(supported_formats{}, element, tile_rows, tile_cols, visitor);
}

/// Calls visitor(Codec{}).
/// Errors: unsupported if the number is none of a codec; else what the visitor returns.
template <class Visitor>
status visit_codec(codec_id codec, Visitor&& visitor) {
  return detail::visit_codec(supported_codecs{}, codec, visitor);
}

}  // namespace v0
}  // namespace bitsparse
