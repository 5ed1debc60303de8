// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The network with multiplications of e4m3.
///
/// Hopper multiplies 8-bit floats only where both operands have the summed dimension innermost. So
/// weights and gradients are there both ways, and the second product of an activation takes it
/// transposed. Residual stream, normalisation and all sums are as in bf16. Gradients are e4m3, too:
/// with one scale chosen for them they need no wider range.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <vector>

#include <bench/ffn_training/fp8_operations.hpp>
#include <bench/ffn_training/fp8_scales.hpp>
#include <bench/ffn_training/network.hpp>

namespace ffn {

/// Layout: as network; what is `turned` is transposed. norm holds n twice, and hidden[1] the
///   activation and the gradient at h, in e4m3.
class fp8_network : public network {
 public:
  fp8_network(ffn_shape const& shape,
              bool gradients_in_fp32,
              device_allocations& memory,
              gemms& multiplications);

  void normalize(int layer, row_range const& rows, cudaStream_t stream) override;
  /// n, transposed, and the gradient at the layer's output, both ways. normalize() came before, in
  /// the forward pass.
  void prepare_backward(int layer, row_range const& rows, cudaStream_t stream) override;
  /// Without an epilogue.
  void up(int layer,
          row_range const& rows,
          bf16* result,
          fused_epilogue const& epilogue,
          cudaStream_t stream) override;
  void down(int layer, row_range const& rows, void const* from, cudaStream_t stream) override;
  /// Without an epilogue.
  void activation_gradient(int layer,
                           row_range const& rows,
                           bf16* result,
                           fused_epilogue const& epilogue,
                           cudaStream_t stream) override;
  void finish_gradients(int layer,
                        row_range const& rows,
                        hidden_operands const& from,
                        cudaStream_t stream) override;

  fp8_scales const& scales() const { return scales_; }

  e4m3* activation = nullptr;      // (range_rows, hidden), backward (hidden, rows of the range)
  both_ways hidden_gradient = {};  // at h: (range_rows, hidden)

 protected:
  void set_weights(initial_distribution const& from,
                   std::uint64_t seed,
                   cudaStream_t stream) override;

 private:
  /// Of a product of e4m3 matrices, with their scales.
  gemm_operands operands(
      void const* a, scaled kind_of_a, void const* b, scaled kind_of_b, void* d) const;

  fp8_scales scales_;
  std::vector<both_ways> w1_, w2_;          // (layers,) of (hidden, width); of (width, hidden)
  both_ways norm_               = {};       // (range_rows, width)
  both_ways quantized_gradient_ = {};       // (range_rows, width), at the layer's output
  float* inverse_rms_           = nullptr;  // (layers, tokens)
};

}  // namespace ffn
