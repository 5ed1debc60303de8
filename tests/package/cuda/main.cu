// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What a user's CUDA project compiles to see whether the library arrived: one round trip on the
/// device. It ends with 77 where there is none.
#include <cuda_bf16.h>
#include <cstdio>
#include <cstring>
#include <vector>

#include <bitsparse/bitsparse.cuh>

namespace bs = bitsparse;

static_assert(__cplusplus >= EXPECTED_CPLUSPLUS);

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 77;
  using format             = bs::default_format<bs::bf16>;
  std::uint64_t const rows = 100, cols = 200, bytes = rows * cols * 2;
  std::vector<std::uint16_t> dense(rows * cols), restored(rows * cols, 1);
  for (std::size_t i = 0; i < dense.size(); i += 3) dense[i] = static_cast<std::uint16_t>(i);
  std::uint64_t const payload = bs::max_payload_bytes<format>(rows, cols);
  __nv_bfloat16* matrix       = nullptr;
  void* memory                = nullptr;
  cudaMalloc(&matrix, bytes);
  cudaMalloc(&memory, bs::device_tensor_bytes<format>(rows, cols, payload));
  auto const tensor = bs::make_device_tensor<format>(memory, rows, cols, payload);
  cudaMemset(tensor.state, 0, sizeof(bs::tensor_state));
  cudaMemcpy(matrix, dense.data(), bytes, cudaMemcpyHostToDevice);
  auto const view = bs::make_matrix(matrix, rows, cols, cols);
  bs::status done = bs::compress<bs::codec::fast>(view, tensor, nullptr);
  cudaMemset(matrix, 0xff, bytes);
  if (done.ok()) done = bs::decompress(tensor, view, nullptr);
  std::printf("%s\n", done.text());
  if (cudaMemcpy(restored.data(), matrix, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  return done.ok() && restored == dense ? 0 : 1;
}
