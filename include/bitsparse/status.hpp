// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What a function that can fail returns: a code, and a static text that says what was wrong with
/// which argument.
#pragma once

#include <cstdint>
#include <type_traits>

#include <bitsparse/config.hpp>

namespace bitsparse {
inline namespace v0 {

/// The kinds of failure. A caller branches on the code and prints the text.
enum class status_code : std::uint32_t {
  ok                = 0,
  invalid_argument  = 1,  // shape, leading dimension, null, alignment, overlap
  unsupported       = 2,  // a legal request that this build or device has no code for
  capacity_exceeded = 3,  // the chunks need more bytes than the payload has
  tile_lost         = 4,  // a tile did not fit when it was compressed: its values are gone
  corrupt           = 5,  // bytes that no bitsparse encoder writes
  cuda_error        = 6,  // a CUDA call failed; native() holds its code
};

/// How a status turns into another library's error type. A specialisation provides `static E
/// convert(status_code, int native)` and makes `status` implicitly convertible to `E`.
template <class E>
struct status_conversion;

/// The result of a call: ok, or a code with a text.
///
/// Guarantee: the text is a string literal, lives for ever, and is "ok" exactly when the code is
///   ok.
class [[nodiscard]] status {
 public:
  constexpr status() = default;
  constexpr status(status_code code, char const* text, int native = 0)
      : text_(text), code_(code), native_(native) {}

  constexpr status_code code() const { return code_; }
  constexpr char const* text() const { return text_; }
  /// The code of the foreign library whose call failed; 0 if none did.
  constexpr int native() const { return native_; }
  constexpr bool ok() const { return code_ == status_code::ok; }

  /// Converts to another library's error type, so that its own check macros take a status.
  template <class E, class = decltype(status_conversion<E>::convert(status_code{}, 0))>
  constexpr operator E() const {  // NOLINT(google-explicit-constructor)
    return status_conversion<E>::convert(code_, native_);
  }

 private:
  char const* text_ = "ok";
  status_code code_ = status_code::ok;
  int native_       = 0;
};

static_assert(std::is_trivially_copyable_v<status>);

}  // namespace v0
}  // namespace bitsparse
