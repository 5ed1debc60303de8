// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// docs/integration.md's gradient accumulation, and a pipeline stage whose number of live
/// micro-batches varies. Both are checked against sums over the dense activations.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

#include <cuda_bf16.h>
#include <bitsparse/bitsparse.cuh>

namespace bs = bitsparse;

namespace {

using format = bs::default_format<bs::bf16>;

constexpr std::uint64_t rows = 300, cols = 1024;
constexpr int num_layers = 4, num_micro_batches = 6;

template <class Result>
void check(Result result) {
  if (static_cast<cudaError_t>(result) == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
  std::exit(1);
}

/// Stands in for a layer's forward pass: an activation that differs per layer and micro-batch.
__global__ void forward_kernel(__nv_bfloat16* activation, int layer, int micro_batch) {
  for (std::uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    unsigned bits =
        static_cast<unsigned>(i) * 2654435761u + static_cast<unsigned>(layer * 77 + micro_batch);
    bits = (bits ^ bits >> 15) * 0x2c1b3c6du;
    bits ^= bits >> 13;
    activation[i] = __float2bfloat16_rn(bits % 4 == 0 ? static_cast<float>(bits >> 24) : 0.0f);
  }
}
/// Stands in for a weight gradient: adds something of the activation's every value to a sum.
__global__ void backward_kernel(__nv_bfloat16 const* activation, unsigned long long* gradient) {
  unsigned long long sum = 0;
  for (std::uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    sum += __bfloat16_as_ushort(activation[i]) * (i % 251 + 1);
  }
  atomicAdd(gradient, sum);
}
void run_forward(__nv_bfloat16* activation, int layer, int micro_batch, cudaStream_t stream) {
  forward_kernel<<<64, 256, 0, stream>>>(activation, layer, micro_batch);
}
void run_backward(__nv_bfloat16 const* activation, unsigned long long* gradient, cudaStream_t s) {
  backward_kernel<<<64, 256, 0, s>>>(activation, gradient);
}

// [accumulate]
/// Micro-batch after micro-batch through all layers: the tensors are used again as soon as they are
/// consumed, so the arena needs room for one micro-batch.
void accumulate(bs::arena_view arena,
                __nv_bfloat16* activation,     // (rows, cols), the only dense one
                unsigned long long* gradient,  // (num_layers,)
                cudaStream_t stream) {
  std::vector<bs::compressed_tensor<format>> kept;
  for (int l = 0; l < num_layers; ++l) kept.emplace_back(arena, rows, cols);
  auto const dense = bs::make_matrix(activation, rows, cols, cols);
  for (int m = 0; m < num_micro_batches; ++m) {
    for (int l = 0; l < num_layers; ++l) {
      run_forward(activation, l, m, stream);
      check(bs::compress<bs::codec::sign>(dense, kept[l].view(), stream));
    }
    for (int l = num_layers - 1; l >= 0; --l) {
      check(bs::consume(kept[l].view(), dense, stream));
      run_backward(activation, gradient + l, stream);
    }
  }
  check(cudaStreamSynchronize(stream));  // only because `kept` ends here
}
// [/accumulate]

// [pipeline]
/// One stage of a pipeline, one forward pass and one backward pass by turns: first in, first out.
/// While it fills, `depth` micro-batches live at once; each has a tensor from the pool.
void run_stage(bs::arena_view arena,
               std::size_t depth,
               __nv_bfloat16* activation,
               unsigned long long* gradient,
               cudaStream_t stream) {
  bs::tensor_pool<format> pool(arena, rows, cols, depth);
  std::deque<bs::arena_tensor_view<format>> live;
  auto const dense    = bs::make_matrix(activation, rows, cols, cols);
  auto const backward = [&] {
    check(bs::consume(live.front(), dense, stream));
    run_backward(activation, gradient, stream);
    pool.give_back(live.front());
    live.pop_front();
  };
  for (int m = 0; m < num_micro_batches; ++m) {
    if (live.size() == depth) backward();
    bs::arena_tensor_view<format> tensor;
    if (!pool.acquire(tensor)) std::exit(1);  // never: the line above gave one back
    run_forward(activation, 0, m, stream);
    check(bs::compress<bs::codec::sign>(dense, tensor, stream));
    live.push_back(tensor);
  }
  while (!live.empty()) backward();
  check(cudaStreamSynchronize(stream));  // only because `pool` ends here
}
// [/pipeline]

}  // namespace

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 77;
  __nv_bfloat16* activation    = nullptr;
  unsigned long long* gradient = nullptr;  // accumulated, of the stage, expected
  check(cudaMalloc(&activation, rows * cols * sizeof(*activation)));
  check(cudaMalloc(&gradient, 3 * num_layers * sizeof(*gradient)));
  check(cudaMemset(gradient, 0, 3 * num_layers * sizeof(*gradient)));
  for (int m = 0; m < num_micro_batches; ++m) {
    for (int l = 0; l < num_layers; ++l) {
      run_forward(activation, l, m, nullptr);
      run_backward(activation, gradient + 2 * num_layers + l, nullptr);
    }
  }
  std::uint64_t const slab_bytes = 64 * 1024;
  // A quarter of the values is kept, and no tile has much more; 0.3 leaves room.
  bs::arena const arena(
      num_layers * bs::planned_slabs<format, bs::codec::sign>(rows, cols, 0.3, slab_bytes),
      0,
      slab_bytes);
  accumulate(arena.view(), activation, gradient, nullptr);
  run_stage(arena.view(), num_layers, activation, gradient + num_layers, nullptr);

  unsigned long long host[3 * num_layers];
  check(cudaMemcpy(host, gradient, sizeof(host), cudaMemcpyDeviceToHost));
  bool good = true;
  for (int l = 0; l < num_layers; ++l) good = good && host[l] == host[2 * num_layers + l];
  good = good && host[num_layers] == host[2 * num_layers] && host[0] != 0;
  std::printf(good ? "gradients are those of dense activations\n" : "gradients differ\n");
  return good ? 0 : 1;
}
