// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Test support: deterministic values, the same with every compiler and standard library. Plain
/// C++17, no test framework.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace bitsparse_test {

// -------------------------------------------------------------------------------------------------
// Random numbers
// -------------------------------------------------------------------------------------------------

/// A generator of 64 random bits.
/// Source: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
class random_bits {
 public:
  explicit random_bits(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15u;
    mixed               = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed               = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
  }
  /// An integer of [0, bound). `bound` is small, so that the modulo's bias does not matter.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(next() % bound); }
  /// A multiple of 2^-53 in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// ln(x) for normal x > 0, to about 1e-15: the standard library's may differ in the last bit.
inline double natural_log(double x) {
  int exponent    = 0;
  double mantissa = std::frexp(x, &exponent);  // exact, [0.5, 1)
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  double const z = (mantissa - 1) / (mantissa + 1);  // |z| <= 0.1716
  double sum     = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * z * z + 1.0 / k;
  return 2 * z * sum + exponent * 0.69314718055994531;
}

/// Standard normal numbers. Source: Marsaglia's polar method.
class normal_numbers {
 public:
  explicit normal_numbers(std::uint64_t seed) : random_(seed) {}
  double next() {
    double x = 0, square = 0;
    do {
      x              = 2 * random_.unit() - 1;
      double const y = 2 * random_.unit() - 1;
      square         = x * x + y * y;
    } while (square >= 1 || square == 0);
    return x * std::sqrt(-2 * natural_log(square) / square);
  }

 private:
  random_bits random_;
};

/// The bf16 pattern of a finite number, rounded to the nearest, ties to even.
inline std::uint16_t bf16_bits(float number) {
  std::uint32_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// -------------------------------------------------------------------------------------------------
// Sparse values
// -------------------------------------------------------------------------------------------------

/// The bit patterns that non-zero values take.
enum class value_range {
  any,           // every pattern but 0
  non_negative,  // the sign bit is 0
  window3,       // 16-bit types: bits 8..14 take 8 codes at most; else as non_negative
  window4,       // 16-bit types: bits 8..14 take 16 codes at most; else as non_negative
};

/// Where non-zero values lie and what they are.
struct value_model {
  value_range range          = value_range::any;
  double fill                = 1;  // share of non-zero values within a group that has any
  std::uint32_t group_values = 1;  // groups are aligned runs of this many values
  double group_share         = 1;  // share of the groups that have any
};

/// One non-zero pattern. `window_base` is the lowest code of the window ranges.
template <class Bits>
Bits random_nonzero(random_bits& random, value_range range, std::uint32_t window_base) {
  static_assert(std::is_unsigned_v<Bits>);
  constexpr unsigned value_bits = 8 * sizeof(Bits);
  Bits bits                     = 0;
  do {
    bits = static_cast<Bits>(random.next());
    if (range != value_range::any) {
      bits = static_cast<Bits>(bits & ~(std::uint64_t{1} << (value_bits - 1)));
    }
    if (value_bits == 16 && (range == value_range::window3 || range == value_range::window4)) {
      std::uint32_t const code = random.below(range == value_range::window3 ? 8 : 16);
      bits = static_cast<Bits>((bits & 0xff) | ((window_base + code) & 0x7f) << 8);
    }
  } while (bits == 0);
  return bits;
}

/// `count` values by the model.
template <class Bits>
std::vector<Bits> random_values(std::size_t count, value_model const& model, std::uint64_t seed) {
  random_bits random{seed};
  std::uint32_t const base = random.below(0x70);
  std::vector<Bits> values(count);
  bool in_group = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % model.group_values == 0) in_group = random.unit() < model.group_share;
    if (in_group && random.unit() < model.fill) {
      values[i] = random_nonzero<Bits>(random, model.range, base);
    }
  }
  return values;
}

}  // namespace bitsparse_test
