// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The modes that bitsparse is compared with: dense activations, and recomputation.
#include <bench/ffn_training/element_wise.cuh>
#include <bench/ffn_training/storage.hpp>

namespace ffn {

dense_matrices::dense_matrices(ffn_shape const& shape,
                               element_choice element,
                               int num_layers,
                               device_allocations& memory) {
  std::uint64_t const bytes = shape.hidden_values() * bytes_of(element);
  for (int layer = 0; layer < num_layers; ++layer) {
    layers.push_back(memory.allocate<char>(category::activations, bytes));
  }
}

namespace {

std::uint64_t dense_bytes(network const& of, int num_layers) {
  return of.shape().hidden_values() * sizeof(bf16) * static_cast<std::uint64_t>(num_layers);
}
bool is_squared(network const& of) {
  return of.shape().act == activation::relu_squared;
}
std::uint64_t num_values(network const& of, row_range const& rows) {
  return rows.rows * of.shape().hidden;
}

/// What follows the multiplication of the dense modes' backward pass.
hidden_operands dense_backward(network& of, bf16* r, std::uint64_t count, cudaStream_t stream) {
  bf16* const gradient = of.hidden[0];
  if (is_squared(of)) {
    map<squared_backward>({r, gradient}, {of.hidden[1], gradient}, count, stream);
    return {of.hidden[1], gradient};
  }
  map<relu_backward>({r, gradient}, {gradient}, count, stream);
  return {r, gradient};
}

class dense_storage : public activation_storage {
 public:
  dense_storage(network& of, dense_matrices& matrices) : network_(of), matrices_(matrices) {}

  void const* forward(int layer, row_range const& rows, cudaStream_t stream) override {
    bf16* const saved = matrix(layer, rows);
    network_.up(layer, rows, saved, {}, stream);
    if (!is_squared(network_)) {
      map<relu_forward>({saved}, {saved}, num_values(network_, rows), stream);
      return saved;
    }
    bf16* const squares = network_.hidden[0];
    map<squared_saving>({saved}, {saved, squares}, num_values(network_, rows), stream);
    return squares;
  }
  hidden_operands backward(int layer, row_range const& rows, cudaStream_t stream) override {
    network_.activation_gradient(layer, rows, network_.hidden[0], {}, stream);
    return dense_backward(network_, matrix(layer, rows), num_values(network_, rows), stream);
  }
  std::uint64_t kept_bytes(int num_layers) const override {
    return dense_bytes(network_, num_layers);
  }
  int num_scratch() const override { return is_squared(network_) ? 2 : 1; }
  /// h, r, r^2 and r, g, r^2, g; for ReLU h, r and r, g, g.
  double moved_bytes(double dense, double) const override {
    return dense * (is_squared(network_) ? 7 : 5);
  }

 protected:
  bf16* matrix(int layer, row_range const& rows) const {
    return reinterpret_cast<bf16*>(matrices_.layers[layer]) + rows.first * network_.shape().hidden;
  }

  network& network_;
  dense_matrices& matrices_;
};

class recomputing_storage : public activation_storage {
 public:
  explicit recomputing_storage(network& of) : network_(of) {}

  void const* forward(int layer, row_range const& rows, cudaStream_t stream) override {
    bf16* const h             = network_.hidden[0];
    std::uint64_t const count = num_values(network_, rows);
    network_.up(layer, rows, h, {}, stream);
    if (is_squared(network_)) {
      map<squared_forward>({h}, {h}, count, stream);
    } else {
      map<relu_forward>({h}, {h}, count, stream);
    }
    return h;
  }
  hidden_operands backward(int layer, row_range const& rows, cudaStream_t stream) override {
    bf16 *const gradient = network_.hidden[0], *const h = network_.hidden[1];
    std::uint64_t const count = num_values(network_, rows);
    network_.up(layer, rows, h, {}, stream);
    network_.activation_gradient(layer, rows, gradient, {}, stream);
    if (is_squared(network_)) {
      map<squared_backward>({h, gradient}, {h, gradient}, count, stream);
    } else {
      map<relu_recomputed_backward>({h, gradient}, {h, gradient}, count, stream);
    }
    return {h, gradient};
  }
  std::uint64_t kept_bytes(int) const override { return 0; }
  int num_scratch() const override { return 2; }
  /// h, a and h, g, a, g.
  double moved_bytes(double dense, double) const override { return dense * 6; }

 private:
  network& network_;
};

class epilogue_storage : public dense_storage {
 public:
  /// @param bits (layers,) of (tokens, hidden) bits; empty if they are not used
  epilogue_storage(network& of, dense_matrices& matrices, std::vector<char*> bits)
      : dense_storage(of, matrices), bits_(std::move(bits)) {}

  bool exists(cudaStream_t stream) {
    row_range const& first = network_.ranges().front();
    bf16* const result     = matrix(0, first);
    if (!network_.can_up(result, up_epilogue(0, first), stream)) return false;
    return bits_.empty() ||
           network_.can_activation_gradient(network_.hidden[0], down_epilogue(0, first), stream);
  }
  void const* forward(int layer, row_range const& rows, cudaStream_t stream) override {
    bf16* const saved = matrix(layer, rows);
    network_.up(layer, rows, saved, up_epilogue(layer, rows), stream);
    if (!is_squared(network_)) return saved;
    map<squared_forward>({saved}, {network_.hidden[0]}, num_values(network_, rows), stream);
    return network_.hidden[0];
  }
  hidden_operands backward(int layer, row_range const& rows, cudaStream_t stream) override {
    if (bits_.empty()) return dense_storage::backward(layer, rows, stream);
    bf16* const gradient = network_.hidden[0];
    network_.activation_gradient(layer, rows, gradient, down_epilogue(layer, rows), stream);
    return {matrix(layer, rows), gradient};
  }
  std::uint64_t kept_bytes(int num_layers) const override {
    std::uint64_t const dense = dense_bytes(network_, num_layers);
    return bits_.empty() ? dense : dense + dense / 16;
  }
  /// r, r^2 and r, g, r^2, g; for ReLU r, g, g; with bits none, for the multiplications move them.
  double moved_bytes(double dense, double) const override {
    return bits_.empty() ? dense * (is_squared(network_) ? 6 : 3) : 0;
  }

 private:
  fused_epilogue up_epilogue(int layer, row_range const& rows) const {
    if (bits_.empty()) return {CUBLASLT_EPILOGUE_RELU, nullptr};
    return {CUBLASLT_EPILOGUE_RELU_AUX, bits_of(layer, rows)};
  }
  fused_epilogue down_epilogue(int layer, row_range const& rows) const {
    return {CUBLASLT_EPILOGUE_DRELU, bits_of(layer, rows)};
  }
  void* bits_of(int layer, row_range const& rows) const {
    return bits_[layer] + rows.first * network_.shape().hidden / 8;
  }

  std::vector<char*> bits_;
};

}  // namespace

std::unique_ptr<activation_storage> make_dense_storage(network& of, dense_matrices& matrices) {
  return std::make_unique<dense_storage>(of, matrices);
}

std::unique_ptr<activation_storage> make_recomputing_storage(network& of) {
  return std::make_unique<recomputing_storage>(of);
}

std::unique_ptr<activation_storage> make_epilogue_storage(network& of,
                                                          dense_matrices& matrices,
                                                          bool uses_bits,
                                                          device_allocations& memory,
                                                          cudaStream_t stream) {
  std::vector<char*> bits;
  if (uses_bits && is_squared(of)) return nullptr;
  for (int layer = 0; uses_bits && layer < of.shape().layers; ++layer) {
    bits.push_back(memory.allocate<char>(category::activations, of.shape().hidden_values() / 8));
  }
  auto storage = std::make_unique<epilogue_storage>(of, matrices, std::move(bits));
  if (!storage->exists(stream)) return nullptr;
  return storage;
}

}  // namespace ffn
