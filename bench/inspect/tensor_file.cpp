// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Reading of raw, .npy and serialised files.
#include <bench/inspect/tensor_file.hpp>

#include <cstring>

#include <bench/inspect/input_file.hpp>
#include <bench/inspect/npy.hpp>
#include <bitsparse/format/serialized.hpp>
#include <bitsparse/format/visit_format.hpp>

namespace inspect {
namespace {

namespace bs = bitsparse;

std::string to_string(matrix_shape shape) {
  return std::to_string(shape.rows) + "x" + std::to_string(shape.cols);
}

/// Throws if the user said something else than the file.
void check_said(bool same, char const* option, std::string const& file, std::string const& user) {
  if (!same) {
    throw file_error{"it says " + file + ", but " + option + " says " + user};
  }
}

void check_shape(matrix_shape said, options const& asked) {
  if (!asked.shape) return;
  check_said(said.rows == asked.shape->rows && said.cols == asked.shape->cols,
             "--shape",
             to_string(said),
             to_string(*asked.shape));
}

/// Reads the rest of the file, which must be exactly the matrix.
void read_values(input_file& file, tensor_file& tensor, options const& asked) {
  tensor.codec = asked.codec.value_or(bs::codec_id::sign);
  tensor.tile  = asked.tile.value_or(default_tile(tensor.element));
  if (!is_supported(tensor.element, tensor.tile)) {
    throw file_error{unsupported_tile(tensor.element, tensor.tile)};
  }
  std::uint64_t const bytes =
      bs::detail::checked_mul(bs::detail::checked_mul(tensor.shape.rows, tensor.shape.cols),
                              value_bits_of(tensor.element) / 8);
  std::string const what = to_string(tensor.shape) + " " + name_of(tensor.element);
  if (bytes == bs::size_overflow) throw file_error{what + " overflows 64 bits"};
  if (bytes != file.remaining()) {
    throw file_error{"wrong size: " + what + " takes " + std::to_string(bytes) +
                     " bytes, but it holds " + std::to_string(file.remaining())};
  }
  tensor.dense = aligned_buffer{bytes};
  file.read(tensor.dense.data(), bytes);
}

template <class Format>
bs::status restore(tensor_file& tensor) {
  bs::const_compressed_view<Format> view;
  if (bs::status const opened = bs::host::open_serialized<Format>(
          tensor.serialized.data(), tensor.serialized.size(), view);
      !opened.ok()) {
    return opened;
  }
  using bits_type = typename Format::bits_type;
  tensor.shape    = {view.rows, view.cols};
  tensor.dense    = aligned_buffer{
      bs::detail::checked_mul(bs::detail::checked_mul(view.rows, view.cols), sizeof(bits_type))};
  return bs::host::decompress<Format>(
      view, {reinterpret_cast<bits_type*>(tensor.dense.data()), view.rows, view.cols, view.cols});
}

void read_serialized(input_file& file, tensor_file& tensor, options const& asked) {
  tensor.is_serialized = true;
  tensor.serialized    = aligned_buffer{file.size()};
  file.read(tensor.serialized.data(), file.size());
  bs::serialized_info info{};
  bs::status status =
      bs::host::read_header(tensor.serialized.data(), tensor.serialized.size(), info);
  if (status.ok()) {
    tensor.element = info.element;
    tensor.codec   = info.codec;
    tensor.tile    = {info.tile_rows, info.tile_cols};
    check_said(asked.element.value_or(info.element) == info.element,
               "--dtype",
               name_of(info.element),
               name_of(asked.element.value_or(info.element)));
    check_said(asked.codec.value_or(info.codec) == info.codec,
               "--codec",
               name_of(info.codec),
               name_of(asked.codec.value_or(info.codec)));
    tile_shape const tile = asked.tile.value_or(tensor.tile);
    check_said(tile.rows == info.tile_rows && tile.cols == info.tile_cols,
               "--tile",
               inspect::to_string(tensor.tile),
               inspect::to_string(tile));
    check_shape({info.rows, info.cols}, asked);
    if (!is_supported(tensor.element, tensor.tile)) {
      throw file_error{unsupported_tile(tensor.element, tensor.tile)};
    }
    status = bs::visit_format(info.element, info.tile_rows, info.tile_cols, [&](auto format) {
      return restore<decltype(format)>(tensor);
    });
  }
  if (!status.ok()) throw file_error{status.text()};
}

}  // namespace

tensor_file read_tensor_file(std::string const& path, options const& asked) {
  input_file file{path};
  char start[8]{};
  std::size_t const start_bytes = file.size() < sizeof(start) ? file.size() : sizeof(start);
  file.read(start, start_bytes);
  file.rewind();

  tensor_file tensor{};
  if (bs::detail::load<std::uint64_t>(start) == bs::serialized_magic) {
    read_serialized(file, tensor, asked);
    return tensor;
  }
  if (std::string_view{start, npy_magic.size()} == npy_magic) {
    npy_header const header = read_npy_header(file);
    tensor.element          = element_of(header, asked.element);
    tensor.shape            = {header.rows, header.cols};
    check_shape(tensor.shape, asked);
  } else {
    if (path.size() >= 4 && path.compare(path.size() - 4, 4, ".npy") == 0) {
      throw file_error{"does not start as a .npy file does"};
    }
    if (!asked.element || !asked.shape) {
      throw file_error{"holds raw values, which need --dtype and --shape"};
    }
    tensor.element = *asked.element;
    tensor.shape   = *asked.shape;
  }
  read_values(file, tensor, asked);
  return tensor;
}

aligned_buffer serialize(round_trip_request const& request, round_trip_result const& result) {
  aligned_buffer target;
  bs::status const done =
      bs::visit_format(request.element, request.tile_rows, request.tile_cols, [&](auto format) {
        using Format = decltype(format);
        return bs::visit_codec(request.codec, [&](auto codec) {
          using Codec = decltype(codec);
          bs::const_compressed_view<Format> const source{request.rows,
                                                         request.cols,
                                                         result.directory.data(),
                                                         result.payload.data(),
                                                         result.payload.size()};
          std::uint64_t bytes    = 0;
          bs::status const asked = bs::host::serialize<Format, Codec>(source, nullptr, 0, bytes);
          if (asked.code() != bs::status_code::capacity_exceeded) return asked;
          target = aligned_buffer{bytes};
          return bs::host::serialize<Format, Codec>(source, target.data(), bytes, bytes);
        });
      });
  if (!done.ok()) throw file_error{done.text()};
  return target;
}

}  // namespace inspect
