// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// README's example of the library on the device: compress an activation in forward, restore it in
/// backward.
#include <cstdio>
#include <vector>

// [example]
#include <cuda_bf16.h>
#include <bitsparse/bitsparse.cuh>

namespace bs = bitsparse;

using format = bs::default_format<bs::bf16>;  // tiles of 32 x 128 values

// Once, at set-up: all the memory that a tensor will ever take.
bs::device_tensor_view<format> make_tensor(std::uint64_t rows, std::uint64_t cols) {
  std::uint64_t const payload = bs::max_payload_bytes<format>(rows, cols);  // or what you can spare
  void* memory                = nullptr;
  cudaMalloc(&memory, bs::device_tensor_bytes<format>(rows, cols, payload));
  auto const tensor = bs::make_device_tensor<format>(memory, rows, cols, payload);
  cudaMemset(tensor.state, 0, sizeof(bs::tensor_state));
  return tensor;
}

// Every step: asynchronous, without allocation or synchronisation; may be captured in a graph.
bs::status forward(__nv_bfloat16 const* relu,
                   bs::device_tensor_view<format> saved,
                   cudaStream_t stream) {
  return bs::compress<bs::codec::sign>(
      bs::make_matrix(relu, saved.rows, saved.cols, saved.cols), saved, stream);
}
bs::status backward(bs::device_tensor_view<format> saved,
                    __nv_bfloat16* relu,
                    cudaStream_t stream) {
  return bs::decompress(saved, bs::make_matrix(relu, saved.rows, saved.cols, saved.cols), stream);
}
// [/example]

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 77;
  std::uint64_t const rows = 300, cols = 1000;
  std::vector<std::uint16_t> dense(rows * cols), restored(rows * cols);
  for (std::size_t i = 0; i < dense.size(); i += 7) dense[i] = 0x3f80;
  __nv_bfloat16 *from = nullptr, *to = nullptr;
  cudaMalloc(&from, dense.size() * 2);
  cudaMalloc(&to, dense.size() * 2);
  cudaMemcpy(from, dense.data(), dense.size() * 2, cudaMemcpyHostToDevice);
  auto const tensor = make_tensor(rows, cols);
  bs::status done   = forward(from, tensor, nullptr);
  if (done.ok()) done = backward(tensor, to, nullptr);
  bool const copied =
      cudaMemcpy(restored.data(), to, dense.size() * 2, cudaMemcpyDeviceToHost) == cudaSuccess;
  std::printf("%s\n", done.text());
  return done.ok() && copied && restored == dense ? 0 : 1;
}
