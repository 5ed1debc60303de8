// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Host memory for tensors, serialised or dense.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>

namespace bench {

/// An owner of uninitialised bytes; move-only.
///
/// Alignment: 64 bytes, more than any bitsparse operand asks for.
/// Errors: the constructor throws std::bad_alloc.
/// Guarantee: data() is not null unless the buffer was default-constructed.
class aligned_buffer {
 public:
  aligned_buffer() = default;
  explicit aligned_buffer(std::uint64_t bytes) : bytes_(bytes) {
    if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max())) {
      throw std::bad_alloc{};
    }
    auto const wanted = static_cast<std::size_t>(std::max<std::uint64_t>(bytes, 1));
    data_.reset(static_cast<std::byte*>(::operator new(wanted, alignment)));
  }

  std::byte* data() { return data_.get(); }
  std::byte const* data() const { return data_.get(); }
  std::uint64_t size() const { return bytes_; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct release {
    void operator()(std::byte* data) const { ::operator delete(data, alignment); }
  };

  std::unique_ptr<std::byte, release> data_;
  std::uint64_t bytes_ = 0;
};

}  // namespace bench
