// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The modes that bitsparse is compared with, in e4m3: dense activations, and recomputation.
#include <bench/ffn_training/fp8_element_wise.cuh>
#include <bench/ffn_training/fp8_storage.hpp>

namespace ffn {
namespace {

bool is_squared(fp8_network const& of) {
  return of.shape().act == activation::relu_squared;
}
std::uint64_t num_values(fp8_network const& of, row_range const& rows) {
  return rows.rows * of.shape().hidden;
}

/// From r and the network's gradient at the activation.
hidden_operands fp8_backward(
    fp8_network& of, int layer, row_range const& rows, e4m3 const* r, cudaStream_t stream) {
  bf16* const gradient = of.hidden[0];
  of.activation_gradient(layer, rows, gradient, {}, stream);
  turned_backward_params params{};
  params.stored            = r;
  params.gradient          = gradient;
  params.turned_activation = of.activation;
  params.gradient_at_h     = of.hidden_gradient;
  params.stored_scale      = of.scales().factor(scaled::stored_r);
  params.activation_scale  = of.scales().factor(scaled::activation);
  params.gradient_scale    = of.scales().factor(scaled::hidden_gradient);
  params.rows              = rows.rows;
  params.cols              = of.shape().hidden;
  if (is_squared(of)) {
    turned_backward<squared_turned>(params, stream);
  } else {
    turned_backward<relu_turned>(params, stream);
  }
  return {of.activation, of.hidden_gradient.row_major, of.hidden_gradient.turned};
}

class fp8_dense_storage : public activation_storage {
 public:
  fp8_dense_storage(fp8_network& of, dense_matrices& matrices)
      : network_(of), matrices_(matrices) {}

  /// ReLU's activation is r, and both have one scale: r is stored once, for both.
  void const* forward(int layer, row_range const& rows, cudaStream_t stream) override {
    bf16* const h             = network_.hidden[0];
    e4m3* const saved         = matrix(layer, rows);
    auto const& scales        = network_.scales();
    std::uint64_t const count = num_values(network_, rows);
    network_.up(layer, rows, h, {}, stream);
    if (!is_squared(network_)) {
      fp8_map<storing_r>(h, {saved}, {scales.factor(scaled::stored_r)}, count, stream);
      return saved;
    }
    fp8_map<storing_r_emitting_square>(
        h,
        {saved, network_.activation},
        {scales.factor(scaled::stored_r), scales.factor(scaled::activation)},
        count,
        stream);
    return network_.activation;
  }
  hidden_operands backward(int layer, row_range const& rows, cudaStream_t stream) override {
    return fp8_backward(network_, layer, rows, matrix(layer, rows), stream);
  }
  std::uint64_t kept_bytes(int num_layers) const override {
    return network_.shape().hidden_values() * static_cast<std::uint64_t>(num_layers);
  }
  int num_scratch() const override { return 2; }
  /// h (2 bytes per value), r, r^2 and r, g (2), r^2, g, g; for ReLU h, r and r, g, r, g, g.
  double moved_bytes(double dense, double) const override {
    return dense * (is_squared(network_) ? 10 : 9);
  }

 private:
  e4m3* matrix(int layer, row_range const& rows) const {
    return reinterpret_cast<e4m3*>(matrices_.layers[layer]) + rows.first * network_.shape().hidden;
  }

  fp8_network& network_;
  dense_matrices& matrices_;
};

class fp8_recomputing_storage : public activation_storage {
 public:
  explicit fp8_recomputing_storage(fp8_network& of) : network_(of) {}

  void const* forward(int layer, row_range const& rows, cudaStream_t stream) override {
    bf16* const h             = network_.hidden[0];
    float const* const scale  = network_.scales().factor(scaled::activation);
    std::uint64_t const count = num_values(network_, rows);
    network_.up(layer, rows, h, {}, stream);
    if (is_squared(network_)) {
      fp8_map<emitting_square>(h, {network_.activation}, {scale}, count, stream);
    } else {
      fp8_map<storing_r>(h, {network_.activation}, {scale}, count, stream);
    }
    return network_.activation;
  }
  /// r lies where the gradient at h is going to.
  hidden_operands backward(int layer, row_range const& rows, cudaStream_t stream) override {
    bf16* const h = network_.hidden[0];
    e4m3* const r = network_.hidden_gradient.row_major;
    network_.normalize(layer, rows, stream);
    network_.up(layer, rows, h, {}, stream);
    fp8_map<storing_r>(
        h, {r}, {network_.scales().factor(scaled::stored_r)}, num_values(network_, rows), stream);
    return fp8_backward(network_, layer, rows, r, stream);
  }
  std::uint64_t kept_bytes(int) const override { return 0; }
  int num_scratch() const override { return 2; }
  /// h (2 bytes per value), a and h (2), r and r, g (2), a, g, g.
  double moved_bytes(double dense, double) const override { return dense * 12; }

 private:
  fp8_network& network_;
};

}  // namespace

std::unique_ptr<activation_storage> make_fp8_dense_storage(fp8_network& of,
                                                           dense_matrices& matrices) {
  return std::make_unique<fp8_dense_storage>(of, matrices);
}

std::unique_ptr<activation_storage> make_fp8_recomputing_storage(fp8_network& of) {
  return std::make_unique<fp8_recomputing_storage>(of);
}

}  // namespace ffn
