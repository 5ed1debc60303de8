// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// How weights and input are distributed at the start.
#include <bench/ffn_training/initial_distribution.hpp>

#include <algorithm>
#include <cmath>

namespace ffn {
namespace {

/// The share of a standard normal number below z.
double normal_share(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}
double normal_quantile(double share) {
  double low = -8, high = 8;
  for (int i = 0; i < 100; ++i) {
    double const middle                         = (low + high) / 2;
    (normal_share(middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}
/// The mean of max(X - z, 0)^power over standard normal X.
double relu_moment(double z, int power) {
  constexpr double step = 1e-3, pi = 3.14159265358979323846;
  double sum = 0;
  for (double x = std::max(z, -9.0); x < 9; x += step) {
    sum += std::pow(x - z, power) * std::exp(-x * x / 2) / std::sqrt(2 * pi) * step;
  }
  return sum;
}

}  // namespace

initial_distribution make_distribution(ffn_shape const& shape, double zeros) {
  constexpr double c = usual_constant_part;
  initial_distribution result;
  result.z                 = normal_quantile(zeros);
  auto const width         = static_cast<double>(shape.width);
  double const square_mean = relu_moment(result.z, shape.act == activation::relu ? 2 : 4);
  result.w1_deviation      = 1 / std::sqrt(width);
  result.w2_deviation =
      layer_deviation / std::sqrt(static_cast<double>(shape.hidden) * square_mean);
  for (int layer = 0; layer < shape.layers; ++layer) {
    double const rho = c / std::sqrt(1 + c * c + layer * layer_deviation * layer_deviation);
    result.w1_means.push_back(-result.z / (width * rho));
  }
  return result;
}

}  // namespace ffn
