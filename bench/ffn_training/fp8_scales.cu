// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// One scale per kind of e4m3 matrix, fixed at set-up.
#include <bench/ffn_training/fp8_scales.hpp>

#include <algorithm>
#include <cmath>

namespace ffn {
namespace {

constexpr double largest_e4m3 = 448;
/// No normal number of fill_normal() is further from the mean, in deviations: sqrt(2 ln 2^25) = 5.9.
constexpr double reach = 6;

}  // namespace

/// - n has a root mean square of 1.
/// - h is normal with deviation 1 around -z; of 10^12 values one is more than 7 above that.
/// - The loss's gradient at x is (x - target) / tokens, with x normal around c, the target around 0.
///   The layers add about 5 % each to its square: half as much again is left for that.
/// - The gradient at the activation is one of that through W2: independent, so its deviation is
///   sqrt(width) as large. ReLU² multiplies it by 2 r: both seldom are at their largest together.
std::array<double, num_scaled> largest_magnitudes(ffn_shape const& shape,
                                                  initial_distribution const& from) {
  constexpr double c        = usual_constant_part;
  double const largest_mean = std::abs(
      *std::min_element(from.w1_means.begin(), from.w1_means.end(), [](double a, double b) {
        return std::abs(a) > std::abs(b);
      }));
  double const r        = std::max(1.0, 7 - from.z);
  double const drift    = shape.layers * layer_deviation * layer_deviation;
  double const gradient = 1.5 * std::sqrt(2 + c * c + drift) / static_cast<double>(shape.tokens);
  double const at_activation =
      gradient * std::sqrt(static_cast<double>(shape.width)) * from.w2_deviation;
  bool const is_squared = shape.act == activation::relu_squared;
  std::array<double, num_scaled> largest{};
  auto const set = [&](scaled what, double value) {
    largest[static_cast<std::size_t>(what)] = value;
  };
  set(scaled::norm, reach + 2);
  set(scaled::w1, largest_mean + reach * from.w1_deviation);
  set(scaled::w2, reach * from.w2_deviation);
  set(scaled::stored_r, r);
  set(scaled::activation, is_squared ? r * r : r);
  set(scaled::gradient, (reach + 2) * gradient);
  set(scaled::hidden_gradient, at_activation * (is_squared ? reach * r : reach + 2));
  return largest;
}

fp8_scales::fp8_scales(device_allocations& memory)
    : values_(memory.allocate<float>(category::other, 2 * num_scaled * slot_floats)) {}

void fp8_scales::set(std::array<double, num_scaled> const& largest, cudaStream_t stream) {
  std::array<float, 2 * num_scaled * slot_floats> values{};
  for (std::size_t i = 0; i < num_scaled; ++i) {
    auto const factor                      = static_cast<float>(largest_e4m3 / largest[i]);
    values[slot_floats * i]                = factor;
    values[slot_floats * (num_scaled + i)] = 1.0f / factor;
  }
  require_cuda(
      cudaMemcpyAsync(values_, values.data(), sizeof(values), cudaMemcpyHostToDevice, stream),
      "cudaMemcpyAsync");
  require_cuda(cudaStreamSynchronize(stream), "scales");
}

}  // namespace ffn
