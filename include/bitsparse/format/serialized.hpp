// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: the writer and the validating reader of the serialised form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <bitsparse/format/header.hpp>
#include <bitsparse/format/host_codec.hpp>
#include <bitsparse/format/tensor_view.hpp>
#include <bitsparse/format/visit_format.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// Checks that a tile's descriptor and chunk are the ones, byte for byte, that the codec writes for
/// the values they decode to. This rejects all that is not canonical: padding, unused carried bits,
/// bits past the edge, a larger encoding than need be.
template <class Format, class Codec>
inline status validate_tile(tile_descriptor descriptor,
                            std::byte const* chunk,
                            std::uint32_t valid_rows,
                            std::uint32_t valid_cols) {
  using bits_type = typename Format::bits_type;
  if (descriptor.form() == encoding::lost) {
    return {status_code::tile_lost,
            "directory: a lost tile cannot be serialised: its values are gone"};
  }
  bits_type tile[Format::values];
  if (status const decoded = decode_tile<Format>(descriptor, chunk, valid_rows, valid_cols, tile);
      !decoded.ok()) {
    return decoded;
  }
  for (std::uint32_t i = 0; i < Format::values; ++i) {
    if (tile[i] != 0 && (i / Format::cols >= valid_rows || i % Format::cols >= valid_cols)) {
      return {status_code::corrupt, "chunk: it keeps a value outside the matrix"};
    }
  }
  alignas(unit_bytes) std::byte canonical[max_chunk_bytes<Format>()];
  tile_descriptor const coded = encode_tile<Format, Codec>(tile, valid_rows, valid_cols, canonical);
  if (coded.form() != descriptor.form() || coded.kept() != descriptor.kept() ||
      coded.chunk_units() != descriptor.chunk_units()) {
    return {status_code::corrupt,
            "directory: not the encoding that the codec chooses for these values"};
  }
  if (coded.chunk_units() != 0 &&
      std::memcmp(chunk, canonical, std::size_t{coded.chunk_units()} * unit_bytes) != 0) {
    return {status_code::corrupt, "chunk: not the bytes that the codec writes for these values"};
  }
  return {};
}

/// Checks every tile, wherever its chunk lies in the payload.
/// @param[out] payload_units the units of all chunks
template <class Format, class Codec>
inline status validate_tiles(const_compressed_view<Format> tensor, std::uint64_t& payload_units) {
  status result;
  payload_units = 0;
  for_each_tile<Format>(
      tensor.rows,
      tensor.cols,
      [&](std::uint64_t index,
          std::uint64_t,
          std::uint64_t,
          std::uint32_t rows,
          std::uint32_t cols) {
        tile_descriptor const descriptor = tensor.directory[index];
        std::uint32_t const units        = descriptor.chunk_units();
        std::uint64_t const first        = units == 0 ? 0 : descriptor.offset_units();
        if (first + units > tensor.payload_bytes / unit_bytes) {
          result = {status_code::corrupt, "directory: a chunk lies outside the payload"};
        } else {
          std::byte const* const chunk = units == 0 ? nullptr : tensor.payload + first * unit_bytes;
          result = validate_tile<Format, Codec>(descriptor, chunk, rows, cols);
        }
        payload_units += units;
        return result.ok();
      });
  return result;
}

}  // namespace detail

namespace host {

/// Checks every byte of a compressed tensor, as the serialised form wants it: that chunks lie in tile
/// order without gaps and fill the payload, and that each is canonical.
///
/// Errors: corrupt, tile_lost, unsupported, invalid_argument, with the first fault's text.
/// Guarantee: bounded time (it decodes and encodes each tile once); nothing is read outside
///   directory and payload.
template <class Format, class Codec>
status validate(const_compressed_view<Format> tensor) {
  if (status const checked = detail::check_tensor(tensor); !checked.ok()) return checked;
  std::uint64_t const tiles = num_tiles<Format>(tensor.rows, tensor.cols);
  std::uint64_t next_units  = 0;
  for (std::uint64_t i = 0; i < tiles; ++i) {
    tile_descriptor const descriptor = tensor.directory[i];
    if (descriptor.chunk_units() != 0 && descriptor.offset_units() != next_units) {
      return {status_code::corrupt,
              "directory: a chunk does not start where the one before it ends"};
    }
    next_units += descriptor.chunk_units();
  }
  std::uint64_t payload_units = 0;
  if (status const valid = detail::validate_tiles<Format, Codec>(tensor, payload_units);
      !valid.ok()) {
    return valid;
  }
  if (payload_units * unit_bytes != tensor.payload_bytes) {
    return {
        status_code::corrupt,
        "compressed tensor: the payload is larger than the chunks; set payload_bytes to the bytes "
        "that they need"};
  }
  return {};
}

/// Writes a compressed tensor in its serialised form. The same values and codec give the same bytes,
/// wherever the tensor's chunks lay.
///
/// Shapes: target (target_bytes,). Alignment: none.
/// Aliasing: target overlaps neither directory nor payload.
/// Errors: capacity_exceeded, with written_bytes what is needed; tile_lost; corrupt if a tile is not
///   what Codec writes; invalid_argument. Nothing is written then.
/// Guarantee: what it writes can be opened: every tile is decoded and encoded again first.
/// @tparam Codec the one that the tensor was compressed with
/// @param[out] written_bytes the size of the serialised form
template <class Format, class Codec>
status serialize(const_compressed_view<Format> source,
                 void* target,
                 std::uint64_t target_bytes,
                 std::uint64_t& written_bytes) {
  written_bytes               = 0;
  std::uint64_t const tiles   = num_tiles<Format>(source.rows, source.cols);
  std::uint64_t payload_units = 0;
  if (status const checked = detail::check_tensor(source); !checked.ok()) return checked;
  if (status const valid = detail::validate_tiles<Format, Codec>(source, payload_units);
      !valid.ok()) {
    return valid;
  }
  written_bytes = serialized_bytes<Format>(source.rows, source.cols, payload_units * unit_bytes);
  if (written_bytes > target_bytes || target == nullptr) {
    return {status_code::capacity_exceeded,
            "serialized tensor: the target is too small; written_bytes says the need"};
  }

  if (detail::overlaps(target, written_bytes, source.payload, source.payload_bytes) ||
      detail::overlaps(target,
                       written_bytes,
                       source.directory,
                       directory_bytes<Format>(source.rows, source.cols))) {
    return {status_code::invalid_argument,
            "serialized tensor: the target overlaps the compressed tensor"};
  }

  auto* const bytes             = static_cast<std::byte*>(target);
  std::byte* const directory    = bytes + sizeof(serialized_header);
  std::uint64_t const dir_bytes = (tiles + tiles % 2) * sizeof(tile_descriptor);
  std::byte* const chunks       = directory + dir_bytes;
  std::memset(directory, 0, dir_bytes);
  std::uint64_t next_units = 0;
  for (std::uint64_t i = 0; i < tiles; ++i) {
    tile_descriptor const from = source.directory[i];
    if (from.form() == encoding::zero) continue;
    std::uint32_t const units = from.chunk_units();
    detail::store(directory + i * sizeof(tile_descriptor),
                  tile_descriptor{from.form(), from.kept(), units, next_units}.word());
    std::memcpy(chunks + next_units * unit_bytes,
                source.payload + from.offset_units() * unit_bytes,
                std::size_t{units} * unit_bytes);
    next_units += units;
  }

  serialized_header header{};
  header.magic            = serialized_magic;
  header.version          = serialized_version;
  header.element          = static_cast<std::uint8_t>(Format::element::id);
  header.codec            = static_cast<std::uint8_t>(Codec::id);
  header.tile_rows        = Format::rows;
  header.tile_cols        = Format::cols;
  header.rows             = source.rows;
  header.cols             = source.cols;
  header.payload_units    = payload_units;
  header.content_checksum = checksum(directory, written_bytes - sizeof(header));
  header.header_checksum  = checksum(&header, sizeof(header) - sizeof(std::uint64_t));
  std::memcpy(bytes, &header, sizeof(header));
  return {};
}

/// Reads and checks the header of a serialised tensor, so that a caller knows which Format and
/// codec to open it with.
///
/// Shapes: source (source_bytes,). Alignment: none.
/// Errors: corrupt, unsupported. Nothing is read outside the source.
inline status read_header(void const* source, std::uint64_t source_bytes, serialized_info& info) {
  serialized_header header;
  if (source == nullptr || source_bytes < sizeof(header)) {
    return {status_code::corrupt, "serialized tensor: shorter than its 64-byte header"};
  }
  std::memcpy(&header, source, sizeof(header));
  if (header.magic != serialized_magic) {
    return {status_code::corrupt,
            "serialized tensor: it does not start with bitsparse's magic number"};
  }
  if (header.version != serialized_version) {
    return {status_code::unsupported,
            "serialized tensor: a format version that this library does not read"};
  }
  if (header.header_checksum != checksum(&header, sizeof(header) - sizeof(std::uint64_t))) {
    return {status_code::corrupt, "serialized tensor: the header's checksum does not match"};
  }
  if (header.reserved != 0) {
    return {status_code::corrupt, "serialized tensor: the header's reserved bytes are not 0"};
  }
  if (header.element < 1 || header.element > 5) {
    return {status_code::corrupt, "serialized tensor: an element number that is not assigned"};
  }
  if (header.codec < 1 || header.codec > 3) {
    return {status_code::corrupt, "serialized tensor: a codec number that is not assigned"};
  }
  if (header.payload_units > max_tensor_units) {
    return {status_code::corrupt, "serialized tensor: a payload larger than offsets can address"};
  }
  info = {static_cast<element_id>(header.element),
          static_cast<codec_id>(header.codec),
          header.tile_rows,
          header.tile_cols,
          header.rows,
          header.cols,
          header.payload_units * unit_bytes};
  return {};
}

/// Validates a serialised tensor in full and gives a view into it that can be decompressed.
///
/// Shapes: source (source_bytes,). Alignment: source 16 bytes.
/// Errors: corrupt, unsupported, invalid_argument (misaligned, or the Format is not the header's),
///   with the reason. Guarantee: time linear in source_bytes; nothing is read outside the source,
///   whatever it contains. Every truncation, every byte appended and every change of a single
///   64-bit word is detected.
template <class Format>
status open_serialized(void const* source,
                       std::uint64_t source_bytes,
                       const_compressed_view<Format>& tensor) {
  if (!detail::is_aligned(source, unit_bytes)) {
    return {status_code::invalid_argument, "serialized tensor: not aligned to 16 bytes"};
  }
  serialized_info info{};
  if (status const read = read_header(source, source_bytes, info); !read.ok()) return read;
  if (info.element != Format::element::id || info.tile_rows != Format::rows ||
      info.tile_cols != Format::cols) {
    return {status_code::invalid_argument,
            "serialized tensor: it has another element or tile than asked for"};
  }
  if (source_bytes != serialized_bytes<Format>(info.rows, info.cols, info.payload_bytes)) {
    return {status_code::corrupt, "serialized tensor: its size is not the one its header gives"};
  }
  auto const* const bytes     = static_cast<std::byte const*>(source);
  auto const* const directory = bytes + sizeof(serialized_header);
  if (checksum(directory, source_bytes - sizeof(serialized_header)) !=
      detail::load<std::uint64_t>(bytes + offsetof(serialized_header, content_checksum))) {
    return {status_code::corrupt, "serialized tensor: the content's checksum does not match"};
  }
  std::uint64_t const tiles = num_tiles<Format>(info.rows, info.cols);
  if (tiles % 2 != 0 &&
      detail::load<std::uint64_t>(directory + tiles * sizeof(tile_descriptor)) != 0) {
    return {status_code::corrupt, "serialized tensor: the directory's padding is not 0"};
  }
  const_compressed_view<Format> const view{info.rows,
                                           info.cols,
                                           reinterpret_cast<tile_descriptor const*>(directory),
                                           bytes + (source_bytes - info.payload_bytes),
                                           info.payload_bytes};
  status const valid =
      visit_codec(info.codec, [&](auto codec) { return validate<Format, decltype(codec)>(view); });
  if (valid.ok()) tensor = view;
  return valid;
}

}  // namespace host
}  // namespace v0
}  // namespace bitsparse
