// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The dense values of a case: where non-zero values lie, and what they are. Plain C++17, about 3 ns
/// per value, since the fuzzer's host threads make all of them.
#pragma once

#include <cstdint>

#include <bitsparse/format/element.hpp>
#include <tests/fuzz/device_fuzz/fuzz_case.hpp>

namespace bitsparse_test {

/// Where an element's exponent lies.
template <class Element>
inline constexpr int mantissa_bits = Element::id == bitsparse::element_id::bf16       ? 7
                                     : Element::id == bitsparse::element_id::fp16     ? 10
                                     : Element::id == bitsparse::element_id::fp32     ? 23
                                     : Element::id == bitsparse::element_id::fp8_e4m3 ? 3
                                                                                      : 2;
template <class Element>
inline constexpr int exponent_bits = static_cast<int>(Element::value_bits) -
                                     1 - mantissa_bits<Element>;

template <class Element>
constexpr bool is_nan(typename Element::bits_type bits) {
  constexpr std::uint64_t all      = (std::uint64_t{1} << (Element::value_bits - 1)) - 1;
  constexpr std::uint64_t infinity = all >> mantissa_bits<Element> << mantissa_bits<Element>;
  // e4m3 has no infinities: NaN is all ones.
  return Element::id == bitsparse::element_id::fp8_e4m3 ? (bits & all) == all
                                                        : (bits & all) > infinity;
}

/// The non-zero values of a case, in turn.
template <class Element>
class value_stream {
 public:
  using bits_type = typename Element::bits_type;

  explicit value_stream(fuzz_case const& c, random_bits& random)
      : kind_(c.values), negatives_(c.negatives), counter_(random.next()) {
    base_ = static_cast<std::uint32_t>(random.below(0x70));
  }

  /// @param noise random bits, at least 32
  bits_type next(std::uint64_t noise) {
    bits_type bits = make(noise);
    if (negatives_ != 0 && (noise >> 5) % 1024 < negatives_) bits |= sign;
    return bits == 0 ? bits_type{1} : bits;
  }

 private:
  static constexpr bits_type sign         = bitsparse::detail::sign_bit<Element>;
  static constexpr std::uint32_t max_code = (1u << exponent_bits<Element>)-1;
  static constexpr std::uint64_t man_mask = (std::uint64_t{1} << mantissa_bits<Element>)-1;

  bits_type with_exponent(std::uint32_t code, std::uint64_t noise) const {
    return static_cast<bits_type>(std::uint64_t{code} << mantissa_bits<Element> |
                                  (noise & man_mask));
  }
  /// Of bits 8 .. 14, which window forms look at, where the element has as many.
  bits_type with_window(std::uint32_t code, std::uint64_t noise) const {
    if constexpr (sizeof(bits_type) == 1) {
      return static_cast<bits_type>(noise & 0x7f);
    } else {
      constexpr int from = Element::value_bits - 8;
      return static_cast<bits_type>(std::uint64_t{(base_ + code) & 0x7f} << from |
                                    (noise & ((std::uint64_t{1} << from) - 1)));
    }
  }
  bits_type activation(std::uint64_t noise) const {
    // Half of the numbers have the exponent of 1, a quarter that of 1/2, and so on.
    std::uint32_t below = 0;
    for (std::uint64_t rest = noise >> 40; below < max_code / 2 && (rest & 1) != 0; rest >>= 1)
      ++below;
    return with_exponent(max_code / 2 - below, noise);
  }
  bits_type special(std::uint64_t noise) const {
    switch (noise % 64) {
      case 0:
        return Element::quiet_nan;
      case 1:
        return static_cast<bits_type>(with_exponent(max_code, noise >> 8) | sign);  // NaN payloads
      case 2:
        return with_exponent(max_code, 0);  // infinity, in e4m3 a number
      case 3:
        return static_cast<bits_type>(with_exponent(max_code, 0) | sign);
      case 4:
        return sign;  // -0
      case 5:
        return bits_type{1};  // the smallest number
      case 6:
        return with_exponent(0, noise >> 8);
      case 7:
        return with_exponent(max_code - 1, ~std::uint64_t{0});
      default:
        return activation(noise >> 6);
    }
  }
  bits_type make(std::uint64_t noise) {
    switch (kind_) {
      case fuzz_values::any:
        return static_cast<bits_type>(noise);
      case fuzz_values::non_negative:
        return static_cast<bits_type>(noise & ~std::uint64_t{sign});
      case fuzz_values::window3:
        return with_window(noise >> 29 & 7, noise);
      case fuzz_values::window4:
        return with_window(noise >> 28 & 15, noise);
      case fuzz_values::window_broken:
        return with_window((noise >> 32) % 600 == 0 ? 9 : noise >> 29 & 7, noise);
      case fuzz_values::spread:
        return with_exponent(static_cast<std::uint32_t>(++counter_) & max_code, noise);
      case fuzz_values::patterns:
        return static_cast<bits_type>(++counter_);
      case fuzz_values::specials:
        return special(noise);
      default:
        return activation(noise);
    }
  }

  fuzz_values kind_;
  std::uint32_t negatives_;
  std::uint64_t counter_;
  std::uint32_t base_;
};

/// Which values are not zero, asked in row-major order.
class position_stream {
 public:
  position_stream(fuzz_case const& c, random_bits& random)
      : kind_(c.positions),
        threshold_(static_cast<std::uint32_t>(c.density * 4294967295.0)),
        density_(c.density),
        run_(c.run_values),
        salt_(random.next()) {
    std::uint64_t const values = c.rows * c.cols;
    chosen_                    = values == 0 ? 0 : random.next() % values;
  }

  void begin_row(std::uint64_t row) { row_threshold_ = level(row); }
  bool is_kept(std::uint64_t col, std::uint64_t noise) {
    auto const chance = static_cast<std::uint32_t>(noise);
    switch (kind_) {
      case fuzz_positions::none:
        return false;
      case fuzz_positions::all:
        return true;
      case fuzz_positions::one:
        return index_++ == chosen_;
      case fuzz_positions::all_but_one:
        return index_++ != chosen_;
      case fuzz_positions::per_row:
        return chance < row_threshold_;
      case fuzz_positions::per_col:
        return chance < level(col);
      case fuzz_positions::clusters:  // aligned groups that are full or empty
        if (index_++ % run_ == 0) is_on_ = chance < threshold_;
        return is_on_;
      case fuzz_positions::runs:
        if (left_ == 0) {
          is_on_          = !is_on_;
          auto const most = 2 * run_ * (is_on_ ? density_ : 1 - density_) + 1;
          left_           = 1 + static_cast<std::uint64_t>(most * (chance >> 8) / (1 << 24));
        }
        --left_;
        return is_on_;
      default:
        return chance < threshold_;
    }
  }

 private:
  /// A row's or column's density: none, all, that of the case, or any.
  std::uint32_t level(std::uint64_t line) const {
    std::uint64_t const mixed = (line + salt_) * 0x9e3779b97f4a7c15u;
    switch (mixed >> 62) {
      case 0:
        return 0;
      case 1:
        return threshold_;
      case 2:
        return 0xffffffffu;
      default:
        return static_cast<std::uint32_t>(mixed >> 20);
    }
  }

  fuzz_positions kind_;
  std::uint32_t threshold_, row_threshold_ = 0;
  double density_;
  std::uint32_t run_;
  std::uint64_t salt_, chosen_ = 0, index_ = 0, left_ = 0;
  bool is_on_ = false;
};

/// Writes a case's rows x cols values, and nothing between the rows.
/// @param salt makes another matrix of the same case, such as its gradient
template <class Element>
void fill_values(fuzz_case const& c,
                 std::uint64_t salt,
                 typename Element::bits_type* data,
                 std::uint64_t ld) {
  random_bits random{c.seed * 0x9e3779b97f4a7c15u + c.number * 4 + salt};
  value_stream<Element> values(c, random);
  position_stream positions(c, random);
  for (std::uint64_t row = 0; row < c.rows; ++row) {
    positions.begin_row(row);
    auto* const to = data + row * ld;
    for (std::uint64_t col = 0; col < c.cols; ++col) {
      bool const is_kept = positions.is_kept(col, random.next() >> 32);
      to[col]            = is_kept ? values.next(random.next()) : typename Element::bits_type{0};
    }
  }
}

}  // namespace bitsparse_test
