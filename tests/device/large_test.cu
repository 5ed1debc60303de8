// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// More than 2^31 values and more than 4 GiB in one tensor. Skipped where the device lacks the
/// memory.
#include <cstdint>
#include <cstring>

#include <tests/support/catch.hpp>
#include <tests/support/compare.cuh>
#include <tests/support/device_round_trip.cuh>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

template <class Bits>
__global__ void fill_kernel(Bits* values, std::uint64_t count, unsigned kept_of_8) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += stride) {
    std::uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15u;
    mixed               = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9u;
    Bits const bits =
        static_cast<Bits>(mixed >> 32) >> 1;  // no sign: half of the encodings need that
    values[i] = mixed >> 61 < kept_of_8 ? static_cast<Bits>(bits | 1) : Bits{0};
  }
}

template <class Element>
void check_large(std::uint64_t rows, std::uint64_t cols, unsigned kept_of_8) {
  using format              = bs::default_format<Element>;
  using bits_type           = typename format::bits_type;
  std::uint64_t const count = rows * cols, bytes = count * sizeof(bits_type);
  std::uint64_t const payload_bytes = bs::max_payload_bytes<format>(rows, cols);
  std::size_t free_bytes = 0, total_bytes = 0;
  require_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  if (free_bytes < 2 * bytes + payload_bytes + (std::uint64_t{1} << 30)) {
    WARN("skipped: the device has too little free memory");
    return;
  }
  bits_type *dense = nullptr, *restored = nullptr;
  void* memory                   = nullptr;
  unsigned long long* mismatches = nullptr;
  require_cuda(cudaMalloc(&dense, bytes), "cudaMalloc");
  require_cuda(cudaMalloc(&restored, bytes), "cudaMalloc");
  require_cuda(cudaMalloc(&memory, bs::device_tensor_bytes<format>(rows, cols, payload_bytes)),
               "cudaMalloc");
  require_cuda(cudaMalloc(&mismatches, sizeof(*mismatches)), "cudaMalloc");
  require_cuda(cudaMemset(memory, 0, sizeof(bs::tensor_state)), "cudaMemset");
  require_cuda(cudaMemset(mismatches, 0, sizeof(*mismatches)), "cudaMemset");
  require_cuda(cudaMemset(restored, 0xa5, bytes), "cudaMemset");
  fill_kernel<<<1024, 256>>>(dense, count, kept_of_8);
  auto const tensor = bs::make_device_tensor<format>(memory, rows, cols, payload_bytes);
  REQUIRE(bs::compress<bs::codec::sign>(
              bs::const_matrix_view<Element>{dense, rows, cols, cols}, tensor, nullptr)
              .ok());
  REQUIRE(bs::decompress(tensor, {restored, rows, cols, cols}, nullptr).ok());
  compare_kernel<<<1024, 256>>>(dense, restored, count, mismatches);
  unsigned long long differs = 1;
  bs::tensor_state state;
  require_cuda(cudaMemcpy(&differs, mismatches, sizeof(differs), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
  require_cuda(cudaMemcpy(&state, tensor.state, sizeof(state), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
  CHECK(differs == 0);
  CHECK(state.conditions == 0);
  CHECK(state.cursor_units * 16 > bytes / 8 * kept_of_8 / 2);
  cudaFree(dense);
  cudaFree(restored);
  cudaFree(memory);
  cudaFree(mismatches);
}

/// Three rows with a leading dimension of more than 2^32 values.
void check_long_rows() {
  using format               = bs::default_format<bs::fp8_e4m3>;
  constexpr std::uint64_t ld = (std::uint64_t{1} << 32) + 16, cols = 200;
  std::size_t free_bytes = 0, total_bytes = 0;
  require_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  if (free_bytes < 5 * ld) {
    WARN("skipped: the device has too little free memory");
    return;
  }
  std::uint8_t* dense = nullptr;
  void* memory        = nullptr;
  require_cuda(cudaMalloc(&dense, 2 * ld + cols), "cudaMalloc");
  std::uint64_t const payload_bytes = bs::max_payload_bytes<format>(3, cols);
  require_cuda(cudaMalloc(&memory, bs::device_tensor_bytes<format>(3, cols, payload_bytes)),
               "cudaMalloc");
  require_cuda(cudaMemset(memory, 0, sizeof(bs::tensor_state)), "cudaMemset");
  std::uint8_t rows[3][cols], restored[3][cols];
  for (std::uint64_t i = 0; i < 3 * cols; ++i)
    rows[i / cols][i % cols] = i % 3 == 0 ? static_cast<std::uint8_t>(i % 127 + 1) : 0;
  for (int r = 0; r < 3; ++r)
    require_cuda(cudaMemcpy(dense + r * ld, rows[r], cols, cudaMemcpyHostToDevice), "cudaMemcpy");
  auto const tensor = bs::make_device_tensor<format>(memory, 3, cols, payload_bytes);
  REQUIRE(bs::compress<bs::codec::sign>(
              bs::const_matrix_view<bs::fp8_e4m3>{dense, 3, cols, ld}, tensor, nullptr)
              .ok());
  for (int r = 0; r < 3; ++r) require_cuda(cudaMemset(dense + r * ld, 0xa5, cols), "cudaMemset");
  REQUIRE(bs::decompress(tensor, {dense, 3, cols, ld}, nullptr).ok());
  for (int r = 0; r < 3; ++r) {
    require_cuda(cudaMemcpy(restored[r], dense + r * ld, cols, cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
  }
  CHECK(std::memcmp(rows, restored, sizeof(rows)) == 0);
  cudaFree(dense);
  cudaFree(memory);
}

}  // namespace

TEST_CASE("large: 2^31 + 2^20 fp8 values", "[device][large]") {
  check_large<bs::fp8_e4m3>(65568, 32768, 1);
}
TEST_CASE("large: more than 2^32 bytes of chunks, ragged", "[device][large]") {
  check_large<bs::bf16>(40009, 72001, 7);
}
TEST_CASE("large: a leading dimension over 2^32", "[device][large]") {
  check_long_rows();
}
