// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The network's memory and matrix multiplications.
///
/// A row-major matrix is a column-major one's transpose, so for cuBLAS every product is turned
/// round: C = A B becomes C^T = B^T A^T, with B first.
#include <bench/ffn_training/network.hpp>

namespace ffn {

network::network(ffn_shape const& shape,
                 element_choice element,
                 bool gradients_in_fp32,
                 device_allocations& memory,
                 gemms& multiplications)
    : shape_(shape),
      ranges_(shape.row_ranges()),
      element_(element),
      gradients_in_fp32_(gradients_in_fp32),
      gemms_(multiplications) {
  std::uint64_t const range_values  = shape.range_rows() * shape.width;
  std::uint64_t const hidden_values = shape.range_rows() * shape.hidden;
  for (int layer = 0; layer < shape.layers && element == element_choice::bf16; ++layer) {
    w1.push_back(memory.allocate<bf16>(category::weights, shape.weight_values()));
    w2.push_back(memory.allocate<bf16>(category::weights, shape.weight_values()));
  }
  for (int layer = 0; layer <= shape.layers; ++layer) {
    x.push_back(memory.allocate<bf16>(category::residual_stream, shape.x_values()));
  }
  gradient      = memory.allocate<bf16>(category::residual_stream, shape.x_values());
  norm          = memory.allocate<bf16>(category::scratch, range_values);
  norm_gradient = memory.allocate<bf16>(category::scratch, range_values);
  for (auto& one : hidden) one = memory.allocate<bf16>(category::scratch, hidden_values);
  w1_gradient = memory.allocate<char>(category::weight_gradients, weight_gradient_bytes());
  w2_gradient = memory.allocate<char>(category::weight_gradients, weight_gradient_bytes());
  row_losses  = memory.allocate<float>(category::other, shape.tokens);
  loss        = memory.allocate<float>(category::other, 1);
  for (int layer = 1; layer <= shape.layers; ++layer) {
    overwritten.push_back({x[layer], shape.x_values() * sizeof(bf16)});
  }
  overwritten.push_back({gradient, shape.x_values() * sizeof(bf16)});
  for (bf16* const one : {norm, norm_gradient}) {
    overwritten.push_back({one, range_values * sizeof(bf16)});
  }
  for (bf16* const one : hidden) overwritten.push_back({one, hidden_values * sizeof(bf16)});
  for (void* const one : {w1_gradient, w2_gradient}) {
    overwritten.push_back({one, weight_gradient_bytes()});
  }
}

void network::fill_input(double constant_part, std::uint64_t seed, cudaStream_t stream) {
  fill_normal(x[0], shape_.x_values(), static_cast<float>(constant_part), 1, seed, stream);
}

void network::initialize(double zeros, std::uint64_t seed, cudaStream_t stream) {
  fill_input(usual_constant_part, seed, stream);
  set_weights(make_distribution(shape_, zeros), seed, stream);
}

void network::set_weights(initial_distribution const& from,
                          std::uint64_t seed,
                          cudaStream_t stream) {
  for (int layer = 0; layer < shape_.layers; ++layer) {
    fill_w1(from, layer, w1[layer], seed, stream);
    fill_w2(from, layer, w2[layer], seed, stream);
  }
}

void network::fill_w1(initial_distribution const& from,
                      int layer,
                      bf16* values,
                      std::uint64_t seed,
                      cudaStream_t stream) const {
  fill_normal(values,
              shape_.weight_values(),
              static_cast<float>(from.w1_means[layer]),
              static_cast<float>(from.w1_deviation),
              seed + 2 * static_cast<std::uint64_t>(layer) + 1,
              stream);
}

void network::fill_w2(initial_distribution const& from,
                      int layer,
                      bf16* values,
                      std::uint64_t seed,
                      cudaStream_t stream) const {
  fill_normal(values,
              shape_.weight_values(),
              0,
              static_cast<float>(from.w2_deviation),
              seed + 2 * static_cast<std::uint64_t>(layer) + 2,
              stream);
}

void network::normalize(int layer, row_range const& rows, cudaStream_t stream) {
  rms_norm(x[layer] + rows.first * shape_.width, norm, rows.rows, shape_.width, stream);
}

void network::prepare_backward(int layer, row_range const& rows, cudaStream_t stream) {
  normalize(layer, rows, stream);
}

// -------------------------------------------------------------------------------------------------
// Multiplications
// -------------------------------------------------------------------------------------------------

gemm_problem network::up_problem(std::uint64_t rows, cublasLtEpilogue_t epilogue) const {
  gemm_problem problem{shape_.hidden, rows, shape_.width, true, false};
  problem.epilogue = epilogue;
  return problem;
}
gemm_operands network::up_operands(int layer, bf16* result, fused_epilogue const& epilogue) const {
  gemm_operands operands{w1[layer], norm, nullptr, result};
  operands.aux = epilogue.aux;
  return operands;
}
gemm_problem network::activation_gradient_problem(std::uint64_t rows,
                                                  cublasLtEpilogue_t epilogue) const {
  gemm_problem problem{shape_.hidden, rows, shape_.width, false, false};
  problem.epilogue = epilogue;
  return problem;
}
gemm_operands network::activation_gradient_operands(int layer,
                                                    row_range const& rows,
                                                    bf16* result,
                                                    fused_epilogue const& epilogue) const {
  gemm_operands operands{w2[layer], gradient + rows.first * shape_.width, nullptr, result};
  operands.aux = epilogue.aux;
  return operands;
}

void network::up(int layer,
                 row_range const& rows,
                 bf16* result,
                 fused_epilogue const& epilogue,
                 cudaStream_t stream) {
  gemms_.run(up_problem(rows.rows, epilogue.what), up_operands(layer, result, epilogue), stream);
}

void network::down(int layer, row_range const& rows, void const* activation, cudaStream_t stream) {
  std::uint64_t const at = rows.first * shape_.width;
  gemm_operands operands{w2[layer], activation, x[layer] + at, x[layer + 1] + at};
  operands.beta = 1;
  gemms_.run({shape_.width, rows.rows, shape_.hidden, true, false}, operands, stream);
}

void network::activation_gradient(int layer,
                                  row_range const& rows,
                                  bf16* result,
                                  fused_epilogue const& epilogue,
                                  cudaStream_t stream) {
  gemms_.run(activation_gradient_problem(rows.rows, epilogue.what),
             activation_gradient_operands(layer, rows, result, epilogue),
             stream);
}

void network::finish_gradients(int layer,
                               row_range const& rows,
                               hidden_operands const& from,
                               cudaStream_t stream) {
  std::uint64_t const at = rows.first * shape_.width;
  float const beta       = rows.index == 0 ? 0.0f : 1.0f;
  gemm_problem w2_problem{shape_.hidden, shape_.width, rows.rows, false, true};
  gemm_problem w1_problem{shape_.width, shape_.hidden, rows.rows, false, true};
  w2_problem.output = w1_problem.output = gradients_in_fp32_ ? CUDA_R_32F : CUDA_R_16BF;
  gemm_operands const w2_operands{from.activation, gradient + at, nullptr, w2_gradient, beta};
  gemm_operands const w1_operands{norm, from.hidden_gradient, nullptr, w1_gradient, beta};
  gemm_operands const norm_operands{w1[layer], from.hidden_gradient, nullptr, norm_gradient};
  gemms_.run(w2_problem, w2_operands, stream);
  gemms_.run(w1_problem, w1_operands, stream);
  gemms_.run({shape_.width, rows.rows, shape_.hidden, false, false}, norm_operands, stream);
  add_norm_gradient(layer, rows, stream);
}

void network::add_norm_gradient(int layer, row_range const& rows, cudaStream_t stream) {
  std::uint64_t const at = rows.first * shape_.width;
  rms_norm_backward(x[layer] + at,
                    norm_gradient,
                    gradient + at,
                    rows.rows,
                    shape_.width,
                    earlier_gradient::kept,
                    stream);
}

bool network::can_up(bf16* result, fused_epilogue const& epilogue, cudaStream_t stream) {
  for (auto const& rows : ranges_) {
    if (!gemms_.prepare(
            up_problem(rows.rows, epilogue.what), up_operands(0, result, epilogue), stream))
      return false;
  }
  return true;
}

bool network::can_activation_gradient(bf16* result,
                                      fused_epilogue const& epilogue,
                                      cudaStream_t stream) {
  for (auto const& rows : ranges_) {
    if (!gemms_.prepare(activation_gradient_problem(rows.rows, epilogue.what),
                        activation_gradient_operands(0, rows, result, epilogue),
                        stream))
      return false;
  }
  return true;
}

}  // namespace ffn
