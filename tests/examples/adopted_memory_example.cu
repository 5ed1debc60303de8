// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// docs/integration.md's arena in a framework's memory: nothing is allocated by the library.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_bf16.h>
#include <bitsparse/bitsparse.cuh>

namespace bs = bitsparse;

namespace {

template <class Result>
void check(Result result) {
  if (static_cast<cudaError_t>(result) == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
  std::exit(1);
}

/// Stands in for a framework's allocator.
class framework {
 public:
  ~framework() {
    for (void* one : taken_) cudaFree(one);
  }
  void* allocate(std::uint64_t bytes) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes));
    taken_.push_back(memory);
    return memory;
  }

 private:
  std::vector<void*> taken_;
};

// [adopt]
using format = bs::default_format<bs::bf16>;

bs::arena_view make_arena(framework& allocator, std::uint64_t num_slabs, cudaStream_t stream) {
  std::uint64_t const bytes = bs::arena_bytes(num_slabs, 0, bs::default_slab_bytes);
  void* const memory        = allocator.allocate(bytes);  // aligned to 256 bytes
  bs::arena_view arena;
  check(bs::make_arena(memory, num_slabs, nullptr, 0, bs::default_slab_bytes, arena));
  check(cudaMemsetAsync(memory, 0, sizeof(bs::arena_state), stream));
  check(bs::reset(arena, stream));
  return arena;
}

bs::arena_tensor_view<format> make_tensor(framework& allocator,
                                          bs::arena_view arena,
                                          std::uint64_t rows,
                                          std::uint64_t cols,
                                          cudaStream_t stream) {
  std::uint64_t const bytes = bs::arena_tensor_bytes<format>(rows, cols, arena.slab_bytes());
  void* const memory        = allocator.allocate(bytes);  // aligned to 64 bytes
  check(cudaMemsetAsync(memory, 0, bytes, stream));
  return bs::make_arena_tensor<format>(memory, rows, cols, arena);
}
// [/adopt]

}  // namespace

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 77;
  framework allocator;
  std::uint64_t const rows = 500, cols = 1500, bytes = rows * cols * 2;
  std::vector<std::uint16_t> dense(rows * cols), restored(rows * cols);
  for (std::size_t i = 0; i < dense.size(); i += 5) dense[i] = static_cast<std::uint16_t>(i | 1);
  auto* const matrix = static_cast<__nv_bfloat16*>(allocator.allocate(bytes));
  check(cudaMemcpy(matrix, dense.data(), bytes, cudaMemcpyHostToDevice));

  bs::arena_view const arena = make_arena(allocator, 4, nullptr);
  auto const tensor          = make_tensor(allocator, arena, rows, cols, nullptr);
  check(bs::compress<bs::codec::fast>(bs::make_matrix(matrix, rows, cols, cols), tensor, nullptr));
  check(cudaMemsetAsync(matrix, 0xff, bytes, nullptr));
  check(bs::consume(tensor, bs::make_matrix(matrix, rows, cols, cols), nullptr));
  check(cudaMemcpy(restored.data(), matrix, bytes, cudaMemcpyDeviceToHost));
  std::printf(dense == restored ? "restored\n" : "values differ\n");
  return dense == restored ? 0 : 1;
}
