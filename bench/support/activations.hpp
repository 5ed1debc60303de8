// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Synthetic activations for benchmarks: what a ReLU leaves of normally distributed values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <bench/support/element_fields.hpp>

namespace bench {

/// A positive finite number rounded to nearest, ties to even, with subnormals.
/// Errors: none; the caller keeps values below the element's largest.
template <class Element>
typename Element::bits_type round_to(double value) {
  constexpr int mantissa = static_cast<int>(mantissa_bits<Element>);
  constexpr int bias     = (1 << (exponent_bits<Element> - 1)) - 1;
  if (value == 0) return 0;
  int const exponent = std::max(std::ilogb(value), 1 - bias);
  // With the hidden bit; rounding up to 2^(mantissa + 1) carries into the exponent by itself.
  auto const significand = std::llrint(std::ldexp(value, mantissa - exponent));
  auto const field       = static_cast<long long>(exponent + bias) << mantissa;
  return static_cast<typename Element::bits_type>(field + significand - (1ll << mantissa));
}

/// `num_values` values, each +0 with probability `zeros` and else the magnitude of a standard
/// normal. The same seed gives the same bits with the same standard library.
template <class Element>
std::vector<typename Element::bits_type> make_activations(std::size_t num_values,
                                                          double zeros,
                                                          std::uint64_t seed) {
  std::mt19937_64 generator{seed};
  std::bernoulli_distribution is_zero{zeros};
  std::normal_distribution<double> normal;
  std::vector<typename Element::bits_type> values(num_values);
  for (auto& value : values) {
    value = is_zero(generator) ? typename Element::bits_type{0}
                               : round_to<Element>(std::fabs(normal(generator)));
  }
  return values;
}

}  // namespace bench
