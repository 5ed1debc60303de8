// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The network with multiplications of e4m3.
///
/// cuBLAS sees a row-major matrix as a column-major transposed one. D (m, n) = A^T B is thus a
/// row-major D (n, m) of row-major A (m, k) and B (n, k).
#include <bench/ffn_training/fp8_network.hpp>

namespace ffn {
namespace {

/// How the tensor cores add up: in the forward pass with less precision than fp32's.
/// Source: Transformer Engine's recipes for e4m3 do so, and not in the backward pass.
enum class pass { forward, backward };

/// A row-major (n, m) matrix of sums over k.
gemm_problem product(std::uint64_t n, std::uint64_t m, std::uint64_t k, pass of) {
  gemm_problem problem{m, n, k, true, false};
  problem.input            = CUDA_R_8F_E4M3;
  problem.accumulates_fast = of == pass::forward;
  return problem;
}

both_ways allocate_both_ways(device_allocations& memory, category what, std::uint64_t values) {
  e4m3* const both = memory.allocate<e4m3>(what, 2 * values);
  return {both, both + values};
}

}  // namespace

fp8_network::fp8_network(ffn_shape const& shape,
                         bool gradients_in_fp32,
                         device_allocations& memory,
                         gemms& multiplications)
    : network(shape, element_choice::e4m3, gradients_in_fp32, memory, multiplications),
      scales_(memory) {
  std::uint64_t const range_values  = shape.range_rows() * shape.width;
  std::uint64_t const hidden_values = shape.range_rows() * shape.hidden;
  for (int layer = 0; layer < shape.layers; ++layer) {
    w1_.push_back(allocate_both_ways(memory, category::weights, shape.weight_values()));
    w2_.push_back(allocate_both_ways(memory, category::weights, shape.weight_values()));
  }
  auto* const norms         = reinterpret_cast<e4m3*>(norm);
  norm_                     = {norms, norms + range_values};
  quantized_gradient_       = allocate_both_ways(memory, category::scratch, range_values);
  activation                = reinterpret_cast<e4m3*>(hidden[1]);
  hidden_gradient.row_major = activation + hidden_values;
  hidden_gradient.turned    = memory.allocate<e4m3>(category::scratch, hidden_values);
  inverse_rms_              = memory.allocate<float>(category::residual_stream,
                                        static_cast<std::uint64_t>(shape.layers) * shape.tokens);
  overwritten.push_back({quantized_gradient_.row_major, 2 * range_values});
  overwritten.push_back({hidden_gradient.turned, hidden_values});
  overwritten.push_back(
      {inverse_rms_, static_cast<std::uint64_t>(shape.layers) * shape.tokens * sizeof(float)});
}

/// By way of bf16 values in the memory of a weight's gradient.
void fp8_network::set_weights(initial_distribution const& from,
                              std::uint64_t seed,
                              cudaStream_t stream) {
  scales_.set(largest_magnitudes(shape(), from), stream);
  std::uint64_t const width = shape().width, hidden_width = shape().hidden;
  auto* const values = static_cast<bf16*>(w1_gradient);
  for (int layer = 0; layer < shape().layers; ++layer) {
    fill_w1(from, layer, values, seed, stream);
    quantize(values, w1_[layer], nullptr, scales_.factor(scaled::w1), hidden_width, width, stream);
    fill_w2(from, layer, values, seed, stream);
    quantize(values, w2_[layer], nullptr, scales_.factor(scaled::w2), width, hidden_width, stream);
  }
}

// -------------------------------------------------------------------------------------------------
// Rounding
// -------------------------------------------------------------------------------------------------

void fp8_network::normalize(int layer, row_range const& rows, cudaStream_t stream) {
  std::uint64_t const width = shape().width;
  rms_norm(x[layer] + rows.first * width,
           norm_.row_major,
           inverse_rms_ + static_cast<std::uint64_t>(layer) * shape().tokens + rows.first,
           scales_.factor(scaled::norm),
           rows.rows,
           width,
           stream);
}

void fp8_network::prepare_backward(int layer, row_range const& rows, cudaStream_t stream) {
  std::uint64_t const width = shape().width, at = rows.first * width;
  quantize(x[layer] + at,
           {nullptr, norm_.turned},
           inverse_rms_ + static_cast<std::uint64_t>(layer) * shape().tokens + rows.first,
           scales_.factor(scaled::norm),
           rows.rows,
           width,
           stream);
  quantize(gradient + at,
           quantized_gradient_,
           nullptr,
           scales_.factor(scaled::gradient),
           rows.rows,
           width,
           stream);
}

// -------------------------------------------------------------------------------------------------
// Multiplications
// -------------------------------------------------------------------------------------------------

gemm_operands fp8_network::operands(
    void const* a, scaled kind_of_a, void const* b, scaled kind_of_b, void* d) const {
  gemm_operands result{a, b, nullptr, d};
  result.a_scale = scales_.inverse(kind_of_a);
  result.b_scale = scales_.inverse(kind_of_b);
  return result;
}

void fp8_network::up(
    int layer, row_range const& rows, bf16* result, fused_epilogue const&, cudaStream_t stream) {
  multiplications().run(
      product(rows.rows, shape().hidden, shape().width, pass::forward),
      operands(w1_[layer].row_major, scaled::w1, norm_.row_major, scaled::norm, result),
      stream);
}

void fp8_network::down(int layer, row_range const& rows, void const* from, cudaStream_t stream) {
  std::uint64_t const at = rows.first * shape().width;
  gemm_operands with =
      operands(w2_[layer].row_major, scaled::w2, from, scaled::activation, x[layer + 1] + at);
  with.c    = x[layer] + at;
  with.beta = 1;
  multiplications().run(
      product(rows.rows, shape().width, shape().hidden, pass::forward), with, stream);
}

void fp8_network::activation_gradient(
    int layer, row_range const& rows, bf16* result, fused_epilogue const&, cudaStream_t stream) {
  multiplications().run(
      product(rows.rows, shape().hidden, shape().width, pass::backward),
      operands(
          w2_[layer].turned, scaled::w2, quantized_gradient_.row_major, scaled::gradient, result),
      stream);
}

void fp8_network::finish_gradients(int layer,
                                   row_range const& rows,
                                   hidden_operands const& from,
                                   cudaStream_t stream) {
  std::uint64_t const width = shape().width, hidden_width = shape().hidden;
  gemm_problem w2_problem = product(width, hidden_width, rows.rows, pass::backward);
  gemm_problem w1_problem = product(hidden_width, width, rows.rows, pass::backward);
  w2_problem.output = w1_problem.output = gradients_in_fp32() ? CUDA_R_32F : CUDA_R_16BF;
  gemm_operands w2_operands             = operands(from.activation,
                                       scaled::activation,
                                       quantized_gradient_.turned,
                                       scaled::gradient,
                                       w2_gradient);
  gemm_operands w1_operands             = operands(norm_.turned,
                                       scaled::norm,
                                       from.turned_hidden_gradient,
                                       scaled::hidden_gradient,
                                       w1_gradient);
  w2_operands.beta = w1_operands.beta = rows.index == 0 ? 0.0f : 1.0f;
  multiplications().run(w2_problem, w2_operands, stream);
  multiplications().run(w1_problem, w1_operands, stream);
  multiplications().run(product(rows.rows, width, hidden_width, pass::backward),
                        operands(w1_[layer].turned,
                                 scaled::w1,
                                 from.hidden_gradient,
                                 scaled::hidden_gradient,
                                 norm_gradient),
                        stream);
  add_norm_gradient(layer, rows, stream);
}

}  // namespace ffn
