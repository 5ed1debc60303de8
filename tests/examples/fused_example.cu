// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// README's example of fused ops and the arena: a ReLU² layer's activation in forward and backward.
#include <cstdio>
#include <vector>

// [example]
#include <cuda_bf16.h>
#include <bitsparse/bitsparse.cuh>

namespace bs = bitsparse;

using format = bs::default_format<bs::bf16>;

// Forward: h becomes relu(h)², and r = relu(h) is kept, compressed.
bs::status forward(__nv_bfloat16* h, bs::arena_tensor_view<format> kept, cudaStream_t stream) {
  bs::compress_operands<bs::bf16, bs::bf16> operands;
  operands.source  = bs::make_matrix(h, kept.rows, kept.cols, kept.cols);
  operands.emitted = bs::make_matrix(h, kept.rows, kept.cols, kept.cols);  // in place
  return bs::compress<bs::codec::sign, bs::relu_squared>(operands, kept, stream);
}
// Backward: r² again, for the weights' gradient; and the gradient of r² becomes h's. The kept memory
// goes back to the arena.
bs::status backward(bs::arena_tensor_view<format> kept,
                    __nv_bfloat16* gradient,
                    __nv_bfloat16* squared,
                    cudaStream_t stream) {
  bs::decompress_operands<bs::bf16, bs::bf16, bs::bf16> operands;
  operands.first    = bs::make_matrix(squared, kept.rows, kept.cols, kept.cols);
  operands.gradient = bs::make_matrix(gradient, kept.rows, kept.cols, kept.cols);
  operands.second   = bs::make_matrix(gradient, kept.rows, kept.cols, kept.cols);  // in place
  return bs::consume<bs::square_and_gradient>(kept, operands, stream);
}
// [/example]

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 77;
  std::uint64_t const rows = 300, cols = 1000;
  // Two thirds of h are -1, the rest 3; the gradient is 0.5.
  std::vector<std::uint16_t> h(rows * cols), gradient(rows * cols, 0x3f00);
  for (std::size_t i = 0; i < h.size(); ++i) h[i] = i % 3 == 0 ? 0x4040 : 0xbf80;
  __nv_bfloat16* memory[3];
  std::size_t const bytes = h.size() * sizeof(h[0]);
  for (auto& matrix : memory) cudaMalloc(&matrix, bytes);
  cudaMemcpy(memory[0], h.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(memory[1], gradient.data(), bytes, cudaMemcpyHostToDevice);

  bs::arena const arena(8);
  bs::compressed_tensor<format> const kept(arena.view(), rows, cols);
  bs::status done = forward(memory[0], kept.view(), nullptr);
  if (done.ok()) done = backward(kept.view(), memory[1], memory[2], nullptr);
  std::printf("%s\n", done.text());

  bool good                      = done.ok();
  std::uint16_t const expected[] = {0x4110, 0x4040, 0x4110};  // 9, 2 * 3 * 0.5, 9
  for (int k = 0; k < 3; ++k) {
    std::vector<std::uint16_t> got(h.size());
    good = good && cudaMemcpy(got.data(), memory[k], bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
    for (std::size_t i = 0; i < got.size(); ++i)
      good = good && got[i] == (i % 3 == 0 ? expected[k] : 0);
  }
  return good ? 0 : 1;
}
