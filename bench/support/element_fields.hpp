// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The fields of each element's bit pattern. The library moves bits and needs none of this; tools
/// and benchmarks that make or analyse values do.
#pragma once

#include <cstdint>

#include <bitsparse/format/element.hpp>
#include <bitsparse/format/visit_format.hpp>

namespace bench {

/// Width of the exponent field. Units: bits.
template <class Element>
inline constexpr std::uint32_t exponent_bits = 0;
template <>
inline constexpr std::uint32_t exponent_bits<bitsparse::bf16> = 8;
template <>
inline constexpr std::uint32_t exponent_bits<bitsparse::fp16> = 5;
template <>
inline constexpr std::uint32_t exponent_bits<bitsparse::fp32> = 8;
template <>
inline constexpr std::uint32_t exponent_bits<bitsparse::fp8_e4m3> = 4;
template <>
inline constexpr std::uint32_t exponent_bits<bitsparse::fp8_e5m2> = 5;

/// Width of the mantissa field: what sign and exponent leave. Units: bits.
template <class Element>
inline constexpr std::uint32_t mantissa_bits = Element::value_bits - 1 - exponent_bits<Element>;

/// Every element once.
using all_elements = bitsparse::type_list<bitsparse::bf16,
                                          bitsparse::fp16,
                                          bitsparse::fp32,
                                          bitsparse::fp8_e4m3,
                                          bitsparse::fp8_e5m2>;

/// Calls visit(T{}) for every type of the list.
template <class... Types, class Visit>
void for_each_type(bitsparse::type_list<Types...>, Visit visit) {
  (visit(Types{}), ...);
}

}  // namespace bench
