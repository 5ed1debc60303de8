// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Test support: matrices and compressed tensors between guards, and a round trip through the host
/// codec that checks all it promises. No test framework: a fault comes back as a text.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <bitsparse/format/host_codec.hpp>
#include <bitsparse/format/visit_format.hpp>
#include <tests/support/guarded_buffer.hpp>

namespace bitsparse_test {

/// A dense matrix between guards, at any element offset from a 256-byte boundary. The gaps between
/// rows hold poison.
template <class Element>
class test_matrix {
 public:
  using bits_type = typename Element::bits_type;

  test_matrix(std::uint64_t rows,
              std::uint64_t cols,
              std::uint64_t ld            = 0,
              std::uint64_t offset_values = 0,
              unsigned char poison        = guarded_buffer::first_poison)
      : rows_(rows),
        cols_(cols),
        ld_(ld == 0 ? cols : ld),
        buffer_(rows == 0 || cols == 0 ? 0 : ((rows - 1) * ld_ + cols) * sizeof(bits_type),
                offset_values * sizeof(bits_type),
                poison) {}

  std::uint64_t rows() const { return rows_; }
  std::uint64_t cols() const { return cols_; }
  std::uint64_t ld() const { return ld_; }
  bits_type* data() { return reinterpret_cast<bits_type*>(buffer_.data()); }
  bits_type const* data() const { return reinterpret_cast<bits_type const*>(buffer_.data()); }
  bits_type& at(std::uint64_t row, std::uint64_t col) { return data()[row * ld_ + col]; }
  bits_type const& at(std::uint64_t row, std::uint64_t col) const {
    return data()[row * ld_ + col];
  }
  bitsparse::matrix_view<Element> view() { return {data(), rows_, cols_, ld_}; }
  bitsparse::const_matrix_view<Element> view() const { return {data(), rows_, cols_, ld_}; }
  guarded_buffer& buffer() { return buffer_; }
  guarded_buffer const& buffer() const { return buffer_; }

  /// Takes rows x cols values, packed.
  void assign(std::vector<bits_type> const& values) {
    for (std::uint64_t r = 0; r < rows_; ++r) {
      for (std::uint64_t c = 0; c < cols_; ++c) at(r, c) = values[r * cols_ + c];
    }
  }
  void set_zero() { assign(std::vector<bits_type>(rows_ * cols_)); }

  /// Values whose bits differ from another matrix of the shape.
  std::uint64_t mismatches(test_matrix const& other) const {
    std::uint64_t count = 0;
    for (std::uint64_t r = 0; r < rows_; ++r) {
      for (std::uint64_t c = 0; c < cols_; ++c) count += at(r, c) != other.at(r, c);
    }
    return count;
  }

  /// Whether guards and the gaps between rows are as they were made.
  bool surroundings_intact() const {
    for (std::uint64_t r = 0; cols_ != 0 && r + 1 < rows_; ++r) {
      if (!buffer_.is_poison((r * ld_ + cols_) * sizeof(bits_type),
                             (r + 1) * ld_ * sizeof(bits_type))) {
        return false;
      }
    }
    return buffer_.guards_intact();
  }

 private:
  std::uint64_t rows_, cols_, ld_;
  guarded_buffer buffer_;
};

/// A compressed tensor whose directory and payload lie between guards, full of poison.
template <class Format>
class test_tensor {
 public:
  test_tensor(std::uint64_t rows, std::uint64_t cols)
      : test_tensor(rows, cols, bitsparse::max_payload_bytes<Format>(rows, cols)) {}
  test_tensor(std::uint64_t rows, std::uint64_t cols, std::uint64_t payload_bytes)
      : rows_(rows),
        cols_(cols),
        directory_(bitsparse::directory_bytes<Format>(rows, cols)),
        payload_(payload_bytes) {}

  bitsparse::compressed_view<Format> view() {
    return {rows_,
            cols_,
            reinterpret_cast<bitsparse::tile_descriptor*>(directory_.data()),
            payload_.data(),
            payload_.bytes()};
  }
  std::uint64_t num_tiles() const { return directory_.bytes() / 8; }
  bitsparse::tile_descriptor& tile(std::uint64_t index) { return view().directory[index]; }
  guarded_buffer& directory() { return directory_; }
  guarded_buffer& payload() { return payload_; }
  bool guards_intact() const { return directory_.guards_intact() && payload_.guards_intact(); }

 private:
  std::uint64_t rows_, cols_;
  guarded_buffer directory_, payload_;
};

/// What a round trip found: no fault if `fault` is empty.
struct round_trip_report {
  std::string fault;
  std::uint64_t chunk_bytes = 0;
  std::array<std::uint64_t, bitsparse::num_encodings> tiles{};  // per encoding

  std::uint64_t of(bitsparse::encoding e) const { return tiles[static_cast<std::size_t>(e)]; }
};

/// Checks what compress wrote: chunks in tile order without gaps, none larger than its tile's valid
/// bytes, kept counts, nothing behind the last chunk.
template <class Format>
round_trip_report check_chunks(test_matrix<typename Format::element> const& source,
                               test_tensor<Format>& tensor,
                               std::uint64_t needed_bytes) {
  round_trip_report report;
  report.chunk_bytes       = needed_bytes;
  std::uint64_t next_units = 0, index = 0;
  for (std::uint64_t row = 0; row < source.rows() && source.cols() != 0; row += Format::rows) {
    for (std::uint64_t col = 0; col < source.cols(); col += Format::cols, ++index) {
      bitsparse::tile_descriptor const tile = tensor.tile(index);
      std::uint64_t const rows        = std::min<std::uint64_t>(Format::rows, source.rows() - row);
      std::uint64_t const cols        = std::min<std::uint64_t>(Format::cols, source.cols() - col);
      std::uint64_t const valid_bytes = rows * cols * sizeof(typename Format::bits_type);
      std::uint32_t kept              = 0;
      for (std::uint64_t r = row; r < row + rows; ++r) {
        for (std::uint64_t c = col; c < col + cols; ++c) kept += source.at(r, c) != 0;
      }
      ++report.tiles[static_cast<std::size_t>(tile.form())];
      if (tile.kept() != kept) report.fault = "a descriptor's kept count is wrong";
      if ((kept == 0) != (tile.word() == 0)) report.fault = "zero tile and zero word differ";
      if (tile.chunk_units() * std::uint64_t{16} > (valid_bytes + 15) / 16 * 16) {
        report.fault = "a chunk is larger than its tile's valid bytes";
      }
      if (kept != 0 && tile.offset_units() != next_units) report.fault = "chunks leave a gap";
      next_units += tile.chunk_units();
    }
  }
  if (index != tensor.num_tiles()) report.fault = "the number of tiles is wrong";
  if (next_units * 16 != needed_bytes) report.fault = "needed_bytes is not the chunks' sum";
  if (!tensor.guards_intact()) report.fault = "compress wrote outside directory or payload";
  if (!tensor.payload().is_poison(std::min<std::uint64_t>(needed_bytes, tensor.payload().bytes()),
                                  tensor.payload().bytes())) {
    report.fault = "compress wrote behind the last chunk";
  }
  return report;
}

/// Compresses and decompresses and checks every promise. The outputs are poisoned twice with
/// complementary bytes, so that a value not written shows whatever it should have been.
template <class Format, class Codec>
round_trip_report round_trip(test_matrix<typename Format::element> const& source,
                             std::uint64_t target_ld     = 0,
                             std::uint64_t target_offset = 0) {
  using matrix = test_matrix<typename Format::element>;
  std::vector<std::byte> const before(source.buffer().whole(),
                                      source.buffer().whole() + source.buffer().whole_bytes());
  test_tensor<Format> tensor{source.rows(), source.cols()};
  std::uint64_t needed_bytes = ~std::uint64_t{0};
  bitsparse::status const compressed =
      bitsparse::host::compress<Format, Codec>(source.view(), tensor.view(), needed_bytes);
  if (!compressed.ok()) return {compressed.text()};
  round_trip_report report = check_chunks<Format>(source, tensor, needed_bytes);
  if (std::memcmp(before.data(), source.buffer().whole(), before.size()) != 0) {
    report.fault = "compress wrote into its source";
  }
  std::vector<std::byte> const chunks(tensor.payload().data(),
                                      tensor.payload().data() + tensor.payload().bytes());
  for (auto const poison : {static_cast<unsigned char>(0xa5), static_cast<unsigned char>(0x5a)}) {
    matrix restored{source.rows(),
                    source.cols(),
                    target_ld == 0 ? source.ld() : target_ld,
                    target_offset,
                    poison};
    bitsparse::status const decompressed =
        bitsparse::host::decompress<Format>(tensor.view(), restored.view());
    if (!decompressed.ok()) report.fault = decompressed.text();
    std::uint64_t const mismatches = restored.mismatches(source);
    if (mismatches != 0) report.fault = std::to_string(mismatches) + " values differ";
    if (!restored.surroundings_intact()) report.fault = "decompress wrote outside the values";
  }
  if ((!chunks.empty() &&
       std::memcmp(chunks.data(), tensor.payload().data(), chunks.size()) != 0) ||
      !tensor.guards_intact()) {
    report.fault = "decompress wrote into its source";
  }
  return report;
}

/// "bf16 64x64".
template <class Format>
std::string format_name() {
  return std::string{Format::element::name} + " " + std::to_string(Format::rows) + "x" +
         std::to_string(Format::cols);
}

/// Calls visit(Type{}) for every type of a list.
template <class... Types, class Visit>
void for_each_type(bitsparse::type_list<Types...>, Visit&& visit) {
  (visit(Types{}), ...);
}

/// Round-trips with every codec and gives the first fault, with the codec's name, or nothing.
template <class Format>
std::string round_trip_every_codec(test_matrix<typename Format::element> const& source,
                                   std::uint64_t target_ld     = 0,
                                   std::uint64_t target_offset = 0) {
  std::string fault;
  for_each_type(bitsparse::supported_codecs{}, [&](auto codec) {
    using codec_type  = decltype(codec);
    auto const report = round_trip<Format, codec_type>(source, target_ld, target_offset);
    if (fault.empty() && !report.fault.empty()) {
      fault = format_name<Format>() + " " + codec_type::name + ": " + report.fault;
    }
  });
  return fault;
}

}  // namespace bitsparse_test
