// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device operations on one matrix, compared with the host codec byte for byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>
#include <tests/support/device_memory.cuh>
#include <tests/support/round_trip.hpp>

namespace bitsparse_test {

/// A compressed tensor in device memory, every part between guards.
template <class Format>
class device_tensor {
 public:
  device_tensor(std::uint64_t rows, std::uint64_t cols, std::uint64_t payload_bytes)
      : rows_(rows),
        cols_(cols),
        directory_(bitsparse::directory_bytes<Format>(rows, cols)),
        payload_(payload_bytes),
        state_(sizeof(bitsparse::tensor_state), 0, 0) {}

  bitsparse::device_tensor_view<Format> view() {
    return {rows_,
            cols_,
            reinterpret_cast<bitsparse::tile_descriptor*>(directory_.data()),
            payload_.data(),
            payload_.bytes(),
            reinterpret_cast<bitsparse::tensor_state*>(state_.data())};
  }
  device_buffer& directory() { return directory_; }
  device_buffer& payload() { return payload_; }
  bitsparse::tensor_state state() {
    bitsparse::tensor_state content;
    std::memcpy(&content, state_.download().data(), sizeof(content));
    return content;
  }
  /// After a download of all three.
  bool guards_intact() {
    return directory_.host().guards_intact() && payload_.host().guards_intact() &&
           state_.download().guards_intact();
  }

 private:
  std::uint64_t rows_, cols_;
  device_buffer directory_, payload_, state_;
};

/// Compares a device's downloaded directory and payload with what the host codec makes of the same
/// matrix.
/// @return the fault, or nothing
template <class Format, class Codec>
std::string compare_with_host(test_matrix<typename Format::element> const& source,
                              device_tensor<Format>& tensor) {
  test_tensor<Format> expected{source.rows(), source.cols()};
  std::uint64_t needed_bytes = 0;
  bitsparse::status const compressed =
      bitsparse::host::compress<Format, Codec>(source.view(), expected.view(), needed_bytes);
  if (!compressed.ok()) return compressed.text();

  guarded_buffer const& directory = tensor.directory().download();
  guarded_buffer const& payload   = tensor.payload().download();
  if (!tensor.guards_intact()) return "compress wrote outside directory, payload or state";
  if (tensor.state().cursor_units * 16 != needed_bytes) return "the cursor is not the chunks' sum";
  if (tensor.state().conditions != 0) return "a condition was raised";
  std::vector<bool> taken(payload.bytes() / 16);
  for (std::uint64_t i = 0; i < expected.num_tiles(); ++i) {
    bitsparse::tile_descriptor const want = expected.tile(i);
    bitsparse::tile_descriptor const got{
        bitsparse::detail::load<std::uint64_t>(directory.data() + 8 * i)};
    if (want.form() != got.form() || want.kept() != got.kept() ||
        want.chunk_units() != got.chunk_units()) {
      return "tile " + std::to_string(i) + ": the descriptor is not the host codec's";
    }
    if (want.form() == bitsparse::encoding::zero && got.word() != 0)
      return "a zero tile's descriptor is not 0";
    if (got.offset_units() + got.chunk_units() > taken.size())
      return "a chunk lies outside the payload";
    for (std::uint32_t u = 0; u < got.chunk_units(); ++u) {
      if (taken[got.offset_units() + u]) return "two chunks overlap";
      taken[got.offset_units() + u] = true;
    }
    if (got.chunk_units() != 0 && std::memcmp(expected.payload().data() + want.offset_units() * 16,
                                              payload.data() + got.offset_units() * 16,
                                              std::size_t{got.chunk_units()} * 16) != 0) {
      return "tile " + std::to_string(i) + " (" + bitsparse::name_of(got.form()) +
             "): the chunk is not the host codec's";
    }
  }
  if (!payload.is_poison(std::min<std::size_t>(needed_bytes, payload.bytes()), payload.bytes())) {
    return "compress wrote behind the last chunk";
  }
  return {};
}

/// Decompresses into two differently poisoned matrices of any ld and offset, and compares every
/// bit.
/// @return the fault, or nothing
template <class Format, class Tuning = void>
std::string decompress_and_compare(test_matrix<typename Format::element> const& source,
                                   device_tensor<Format>& tensor,
                                   std::uint64_t target_ld,
                                   std::uint64_t target_offset) {
  using element = typename Format::element;
  for (auto const poison : {static_cast<unsigned char>(0xa5), static_cast<unsigned char>(0x5a)}) {
    test_matrix<element> restored{source.rows(), source.cols(), target_ld, target_offset, poison};
    device_buffer target{restored.buffer()};
    bitsparse::status const decompressed = bitsparse::decompress<bitsparse::identity, Tuning>(
        tensor.view(),
        bitsparse::matrix_view<element>{
            reinterpret_cast<typename element::bits_type*>(target.data()),
            restored.rows(),
            restored.cols(),
            restored.ld()},
        nullptr);
    if (!decompressed.ok()) return decompressed.text();
    std::memcpy(
        restored.buffer().whole(), target.download().whole(), restored.buffer().whole_bytes());
    if (restored.mismatches(source) != 0)
      return std::to_string(restored.mismatches(source)) + " values differ";
    if (!restored.surroundings_intact()) return "decompress wrote outside the values";
  }
  if (tensor.state().conditions != 0) return "decompress raised a condition";
  return {};
}

/// Compresses and decompresses on the device.
/// @return the fault, or nothing
template <class Format, class Codec, class Tuning = void>
std::string device_round_trip(test_matrix<typename Format::element> const& source,
                              std::uint64_t target_ld     = 0,
                              std::uint64_t target_offset = 0) {
  using element = typename Format::element;
  device_buffer dense{source.buffer()};
  device_tensor<Format> tensor{source.rows(),
                               source.cols(),
                               bitsparse::max_payload_bytes<Format>(source.rows(), source.cols())};
  bitsparse::status const compressed = bitsparse::compress<Codec, bitsparse::identity, Tuning>(
      bitsparse::const_matrix_view<element>{
          reinterpret_cast<typename element::bits_type const*>(dense.data()),
          source.rows(),
          source.cols(),
          source.ld()},
      tensor.view(),
      nullptr);
  std::string fault =
      compressed.ok() ? compare_with_host<Format, Codec>(source, tensor) : compressed.text();
  if (fault.empty() &&
      std::memcmp(
          dense.download().whole(), source.buffer().whole(), source.buffer().whole_bytes()) != 0) {
    fault = "compress wrote into its source";
  }
  if (fault.empty()) {
    fault = decompress_and_compare<Format, Tuning>(
        source, tensor, target_ld == 0 ? source.ld() : target_ld, target_offset);
  }
  return fault.empty() ? fault : format_name<Format>() + " " + Codec::name + ": " + fault;
}

}  // namespace bitsparse_test
