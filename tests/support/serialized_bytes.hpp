// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Test support: serialised tensors as exactly allocated byte strings, so that an address checker
/// sees any access outside, and their checksums, computed anew after a change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <bitsparse/format/host_codec.hpp>
#include <bitsparse/format/serialized.hpp>
#include <bitsparse/format/size.hpp>

namespace bitsparse_test {

using byte_string = std::vector<std::byte>;

/// The checksum of 8-byte words, written from its description.
inline std::uint64_t reference_checksum(std::byte const* bytes, std::size_t num_bytes) {
  std::uint64_t sum = 0;
  for (std::size_t word = 0; word < num_bytes / 8; ++word) {
    std::uint64_t x = 0;
    for (std::size_t i = 8; i-- > 0;)
      x = x << 8 | std::to_integer<std::uint64_t>(bytes[word * 8 + i]);
    x += (word + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    sum += x ^ (x >> 31);
  }
  return sum;
}

/// Writes both checksums of a serialised tensor, whatever else its bytes are.
inline void reseal(byte_string& bytes) {
  if (bytes.size() < 64) return;
  std::uint64_t const content = reference_checksum(bytes.data() + 64, bytes.size() - 64);
  std::memcpy(bytes.data() + 48, &content, 8);
  std::uint64_t const header = reference_checksum(bytes.data(), 56);
  std::memcpy(bytes.data() + 56, &header, 8);
}

/// Compresses into plain buffers and serialises; empty if either fails.
template <class Format, class Codec>
byte_string serialize(bitsparse::const_matrix_view<typename Format::element> matrix) {
  std::vector<bitsparse::tile_descriptor> directory(
      bitsparse::num_tiles<Format>(matrix.rows, matrix.cols));
  byte_string payload(bitsparse::max_payload_bytes<Format>(matrix.rows, matrix.cols));
  bitsparse::compressed_view<Format> const tensor{
      matrix.rows, matrix.cols, directory.data(), payload.data(), payload.size()};
  std::uint64_t bytes = 0;
  if (!bitsparse::host::compress<Format, Codec>(matrix, tensor, bytes).ok()) return {};
  byte_string serialized(bitsparse::serialized_bytes<Format>(matrix.rows, matrix.cols, bytes));
  if (!bitsparse::host::serialize<Format, Codec>(bitsparse::const_compressed_view<Format>{tensor},
                                                 serialized.data(),
                                                 serialized.size(),
                                                 bytes)
           .ok() ||
      bytes != serialized.size()) {
    return {};
  }
  return serialized;
}

}  // namespace bitsparse_test
