// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// compress and decompress with fused ops and per-tensor scales, for 8-bit floats.
#include <cmath>
#include <cstdint>
#include <string>

#include <tests/support/catch.hpp>
#include <tests/support/device_ops.cuh>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

/// A NaN becomes CUDA's.
float relu_of(float x) {
  return std::isnan(x) ? number_of<bs::fp32>(0x7fffffffu) : x <= 0 ? 0.0f : x;
}

struct shape {
  std::uint64_t rows, cols, gap, offset;
};
constexpr shape shapes[] = {
    {64, 512, 0, 0}, {64 + 5, 256 + 48, 32, 0}, {32 + 3, 512 + 7, 2, 3}, {1, 1, 0, 1}};

/// bf16 -> Element with a scale -> back with gradients, two results both ways; on all shapes.
template <class Element>
std::string round_trip_fault() {
  using format = bs::default_format<Element>;
  for (shape const& s : shapes) {
    auto const source =
        random_numbers<bs::bf16>(s.rows, s.cols, -0.4f, s.rows, s.cols + s.gap, s.offset);
    for (float const scale : {0.0f, 40.0f, 0.3f}) {
      device_tensor<format> tensor{s.rows, s.cols, bs::max_payload_bytes<format>(s.rows, s.cols)};
      test_matrix<Element> stored{s.rows, s.cols};
      forward_case forward;
      forward.scale         = scale;
      forward.emitted_scale = 3.5f;
      forward.num_rows      = scale == 0.3f ? s.rows / 2 : s.rows;
      forward.gap           = s.gap;
      forward.offset        = s.offset;
      std::string fault     = forward_fault<bs::codec::sign, bs::relu_squared, Element>(
          source, tensor, stored, forward, [](float x) {
            return two_numbers{relu_of(x), relu_of(x) * relu_of(x)};
          });
      if (!fault.empty()) return "forward: " + fault;

      backward_case backward;
      backward.first_scale  = 2.5f;
      backward.second_scale = 60.0f;
      backward.gap          = s.gap;
      backward.offset       = s.offset;
      float const used      = scale == 0 ? 1.0f : scale;
      auto const both       = [](float r, float g) {
        return two_numbers{r * r, r <= 0 ? 0.0f : 2 * r * g};
      };
      fault = backward_fault<bs::square_and_gradient,
                             bs::transposed<Element>,
                             bs::bf16,
                             bs::both_ways<Element>>(tensor, stored, used, backward, both);
      if (!fault.empty()) return "both ways: " + fault;
      backward.first_scale = backward.second_scale = 0;
      backward.in_place                            = 2;
      fault = backward_fault<bs::square_and_gradient, bs::bf16, bs::bf16, bs::bf16>(
          tensor, stored, used, backward, both);
      if (!fault.empty()) return "bf16 results: " + fault;
      backward.in_place = 0;
      fault             = backward_fault<bs::identity, bs::both_ways<Element>, bs::none, bs::none>(
          tensor, stored, used, backward, [](float s8, float) {
            return two_numbers{s8, 0};
          });
      if (!fault.empty()) return "bits: " + fault;
      fault = backward_fault<bs::identity, bs::fp32, bs::none, bs::none>(
          tensor, stored, used, backward, [](float s8, float) {
            return two_numbers{s8, 0};
          });
      if (!fault.empty()) return "numbers: " + fault;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("ops: bf16 activations kept as e4m3, with scales", "[device][op]") {
  CHECK(round_trip_fault<bs::fp8_e4m3>() == "");
}

TEST_CASE("ops: bf16 activations kept as e5m2, with scales", "[device][op]") {
  CHECK(round_trip_fault<bs::fp8_e5m2>() == "");
}

TEST_CASE("compress: a positive number that rounds to 0 is stored as 0", "[device][op]") {
  using format = bs::default_format<bs::fp8_e4m3>;
  test_matrix<bs::bf16> source{format::rows, format::cols};
  for (std::uint64_t r = 0; r < source.rows(); ++r) {
    for (std::uint64_t c = 0; c < source.cols(); ++c) source.at(r, c) = bits_of<bs::bf16>(1e-4f);
  }
  device_tensor<format> tensor{source.rows(), source.cols(), 0};
  test_matrix<bs::fp8_e4m3> stored{source.rows(), source.cols()};
  CHECK(forward_fault<bs::codec::sign, bs::relu, bs::none>(
            source, tensor, stored, forward_case{}, [](float x) {
              return two_numbers{x, x};
            }) == "");
  CHECK(tensor.state().cursor_units == 0);
}

TEST_CASE("compress: a scale is refused where bits are moved as they are", "[device][op]") {
  using format = bs::default_format<bs::fp8_e4m3>;
  device_tensor<format> tensor{32, 256, 32 * 256};
  device_buffer a{32 * 256}, scale{4};
  bs::compress_operands<bs::fp8_e4m3> operands;
  operands.source = {device_data<bs::fp8_e4m3>(a), 32, 256, 256};
  operands.scale  = reinterpret_cast<float const*>(scale.data());
  CHECK(std::string{
            bs::compress<bs::codec::sign, bs::identity>(operands, tensor.view(), nullptr).text()} ==
        bs::detail::no_scale_text);
}
