// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The dense matrices of a case: where they lie in the image, what is in them, what is expected.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <tests/fuzz/device_fuzz/fuzz_types.cuh>
#include <tests/fuzz/device_fuzz/fuzz_worker.cuh>

namespace bitsparse_test {

/// The matrices of one decompression.
struct result_places {
  image_matrix first, turned, second;  // row-major, transposed; of an op with two results
};

template <class Types>
class dense_operands {
  using format      = typename Types::format;
  using element     = typename format::element;
  using bits_type   = typename format::bits_type;
  using source      = typename Types::source;
  using source_bits = typename source::bits_type;

  template <class Result>
  using traits                        = bitsparse::detail::result_traits<Result>;
  using first_traits                  = traits<typename Types::first>;
  using first_element                 = typename first_traits::element;
  using first_bits                    = typename first_element::bits_type;
  static constexpr bool emits         = bitsparse::detail::is_present<typename Types::emitted>;
  static constexpr bool has_gradient  = bitsparse::detail::is_present<typename Types::gradient>;
  static constexpr bool has_second    = bitsparse::detail::is_present<typename Types::second>;
  static constexpr bool is_row_major  = first_traits::is_row_major;
  static constexpr bool is_transposed = first_traits::is_transposed;
  static constexpr bool is_scaled     = !Types::stores_bits && element::value_bits == 8;
  using emitted_element               = std::conditional_t<emits, typename Types::emitted, element>;
  using gradient_element = std::conditional_t<has_gradient, typename Types::gradient, element>;
  using second_element   = std::conditional_t<has_second, typename Types::second, element>;

 public:
  dense_operands(fuzz_worker& worker, fuzz_case const& c)
      : w_(worker), image_(worker.image), c_(c) {}

  // -----------------------------------------------------------------------------------------------
  // Layout and contents
  // -----------------------------------------------------------------------------------------------

  void add_sources() {
    source_ =
        image_.add_matrix<source_bits>("source", c_.rows, c_.cols, c_.source_ld, c_.source_offset);
    fill_values<source>(c_, 0, data<source_bits>(source_), source_.ld);
    if (c_.valid_rows != all_rows) {
      count_     = image_.add("number of rows", sizeof(std::uint32_t));
      auto count = static_cast<std::uint32_t>(c_.valid_rows);
      std::memcpy(image_.uploaded(count_), &count, sizeof(count));
    }
    if constexpr (is_scaled) {
      factors_              = image_.add("scales", 2 * sizeof(float));
      float const scales[2] = {scale(), emitted_scale()};
      std::memcpy(image_.uploaded(factors_), scales, sizeof(scales));
    }
    if constexpr (has_gradient) {
      using bits = typename gradient_element::bits_type;
      gradient_ =
          image_.add_matrix<bits>("gradient", c_.rows, c_.cols, c_.target_ld, c_.target_offset);
      fill_values<gradient_element>(c_, 1, data<bits>(gradient_), gradient_.ld);
    }
  }
  /// What the tensor is to hold, in host memory.
  bitsparse::const_matrix_view<element> make_stored() {
    if constexpr (Types::stores_bits) {
      if (c_.valid_rows >= c_.rows) return {data<bits_type>(source_), c_.rows, c_.cols, source_.ld};
    }
    auto* const to = w_.template stored<bits_type>();
    for (std::uint64_t row = 0; row < c_.rows; ++row) {
      for (std::uint64_t col = 0; col < c_.cols; ++col)
        to[row * c_.cols + col] =
            row < c_.valid_rows ? stored_of(source_at(row, col)) : bits_type{0};
    }
    return {to, c_.rows, c_.cols, c_.cols};
  }
  /// @param again a second set, for a read that gives nothing
  void add_results(bool again) {
    if constexpr (emits) {
      emitted_ = image_.add_matrix<typename emitted_element::bits_type>(
          "what is emitted", c_.rows, c_.cols, c_.target_ld, c_.target_offset);
    }
    add_places(results_);
    if (again) add_places(again_);
  }
  /// When the image is closed.
  void expect_results(bool again) {
    if constexpr (emits) {
      image_.expect_result<typename emitted_element::bits_type>(
          emitted_, c_.valid_rows, [&](std::uint64_t row, std::uint64_t col) {
            float const made =
                host_op<typename Types::forward_op>::forward(number_of<source>(source_at(row, col)))
                    .second;
            return bits_of<emitted_element>(is_scaled ? made * emitted_scale() : made);
          });
    }
    expect_places(results_,
                  [&](std::uint64_t row, std::uint64_t col) { return restored(row, col); });
    if (!again) return;
    expect_places(again_, [](std::uint64_t, std::uint64_t) {
      return results{first_element::quiet_nan, second_element::quiet_nan};
    });
  }
  void expect_lost(std::vector<bool> const& is_lost) {
    std::uint64_t const valid = rows_of_read();
    if constexpr (is_row_major)
      bitsparse_test::expect_lost<format, first_element>(
          image_, results_.first, false, valid, is_lost);
    if constexpr (is_transposed)
      bitsparse_test::expect_lost<format, first_element>(
          image_, results_.turned, true, valid, is_lost);
    if constexpr (has_second)
      bitsparse_test::expect_lost<format, second_element>(
          image_, results_.second, false, valid, is_lost);
  }
  /// Which NaN an operation makes is the hardware's choice.
  void accept_nans() {
    if constexpr (emits)
      image_.accept_nans<typename emitted_element::bits_type>(emitted_,
                                                              nan_test<emitted_element>{});
    if constexpr (!Types::restores_bits) {
      image_.accept_nans<first_bits>(results_.first, nan_test<first_element>{});
      if constexpr (has_second)
        image_.accept_nans<typename second_element::bits_type>(results_.second,
                                                               nan_test<second_element>{});
    }
  }

  // -----------------------------------------------------------------------------------------------
  // On the device
  // -----------------------------------------------------------------------------------------------

  bitsparse::compress_operands<source, typename Types::emitted> operands_of_compress() const {
    bitsparse::compress_operands<source, typename Types::emitted> operands;
    operands.source   = {on_device<source_bits>(source_.at), c_.rows, c_.cols, source_.ld};
    operands.num_rows = count();
    if constexpr (emits) {
      operands.emitted = {on_device<typename emitted_element::bits_type>(emitted_.at),
                          c_.rows,
                          c_.cols,
                          emitted_.ld};
    }
    if constexpr (is_scaled) {
      operands.scale = on_device<float>(factors_);
      if constexpr (emits) operands.emitted_scale = on_device<float>(factors_) + 1;
    }
    return operands;
  }
  /// Of rows [first, end).
  bitsparse::
      decompress_operands<typename Types::first, typename Types::gradient, typename Types::second>
      operands_of_read(std::uint64_t first, std::uint64_t end, bool again) const {
    bitsparse::
        decompress_operands<typename Types::first, typename Types::gradient, typename Types::second>
            operands;
    result_places const& to  = again ? again_ : results_;
    std::uint64_t const rows = end - first;
    bitsparse::matrix_view<first_element> const row_major{
        on_device<first_bits>(to.first.at) + first * to.first.ld, rows, c_.cols, to.first.ld};
    bitsparse::matrix_view<first_element> const turned{
        on_device<first_bits>(to.turned.at) + first, c_.cols, rows, to.turned.ld};
    if constexpr (is_row_major && is_transposed) {
      operands.first = {row_major, turned};
    } else if constexpr (is_transposed) {
      operands.first = turned;
    } else {
      operands.first = row_major;
    }
    if constexpr (has_gradient) {
      operands.gradient = {
          on_device<typename gradient_element::bits_type>(gradient_.at) + first * gradient_.ld,
          rows,
          c_.cols,
          gradient_.ld};
    }
    if constexpr (has_second) {
      operands.second = {
          on_device<typename second_element::bits_type>(to.second.at) + first * to.second.ld,
          rows,
          c_.cols,
          to.second.ld};
    }
    operands.first_row = first;
    operands.num_rows  = c_.counts_on_read ? count() : nullptr;
    return operands;
  }
  /// What the tensor's values were multiplied with.
  float scale() const { return is_scaled ? 0.25f * static_cast<float>(1 + c_.part % 5) : 1.0f; }
  /// How many rows a read gives.
  std::uint64_t rows_of_read() const {
    return c_.counts_on_read ? std::min(c_.valid_rows, c_.rows) : c_.rows;
  }

 private:
  struct results {
    first_bits first;
    typename second_element::bits_type second;
  };

  float emitted_scale() const { return 0.5f * static_cast<float>(1 + c_.split % 3); }
  template <class Bits>
  Bits* data(image_matrix const& matrix) const {
    return reinterpret_cast<Bits*>(image_.uploaded(matrix.at));
  }
  template <class T>
  T* on_device(std::size_t at) const {
    return reinterpret_cast<T*>(w_.device(at));
  }
  std::uint32_t const* count() const {
    return c_.valid_rows == all_rows ? nullptr : on_device<std::uint32_t>(count_);
  }
  source_bits source_at(std::uint64_t row, std::uint64_t col) const {
    return data<source_bits>(source_)[row * source_.ld + col];
  }
  bits_type stored_of(source_bits bits) const {
    if constexpr (Types::stores_bits) {
      return bits;
    } else {
      float const made =
          host_op<typename Types::forward_op>::forward(number_of<source>(bits)).first;
      return bits_of<element>(is_scaled ? made * scale() : made);
    }
  }
  results restored(std::uint64_t row, std::uint64_t col) const {
    bits_type const bits = row < c_.valid_rows ? stored_of(source_at(row, col)) : bits_type{0};
    if constexpr (Types::restores_bits) {
      return {bits, {}};
    } else {
      using gradient_bits    = typename gradient_element::bits_type;
      gradient_bits const g  = data<gradient_bits>(gradient_)[row * gradient_.ld + col];
      two_numbers const made = host_op<typename Types::backward_op>::backward(
          number_of<element>(bits), number_of<gradient_element>(g));
      return {bits_of<first_element>(made.first), bits_of<second_element>(made.second)};
    }
  }
  void add_places(result_places& places) {
    if constexpr (is_row_major)
      places.first =
          image_.add_matrix<first_bits>("result", c_.rows, c_.cols, c_.target_ld, c_.target_offset);
    if constexpr (is_transposed) {
      std::uint64_t const ld =
          (c_.rows + 15) / 16 * 16 + (c_.target_ld == c_.cols ? 0 : c_.target_ld % 24);
      places.turned = image_.add_matrix<first_bits>(
          "transposed result", c_.cols, c_.rows, ld, c_.target_offset);
    }
    if constexpr (has_second) {
      places.second = image_.add_matrix<typename second_element::bits_type>(
          "second result", c_.rows, c_.cols, c_.target_ld, c_.target_offset);
    }
  }
  template <class ResultsOf>
  void expect_places(result_places const& places, ResultsOf results_of) {
    std::uint64_t const valid = rows_of_read();
    if constexpr (is_row_major) {
      image_.expect_result<first_bits>(
          places.first, valid, [&](std::uint64_t row, std::uint64_t col) {
            return results_of(row, col).first;
          });
    }
    if constexpr (is_transposed) {  // of which the valid rows are the first columns
      image_matrix part = places.turned;
      part.cols         = std::min(part.cols, valid);
      image_.expect_result<first_bits>(part, all_rows, [&](std::uint64_t row, std::uint64_t col) {
        return results_of(col, row).first;
      });
    }
    if constexpr (has_second) {
      image_.expect_result<typename second_element::bits_type>(
          places.second, valid, [&](std::uint64_t row, std::uint64_t col) {
            return results_of(row, col).second;
          });
    }
  }

  fuzz_worker& w_;
  fuzz_image& image_;
  fuzz_case const& c_;
  image_matrix source_, gradient_, emitted_;
  result_places results_, again_;
  std::size_t count_ = 0, factors_ = 0;
};

}  // namespace bitsparse_test
