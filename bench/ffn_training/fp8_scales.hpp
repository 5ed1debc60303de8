// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// One scale per kind of e4m3 matrix, fixed at set-up, the same in all modes.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <cstddef>

#include <bench/ffn_training/device_allocations.hpp>
#include <bench/ffn_training/initial_distribution.hpp>
#include <bench/ffn_training/shape.hpp>

namespace ffn {

/// Kinds of e4m3 matrices.
enum class scaled { norm, w1, w2, stored_r, activation, gradient, hidden_gradient, count };

inline constexpr auto num_scaled = static_cast<std::size_t>(scaled::count);

/// About the largest magnitude of each kind, from how weights and input are distributed. What is
/// larger saturates, in all modes alike.
std::array<double, num_scaled> largest_magnitudes(ffn_shape const& shape,
                                                  initial_distribution const& from);

/// Factors in device memory, each with its inverse.
class fp8_scales {
 public:
  explicit fp8_scales(device_allocations& memory);
  /// Makes the largest magnitudes the largest e4m3 number, 448. Synchronises.
  void set(std::array<double, num_scaled> const& largest, cudaStream_t stream);

  /// What values are multiplied with before they are rounded.
  float const* factor(scaled what) const { return values_ + slot_floats * place(what); }
  /// What a multiplication takes: it multiplies its sums with both operands' inverses.
  float const* inverse(scaled what) const { return factor(what) + slot_floats * num_scaled; }

 private:
  static constexpr std::size_t slot_floats = 4;  // 16 bytes, which cuBLASLt wants scales aligned to
  static std::size_t place(scaled what) { return static_cast<std::size_t>(what); }

  float* values_;
};

}  // namespace ffn
