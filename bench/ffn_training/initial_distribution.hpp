// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// How weights and input are distributed at the start, so that a wanted share of the activations is
/// 0; and what follows for the sizes of all that a step computes.
#pragma once

#include <vector>

#include <bench/ffn_training/shape.hpp>

namespace ffn {

/// The input's constant part; its random part has deviation 1.
inline constexpr double usual_constant_part = 0.25;

/// Each layer moves x by `layer_deviation` of its random part.
inline constexpr double layer_deviation = 0.2;

/// Normal distributions.
struct initial_distribution {
  double z            = 0;  // h has deviation 1 around -z
  double w1_deviation = 0, w2_deviation = 0;
  std::vector<double> w1_means;  // (layers,); W2's is 0
};

/// x has a constant part c, so n has about rho = c / sqrt(mean(x^2)), and W1 a mean of
/// -z / (width rho): then h is normal with deviation 1 around -z.
/// @param zeros the share of activations that are to be 0
initial_distribution make_distribution(ffn_shape const& shape, double zeros);

}  // namespace ffn
