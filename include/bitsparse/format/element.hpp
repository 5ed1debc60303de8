// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: the element types that a tensor can hold, as traits over their bit patterns. No
/// arithmetic happens here: the library moves bits, and a value is zero only if all its bits are.
#pragma once

#include <cstdint>

namespace bitsparse {
inline namespace v0 {

/// The element's number in the serialised header.
enum class element_id : std::uint8_t { bf16 = 1, fp16 = 2, fp32 = 3, fp8_e4m3 = 4, fp8_e5m2 = 5 };

/// bfloat16: 1 sign, 8 exponent, 7 mantissa bits.
struct bf16 {
  using bits_type                           = std::uint16_t;
  static constexpr element_id id            = element_id::bf16;
  static constexpr char const* name         = "bf16";
  static constexpr bits_type quiet_nan      = 0x7fc0;
  static constexpr std::uint32_t value_bits = 16;
  static constexpr bool has_window          = true;  // window3/window4 split it at bit 8
};

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 mantissa bits.
struct fp16 {
  using bits_type                           = std::uint16_t;
  static constexpr element_id id            = element_id::fp16;
  static constexpr char const* name         = "fp16";
  static constexpr bits_type quiet_nan      = 0x7e00;
  static constexpr std::uint32_t value_bits = 16;
  static constexpr bool has_window          = false;
};

/// IEEE 754 binary32: 1 sign, 8 exponent, 23 mantissa bits.
struct fp32 {
  using bits_type                           = std::uint32_t;
  static constexpr element_id id            = element_id::fp32;
  static constexpr char const* name         = "fp32";
  static constexpr bits_type quiet_nan      = 0x7fc00000;
  static constexpr std::uint32_t value_bits = 32;
  static constexpr bool has_window          = false;
};

/// OCP 8-bit float E4M3 (finite and NaN only). Source: OCP OFP8 specification 1.0.
struct fp8_e4m3 {
  using bits_type                           = std::uint8_t;
  static constexpr element_id id            = element_id::fp8_e4m3;
  static constexpr char const* name         = "e4m3";
  static constexpr bits_type quiet_nan      = 0x7f;
  static constexpr std::uint32_t value_bits = 8;
  static constexpr bool has_window          = false;
};

/// OCP 8-bit float E5M2 (with infinities). Source: OCP OFP8 specification 1.0.
struct fp8_e5m2 {
  using bits_type                           = std::uint8_t;
  static constexpr element_id id            = element_id::fp8_e5m2;
  static constexpr char const* name         = "e5m2";
  static constexpr bits_type quiet_nan      = 0x7e;
  static constexpr std::uint32_t value_bits = 8;
  static constexpr bool has_window          = false;
};

namespace detail {

template <class T>
inline constexpr bool is_element = false;
template <>
inline constexpr bool is_element<bf16> = true;
template <>
inline constexpr bool is_element<fp16> = true;
template <>
inline constexpr bool is_element<fp32> = true;
template <>
inline constexpr bool is_element<fp8_e4m3> = true;
template <>
inline constexpr bool is_element<fp8_e5m2> = true;

/// The sign bit alone, e.g. 0x8000 for bf16.
template <class Element>
inline constexpr typename Element::bits_type sign_bit =
    static_cast<typename Element::bits_type>(std::uint64_t{1} << (Element::value_bits - 1));

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
