// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Test support: a buffer between two guards, full of poison, so that a test sees a byte written
/// too far and a byte not written at all. Plain C++17: a device test copies whole() to the device
/// and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace bitsparse_test {

/// `bytes` bytes at a 256-byte boundary plus `offset_bytes`, with a guard on either side.
///
/// Layout: whole() = guard (256 + offset_bytes,), data (bytes,), guard (256,). whole() is aligned
///   to 256 bytes, as device allocations are, so that a copy of it there keeps data's alignment.
class guarded_buffer {
 public:
  static constexpr std::size_t guard_bytes    = 256;
  static constexpr unsigned char first_poison = 0xa5;

  explicit guarded_buffer(std::size_t bytes,
                          std::size_t offset_bytes = 0,
                          unsigned char poison     = first_poison)
      : storage_(bytes + offset_bytes + 3 * guard_bytes),
        bytes_(bytes),
        front_bytes_(guard_bytes + offset_bytes),
        poison_(poison) {
    // Said for the compiler, which otherwise warns of sizes that no caller passes.
    if (bytes > std::size_t{1} << 40) throw std::length_error("guarded_buffer");
    for (std::size_t i = 0; i < whole_bytes(); ++i) whole()[i] = guard_at(i);
    fill(poison);
  }
  guarded_buffer(guarded_buffer&&) = default;
  guarded_buffer(guarded_buffer const&) =
      delete;  // the copy's storage could have another alignment

  std::byte* data() { return whole() + front_bytes_; }
  std::byte const* data() const { return whole() + front_bytes_; }
  std::size_t bytes() const { return bytes_; }
  std::byte* whole() { return storage_.data() + skip(); }
  std::byte const* whole() const { return storage_.data() + skip(); }
  std::size_t whole_bytes() const { return front_bytes_ + bytes_ + guard_bytes; }
  std::size_t data_offset_bytes() const { return front_bytes_; }

  /// Fills the data, not the guards.
  void fill(unsigned char poison) {
    poison_ = poison;
    for (std::size_t i = 0; i < bytes_; ++i) data()[i] = std::byte{poison};
  }

  bool guards_intact() const {
    for (std::size_t i = 0; i < whole_bytes(); ++i) {
      bool const is_guard = i < front_bytes_ || i >= front_bytes_ + bytes_;
      if (is_guard && whole()[i] != guard_at(i)) return false;
    }
    return true;
  }

  /// Whether every data byte of [first, last) still holds the poison.
  bool is_poison(std::size_t first, std::size_t last) const {
    if (first >= last) return true;
    return data()[first] == std::byte{poison_} &&
           std::memcmp(data() + first, data() + first + 1, last - first - 1) == 0;
  }

 private:
  /// Guard bytes differ from their neighbours, so that a copy shifted by a few bytes shows.
  static std::byte guard_at(std::size_t i) { return static_cast<std::byte>(i * 37 + 11); }
  std::size_t skip() const {
    return (guard_bytes - reinterpret_cast<std::uintptr_t>(storage_.data()) % guard_bytes) %
           guard_bytes;
  }

  std::vector<std::byte> storage_;
  std::size_t bytes_;
  std::size_t front_bytes_;
  unsigned char poison_;
};

}  // namespace bitsparse_test
