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
/// No number of fill_normal() is more deviations away from the mean: sqrt(2 ln 2^25) is the limit.
constexpr double reach = 6;

}  // namespace

/// - n has a root mean square of 1.
/// - h is normal with deviation 1 around -z; of 10^12 values one is more than 7 above that.
/// - The loss's gradient at x is (x - target) / tokens, with x normal around c, target around 0.
///   The layers add to it: little where half of the activations are 0; where 95 % are, six times as
///   much in eight layers, with long tails. So 96 deviations are the largest number: with 15
///   binades below it, e4m3 has room.
/// - The gradient at the activation is that times W2: sums of `width` products. ReLU² multiplies it
///   by 2 r, but both are seldom at their largest together.
std::array<double, num_scaled> largest_magnitudes(ffn_shape const& shape,
                                                  initial_distribution const& from) {
  constexpr double c = usual_constant_part;
  double w1          = 0;
  for (double const mean : from.w1_means) w1 = std::max(w1, std::abs(mean));
  double const r        = std::max(1.0, 7 - from.z);
  double const drift    = shape.layers * layer_deviation * layer_deviation;
  double const gradient = std::sqrt(2 + c * c + drift) / static_cast<double>(shape.tokens);
  double const at_activation =
      gradient * std::sqrt(static_cast<double>(shape.width)) * from.w2_deviation;
  bool const is_squared = shape.act == activation::relu_squared;
  std::array<double, num_scaled> largest{};
  auto const set = [&](scaled what, double value) {
    largest[static_cast<std::size_t>(what)] = value;
  };
  set(scaled::norm, reach + 2);
  set(scaled::w1, w1 + reach * from.w1_deviation);
  set(scaled::w2, reach * from.w2_deviation);
  set(scaled::stored_r, r);
  set(scaled::activation, is_squared ? r * r : r);
  set(scaled::gradient, 96 * gradient);
  set(scaled::hidden_gradient, at_activation * (is_squared ? 6 * reach * r : 8 * reach));
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
