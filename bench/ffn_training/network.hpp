// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The network's memory and matrix multiplications: all that does not depend on how activations are
/// kept.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <vector>

#include <bench/ffn_training/gemm.hpp>
#include <bench/ffn_training/initial_distribution.hpp>
#include <bench/ffn_training/row_operations.hpp>
#include <bench/ffn_training/shape.hpp>

namespace ffn {

/// A multiplication's epilogue, and the bits that it writes or reads, if it does.
struct fused_epilogue {
  cublasLtEpilogue_t what = CUBLASLT_EPILOGUE_DEFAULT;
  void* aux               = nullptr;  // (rows, hidden) bits
};

/// What a layer's backward pass goes on with, (rows, hidden) each: in bf16; or in e4m3, where the
/// activation is transposed and the gradient there both ways.
struct hidden_operands {
  void const* activation;
  void const* hidden_gradient;
  void const* turned_hidden_gradient = nullptr;  // (hidden, rows)
};

struct memory_block {
  void* data;
  std::uint64_t bytes;
};

/// Weights, residual stream, gradients and scratch of one training step. Its multiplications are
/// those of bf16; fp8_network overrides them.
///
/// Layout: all matrices row-major and packed. The gradients of one layer's weights live at a time.
/// Stream: methods are asynchronous on `stream` and capturable, once they have run for every range.
class network {
 public:
  /// @param element with another one than bf16 there are no w1 and w2
  network(ffn_shape const& shape,
          element_choice element,
          bool gradients_in_fp32,
          device_allocations& memory,
          gemms& multiplications);
  network(network const&)            = delete;
  network& operator=(network const&) = delete;
  virtual ~network()                 = default;

  ffn_shape const& shape() const { return shape_; }
  std::vector<row_range> const& ranges() const { return ranges_; }
  element_choice element() const { return element_; }
  bool gradients_in_fp32() const { return gradients_in_fp32_; }
  std::uint64_t weight_gradient_bytes() const {
    return shape_.weight_values() * (gradients_in_fp32_ ? 4 : 2);
  }

  /// Fills weights and input so that about a share `zeros` of the activations is 0.
  void initialize(double zeros, std::uint64_t seed, cudaStream_t stream);
  /// Fills the input alone. A larger constant part gives more zeros.
  void fill_input(double constant_part, std::uint64_t seed, cudaStream_t stream);

  /// norm = rmsnorm(x) of a range.
  virtual void normalize(int layer, row_range const& rows, cudaStream_t stream);
  /// What a range's backward pass begins with: norm, once more.
  virtual void prepare_backward(int layer, row_range const& rows, cudaStream_t stream);
  /// hidden = norm W1^T: (rows, hidden).
  virtual void up(int layer,
                  row_range const& rows,
                  bf16* result,
                  fused_epilogue const& epilogue,
                  cudaStream_t stream);
  /// The next layer's x = x + activation W2^T.
  virtual void down(int layer, row_range const& rows, void const* activation, cudaStream_t stream);
  /// The gradient at the activation, from that at the layer's output: (rows, hidden).
  virtual void activation_gradient(int layer,
                                   row_range const& rows,
                                   bf16* result,
                                   fused_epilogue const& epilogue,
                                   cudaStream_t stream);
  /// Both weights' gradients, added up over the ranges, and the gradient at x.
  virtual void finish_gradients(int layer,
                                row_range const& rows,
                                hidden_operands const& from,
                                cudaStream_t stream);
  /// Whether cuBLASLt has what up() or activation_gradient() needs for an epilogue. Synchronises.
  bool can_up(bf16* hidden, fused_epilogue const& epilogue, cudaStream_t stream);
  bool can_activation_gradient(bf16* result, fused_epilogue const& epilogue, cudaStream_t stream);

  std::vector<bf16*> w1, w2;      // (layers,) of (hidden, width); of (width, hidden)
  std::vector<bf16*> x;           // (layers + 1,) of (tokens, width)
  bf16* gradient      = nullptr;  // (tokens, width), at the x that backward has come to
  bf16* norm          = nullptr;  // (range_rows, width)
  bf16* norm_gradient = nullptr;  // (range_rows, width)
  bf16* hidden[2]     = {};       // (range_rows, hidden); the second one only for who uses it
  void* w1_gradient   = nullptr;  // (hidden, width), of one layer
  void* w2_gradient   = nullptr;  // (width, hidden), of one layer
  float* row_losses   = nullptr;  // (tokens,)
  float* loss         = nullptr;  // (1,)
  std::vector<memory_block> overwritten;  // by every step, before it reads it

 protected:
  virtual void set_weights(initial_distribution const& from,
                           std::uint64_t seed,
                           cudaStream_t stream);
  void fill_w1(initial_distribution const& from,
               int layer,
               bf16* values,
               std::uint64_t seed,
               cudaStream_t stream) const;
  void fill_w2(initial_distribution const& from,
               int layer,
               bf16* values,
               std::uint64_t seed,
               cudaStream_t stream) const;
  /// Adds what follows from norm_gradient to the gradient at x.
  void add_norm_gradient(int layer, row_range const& rows, cudaStream_t stream);
  gemms& multiplications() { return gemms_; }

 private:
  gemm_problem up_problem(std::uint64_t rows, cublasLtEpilogue_t epilogue) const;
  gemm_problem activation_gradient_problem(std::uint64_t rows, cublasLtEpilogue_t epilogue) const;
  gemm_operands up_operands(int layer, bf16* hidden, fused_epilogue const& epilogue) const;
  gemm_operands activation_gradient_operands(int layer,
                                             row_range const& rows,
                                             bf16* result,
                                             fused_epilogue const& epilogue) const;

  ffn_shape shape_;
  std::vector<row_range> ranges_;
  element_choice element_;
  bool gradients_in_fp32_;
  gemms& gemms_;
};

}  // namespace ffn
