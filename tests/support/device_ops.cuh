// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Fused ops against the same expression computed on the host, value by value: what is stored by the
/// host codec's chunks, what is emitted and restored bit by bit.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <tests/support/device_round_trip.cuh>
#include <tests/support/values.hpp>

namespace bitsparse_test {

// -------------------------------------------------------------------------------------------------
// Numbers
// -------------------------------------------------------------------------------------------------

/// A value's number, by CUDA's host functions.
template <class Element>
float number_of(typename Element::bits_type bits) {
  if constexpr (Element::value_bits == 32) {
    float number;
    std::memcpy(&number, &bits, sizeof(number));
    return number;
  } else if constexpr (Element::id == bitsparse::element_id::bf16) {
    return __bfloat162float(__ushort_as_bfloat16(bits));
  } else if constexpr (Element::id == bitsparse::element_id::fp16) {
    return __half2float(__ushort_as_half(bits));
  } else {
    constexpr auto kind = Element::id == bitsparse::element_id::fp8_e4m3 ? __NV_E4M3 : __NV_E5M2;
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(bits, kind)));
  }
}

/// A number rounded to the element, by CUDA's host functions.
template <class Element>
typename Element::bits_type bits_of(float number) {
  if constexpr (Element::value_bits == 32) {
    std::uint32_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    return bits;
  } else if constexpr (Element::id == bitsparse::element_id::bf16) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(number));
  } else if constexpr (Element::id == bitsparse::element_id::fp16) {
    return __half_as_ushort(__float2half_rn(number));
  } else {
    constexpr auto kind = Element::id == bitsparse::element_id::fp8_e4m3 ? __NV_E4M3 : __NV_E5M2;
    return __nv_cvt_float_to_fp8(number, __NV_SATFINITE, kind);
  }
}

/// Equal bits, or both no number: which NaN an operation makes is the hardware's choice.
template <class Element>
bool is_same_value(typename Element::bits_type a, typename Element::bits_type b) {
  return a == b || (std::isnan(number_of<Element>(a)) && std::isnan(number_of<Element>(b)));
}

/// Normal numbers around a mean, and now and then one that is special.
template <class Element>
test_matrix<Element> random_numbers(std::uint64_t rows,
                                    std::uint64_t cols,
                                    float mean,
                                    std::uint64_t seed,
                                    std::uint64_t ld     = 0,
                                    std::uint64_t offset = 0) {
  test_matrix<Element> matrix{rows, cols, ld, offset};
  normal_numbers normal{seed};
  random_bits random{seed + 1};
  float const special[] = {0.0f, -0.0f, 1e-41f, -1e-41f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN};
  for (std::uint64_t r = 0; r < rows; ++r) {
    for (std::uint64_t c = 0; c < cols; ++c) {
      float const number = random.below(97) == 0 ? special[random.below(9)]
                                                 : static_cast<float>(normal.next()) + mean;
      matrix.at(r, c)    = bits_of<Element>(number);
    }
  }
  return matrix;
}

/// A float in device memory, or none.
class device_factor {
 public:
  explicit device_factor(float value) : value_(value) {
    if (value == 0) return;
    require_cuda(cudaMalloc(&data_, sizeof(float)), "cudaMalloc");
    set(value);
  }
  ~device_factor() { cudaFree(data_); }
  device_factor(device_factor const&)            = delete;
  device_factor& operator=(device_factor const&) = delete;
  void set(float value) {
    require_cuda(cudaMemcpy(data_, &value, sizeof(value), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  float const* data() const { return data_; }
  float value() const { return value_ == 0 ? 1.0f : value_; }

 private:
  float value_;
  float* data_ = nullptr;
};

/// A number of rows in device memory; none if it is all of them.
class device_count {
 public:
  device_count(std::uint64_t count, std::uint64_t all) {
    if (count == all) return;
    auto const value = static_cast<std::uint32_t>(count);
    require_cuda(cudaMalloc(&data_, sizeof(value)), "cudaMalloc");
    require_cuda(cudaMemcpy(data_, &value, sizeof(value), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~device_count() { cudaFree(data_); }
  device_count(device_count const&)            = delete;
  device_count& operator=(device_count const&) = delete;
  std::uint32_t const* data() const { return data_; }

 private:
  std::uint32_t* data_ = nullptr;
};

template <class Element>
typename Element::bits_type* device_data(device_buffer& buffer) {
  return reinterpret_cast<typename Element::bits_type*>(buffer.data());
}

/// Brings a matrix's device twin back into it.
template <class Element>
void bring_back(test_matrix<Element>& matrix, device_buffer& device) {
  std::memcpy(matrix.buffer().whole(), device.download().whole(), matrix.buffer().whole_bytes());
}

// -------------------------------------------------------------------------------------------------
// Forward
// -------------------------------------------------------------------------------------------------

/// What a case of compress with an op varies.
struct forward_case {
  float scale            = 0;  // 0: none
  float emitted_scale    = 0;
  std::uint64_t num_rows = ~std::uint64_t{0};  // valid ones
  bool in_place          = false;
  std::uint64_t gap      = 0;  // of the emitted matrix's rows
  std::uint64_t offset   = 0;  // of the emitted matrix
};

/// The two results of an op, as the host computes them.
struct two_numbers {
  float first, second;
};

/// @param tensor left as compress made it, for a backward case
/// @return the fault, or nothing
template <class Codec, class Op, class Emitted, class Format, class Source, class Reference>
std::string forward_fault(test_matrix<Source> const& source,
                          device_tensor<Format>& tensor,
                          test_matrix<typename Format::element>& stored,
                          forward_case const& variant,
                          Reference reference) {
  namespace bs             = bitsparse;
  using element            = typename Format::element;
  constexpr bool emits     = bs::detail::is_present<Emitted>;
  using emitted_element    = std::conditional_t<emits, Emitted, Source>;
  std::uint64_t const rows = source.rows(), cols = source.cols();
  std::uint64_t const valid = std::min(variant.num_rows, rows);
  device_factor scale{variant.scale}, emitted_scale{variant.emitted_scale};
  device_count count{valid, rows};

  test_matrix<emitted_element> emitted{rows, cols, cols + variant.gap, variant.offset};
  device_buffer dense{source.buffer()}, other{emitted.buffer()};
  bs::compress_operands<Source, Emitted> operands;
  operands.source = {device_data<Source>(dense), rows, cols, source.ld()};
  if constexpr (emits) {
    operands.emitted = {device_data<Emitted>(other), rows, cols, emitted.ld()};
    if (variant.in_place) operands.emitted = {device_data<Emitted>(dense), rows, cols, source.ld()};
    operands.emitted_scale = emitted_scale.data();
  }
  operands.scale        = scale.data();
  operands.num_rows     = count.data();
  bs::status const done = bs::compress<Codec, Op>(operands, tensor.view(), nullptr);
  if (!done.ok()) return done.text();
  if (scale.data() != nullptr) scale.set(-7);  // the tensor has its own by now

  auto const result_of = [&](std::uint64_t r, std::uint64_t c) {
    return reference(number_of<Source>(source.at(r, c)));
  };
  for (std::uint64_t r = 0; r < rows; ++r) {
    for (std::uint64_t c = 0; c < cols; ++c) {
      if (r >= valid) {
        stored.at(r, c) = 0;
      } else if constexpr (std::is_same_v<Op, bs::identity> && std::is_same_v<Source, element>) {
        stored.at(r, c) = source.at(r, c);
      } else {
        stored.at(r, c) = bits_of<element>(result_of(r, c).first * scale.value());
      }
    }
  }
  std::string const fault = compare_with_host<Format, Codec>(stored, tensor);
  if (!fault.empty()) return fault;

  test_matrix<emitted_element> got{rows, cols, emitted.ld(), variant.offset};
  test_matrix<Source> after{rows, cols, source.ld(), 0};
  if (variant.in_place) {
    dense.download();
    std::memcpy(after.buffer().data(), dense.host().data(), after.buffer().bytes());
    if (!dense.host().guards_intact() || !after.surroundings_intact())
      return "compress wrote outside its source's values";
  } else {
    bring_back(got, other);
    if (!got.surroundings_intact()) return "compress wrote outside what it emits";
    if (std::memcmp(
            dense.download().whole(), source.buffer().whole(), source.buffer().whole_bytes()) != 0)
      return "compress wrote into its source";
  }
  auto const* const in_place =
      reinterpret_cast<typename emitted_element::bits_type const*>(dense.host().data());
  for (std::uint64_t r = 0; r < rows && emits; ++r) {
    for (std::uint64_t c = 0; c < cols; ++c) {
      auto const bits = variant.in_place ? in_place[r * source.ld() + c] : got.at(r, c);
      auto want       = emitted.at(r, c);
      if (r < valid) {
        want = bits_of<emitted_element>(result_of(r, c).second * emitted_scale.value());
      } else if (variant.in_place) {
        std::memcpy(&want, &source.at(r, c), sizeof(want));
      }
      if (!is_same_value<emitted_element>(bits, want))
        return "emitted (" + std::to_string(r) + ", " + std::to_string(c) + ")";
    }
  }
  return {};
}

// -------------------------------------------------------------------------------------------------
// Backward
// -------------------------------------------------------------------------------------------------

/// What a case of decompress with an op varies.
struct backward_case {
  float first_scale           = 0;  // 0: none
  float second_scale          = 0;
  std::uint64_t first_row     = 0;
  std::uint64_t rows          = ~std::uint64_t{0};  // wanted ones
  std::uint64_t num_rows      = ~std::uint64_t{0};  // valid ones
  int in_place                = 0;  // which result is the gradient's matrix; 0: none
  std::uint64_t gap           = 0;  // of all matrices' rows
  std::uint64_t offset        = 0;  // of all matrices but the transposed ones
  std::uint64_t turned_gap    = 0;  // of a transposed matrix's rows, besides alignment
  std::uint64_t turned_offset = 0;
};

/// The matrices that a result is written to.
template <class Result>
class result_matrices {
 public:
  using traits  = bitsparse::detail::result_traits<Result>;
  using element = typename traits::element;

  result_matrices(std::uint64_t rows, std::uint64_t cols, backward_case const& variant)
      : row_major_(rows, cols, cols + variant.gap, variant.offset),
        turned_(cols, rows, (rows + 15) / 16 * 16 + variant.turned_gap, variant.turned_offset),
        row_major_device_(row_major_.buffer()),
        turned_device_(turned_.buffer()) {}

  /// @param in_place null, or the device's matrix to write to instead
  typename traits::view view(typename element::bits_type* in_place) {
    bitsparse::matrix_view<element> const row_major{
        in_place == nullptr ? device_data<element>(row_major_device_) : in_place,
        row_major_.rows(),
        row_major_.cols(),
        row_major_.ld()};
    bitsparse::matrix_view<element> const turned{
        device_data<element>(turned_device_), turned_.rows(), turned_.cols(), turned_.ld()};
    if constexpr (traits::is_row_major && traits::is_transposed) {
      return {row_major, turned};
    } else if constexpr (traits::is_row_major) {
      return row_major;
    } else {
      return turned;
    }
  }
  /// @param in_place null, or the device's matrix that was written to instead
  /// @param before its values, where it is not to be written
  /// @param expected(row, col) the bits to find
  template <class Before, class Expected>
  std::string fault(std::uint64_t valid_rows,
                    device_buffer* in_place,
                    Before const& before,
                    Expected expected) {
    test_matrix<element> const poison{row_major_.rows(), row_major_.cols(), row_major_.ld(), 0};
    bring_back(row_major_, in_place == nullptr ? row_major_device_ : *in_place);
    bring_back(turned_, turned_device_);
    if (!row_major_.surroundings_intact() || !turned_.surroundings_intact())
      return "wrote outside the values";
    for (std::uint64_t r = 0; r < row_major_.rows(); ++r) {
      for (std::uint64_t c = 0; c < row_major_.cols(); ++c) {
        bool const valid = r < valid_rows;
        auto const want  = valid ? expected(r, c) : typename element::bits_type{};
        auto const has   = [&](auto bits, bool written) {
          if (written) return is_same_value<element>(bits, want);
          return bits == (in_place != nullptr
                                ? static_cast<typename element::bits_type>(before.at(r, c))
                                : poison.at(r, c));
        };
        bool const turned_is_right = valid && traits::is_transposed
                                         ? is_same_value<element>(turned_.at(c, r), want)
                                         : turned_.at(c, r) == poison.at(r, c);
        if (!has(row_major_.at(r, c), valid && traits::is_row_major) || !turned_is_right) {
          return "(" + std::to_string(r) + ", " + std::to_string(c) + ")";
        }
      }
    }
    return {};
  }

 private:
  test_matrix<element> row_major_, turned_;
  device_buffer row_major_device_, turned_device_;
};

/// @param stored the tensor's content @param scale that it was multiplied with
/// @return the fault, or nothing
template <class Op, class First, class Gradient, class Second, class Format, class Reference>
std::string backward_fault(device_tensor<Format>& tensor,
                           test_matrix<typename Format::element> const& stored,
                           float scale,
                           backward_case const& variant,
                           Reference reference) {
  namespace bs              = bitsparse;
  using element             = typename Format::element;
  constexpr bool has_second = bs::detail::is_present<Second>;
  using gradient_element = std::conditional_t<bs::detail::is_present<Gradient>, Gradient, bs::bf16>;
  using second_result    = std::conditional_t<has_second, Second, bs::bf16>;
  std::uint64_t const cols = stored.cols();
  std::uint64_t const rows = std::min(variant.rows, stored.rows() - variant.first_row);
  std::uint64_t const all  = std::min(variant.num_rows, stored.rows());
  std::uint64_t const valid =
      all <= variant.first_row ? 0 : std::min(rows, all - variant.first_row);
  device_factor first_scale{variant.first_scale}, second_scale{variant.second_scale};
  device_count count{all, stored.rows()};

  auto const gradient = random_numbers<gradient_element>(
      rows, cols, 0, 77 + rows, cols + variant.gap, variant.offset);
  device_buffer gradient_device{gradient.buffer()};
  auto* const gradient_data = device_data<gradient_element>(gradient_device);
  result_matrices<First> first{rows, cols, variant};
  result_matrices<second_result> second{rows, cols, variant};

  bs::decompress_operands<First, Gradient, Second> operands;
  using first_bits  = typename result_matrices<First>::element::bits_type;
  using second_bits = typename result_matrices<second_result>::element::bits_type;
  operands.first =
      first.view(variant.in_place == 1 ? reinterpret_cast<first_bits*>(gradient_data) : nullptr);
  if constexpr (has_second) {
    operands.second = second.view(
        variant.in_place == 2 ? reinterpret_cast<second_bits*>(gradient_data) : nullptr);
    operands.second_scale = second_scale.data();
  }
  if constexpr (bs::detail::is_present<Gradient>)
    operands.gradient = {gradient_data, rows, cols, gradient.ld()};
  operands.first_scale  = first_scale.data();
  operands.first_row    = variant.first_row;
  operands.num_rows     = count.data();
  bs::status const done = bs::decompress<Op>(tensor.view(), operands, nullptr);
  if (!done.ok()) return done.text();

  float const inverse = element::value_bits == 8 ? 1.0f / scale : 1.0f;  // as it is promised
  auto const made     = [&](std::uint64_t r, std::uint64_t c) -> two_numbers {
    return reference(number_of<element>(stored.at(variant.first_row + r, c)) * inverse,
                     number_of<gradient_element>(gradient.at(r, c)));
  };
  std::string fault = first.fault(
      valid, variant.in_place == 1 ? &gradient_device : nullptr, gradient, [&](auto r, auto c) {
        using to = typename result_matrices<First>::element;
        if constexpr (bs::detail::
                          keeps_bits<Format, typename bs::detail::results_of<Op>::first, First>) {
          return stored.at(variant.first_row + r, c);
        } else {
          return bits_of<to>(made(r, c).first * first_scale.value());
        }
      });
  if (!fault.empty()) return "first result " + fault;
  if constexpr (has_second) {
    fault = second.fault(
        valid, variant.in_place == 2 ? &gradient_device : nullptr, gradient, [&](auto r, auto c) {
          return bits_of<typename result_matrices<Second>::element>(made(r, c).second *
                                                                    second_scale.value());
        });
    if (!fault.empty()) return "second result " + fault;
  }
  if (variant.in_place == 0 && std::memcmp(gradient_device.download().whole(),
                                           gradient.buffer().whole(),
                                           gradient.buffer().whole_bytes()) != 0)
    return "decompress wrote into the gradient";
  if (tensor.state().conditions != 0) return "decompress raised a condition";
  return {};
}

}  // namespace bitsparse_test
