// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// All memory of a case as one block that travels to the device and back in one copy each way: regions
/// with guards between them. What came back is compared with what was expected, every byte of it.
/// Plain C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace bitsparse_test {

/// A dense matrix in an image.
struct image_matrix {
  std::size_t at     = 0;  // byte of the first value
  std::uint64_t rows = 0, cols = 0, ld = 0;

  std::size_t values() const {
    return rows == 0 || cols == 0 ? 0 : static_cast<std::size_t>((rows - 1) * ld + cols);
  }
};

class fuzz_image {
 public:
  static constexpr std::size_t alignment = 256, guard_bytes = 64;

  /// @param uploaded, downloaded capacity bytes each, such as pinned memory
  fuzz_image(std::byte* uploaded, std::byte* downloaded, std::size_t capacity)
      : uploaded_(uploaded),
        downloaded_(downloaded),
        capacity_(capacity),
        expected_(capacity),
        pattern_(capacity) {
    // Neighbouring bytes differ, so that a shift by a few of them shows.
    for (std::size_t i = 0; i < capacity; ++i)
      pattern_[i] = static_cast<std::byte>(i * 37 + (i >> 8) + 11);
    regions_.reserve(32);
  }

  // -----------------------------------------------------------------------------------------------
  // Layout
  // -----------------------------------------------------------------------------------------------

  void begin() {
    regions_.clear();
    used_ = 0;
    take(guard_bytes);
  }
  /// A region full of poison at a 256-byte boundary plus offset_bytes, behind a guard. Returns where it
  /// lies.
  std::size_t add(char const* name, std::size_t bytes, std::size_t offset_bytes = 0) {
    std::size_t const at =
        (used_ + guard_bytes + alignment - 1) / alignment * alignment + offset_bytes;
    take(at + bytes - used_);
    regions_.push_back({name, at, bytes});
    return at;
  }
  template <class Bits>
  image_matrix add_matrix(char const* name,
                          std::uint64_t rows,
                          std::uint64_t cols,
                          std::uint64_t ld,
                          std::uint32_t offset) {
    image_matrix matrix{0, rows, cols, ld};
    matrix.at = add(name, matrix.values() * sizeof(Bits), offset * sizeof(Bits));
    return matrix;
  }
  /// When all regions are added and all inputs are in uploaded(): what is not written stays as it is.
  void close() {
    take(guard_bytes);
    std::memcpy(expected_.data(), uploaded_, used_);
  }
  /// Bytes to copy: all regions and the guards around them.
  std::size_t used_bytes() const { return used_; }

  // -----------------------------------------------------------------------------------------------
  // Contents
  // -----------------------------------------------------------------------------------------------

  std::byte* uploaded(std::size_t at = 0) { return uploaded_ + at; }
  std::byte* expected(std::size_t at = 0) { return expected_.data() + at; }
  std::byte* downloaded(std::size_t at = 0) { return downloaded_ + at; }

  /// After close(): expects a result, and uploads its complement, so that every byte that is not written
  /// shows.
  template <class Bits, class ValueOf>
  void expect_result(image_matrix const& matrix, std::uint64_t valid_rows, ValueOf value_of) {
    for (std::uint64_t row = 0; row < matrix.rows && row < valid_rows; ++row) {
      for (std::uint64_t col = 0; col < matrix.cols; ++col) {
        std::size_t const at  = matrix.at + (row * matrix.ld + col) * sizeof(Bits);
        Bits const value      = value_of(row, col);
        Bits const complement = static_cast<Bits>(~value);
        std::memcpy(expected_.data() + at, &value, sizeof(Bits));
        std::memcpy(uploaded_ + at, &complement, sizeof(Bits));
      }
    }
  }
  /// Takes what came back as what was expected, for what is checked in another way.
  void accept(std::size_t at, std::size_t bytes) {
    std::memcpy(expected_.data() + at, downloaded_ + at, bytes);
  }
  /// Takes the NaN that came back where any NaN was expected.
  template <class Bits, class IsNan>
  void accept_nans(image_matrix const& matrix, IsNan is_nan) {
    for (std::uint64_t row = 0; row < matrix.rows; ++row) {
      for (std::uint64_t col = 0; col < matrix.cols; ++col) {
        std::size_t const at = matrix.at + (row * matrix.ld + col) * sizeof(Bits);
        Bits want, got;
        std::memcpy(&want, expected_.data() + at, sizeof(Bits));
        std::memcpy(&got, downloaded_ + at, sizeof(Bits));
        if (want != got && is_nan(want) && is_nan(got))
          std::memcpy(expected_.data() + at, &got, sizeof(Bits));
      }
    }
  }

  // -----------------------------------------------------------------------------------------------
  // The comparison
  // -----------------------------------------------------------------------------------------------

  /// Where what came back is not what was expected, or nothing.
  std::string fault() const {
    if (std::memcmp(expected_.data(), downloaded_, used_bytes()) == 0) return {};
    std::size_t count = 0, first = 0;
    for (std::size_t i = used_bytes(); i-- > 0;) {
      if (expected_[i] != downloaded_[i]) first = i, ++count;
    }
    return std::to_string(count) + " bytes are not as expected; the first is " + place_of(first) +
           ": " + std::to_string(static_cast<int>(downloaded_[first])) + ", not " +
           std::to_string(static_cast<int>(expected_[first]));
  }

 private:
  struct region {
    char const* name;
    std::size_t at, bytes;
  };
  /// Appends bytes of poison.
  void take(std::size_t bytes) {
    if (bytes > capacity_ - used_) throw std::length_error("fuzz_image: the case is too large");
    std::memcpy(uploaded_ + used_, pattern_.data() + used_, bytes);
    used_ += bytes;
  }
  std::string place_of(std::size_t byte) const {
    char const* before = "the start";
    for (region const& r : regions_) {
      if (byte >= r.at && byte < r.at + r.bytes)
        return "byte " + std::to_string(byte - r.at) + " of " + r.name;
      if (byte >= r.at + r.bytes) before = r.name;
    }
    return std::string{"in the guard behind "} + before;
  }

  std::byte* uploaded_;
  std::byte* downloaded_;
  std::size_t capacity_, used_ = 0;
  std::vector<std::byte> expected_, pattern_;
  std::vector<region> regions_;
};

}  // namespace bitsparse_test
