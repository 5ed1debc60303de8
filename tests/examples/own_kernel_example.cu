// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// docs/integration.md's kernels of one's own: a matrix product whose epilogue compresses its
/// output from registers, and one whose prologue decompresses its operand into shared memory. The
/// tensor between them is an ordinary one: bitsparse::decompress reads it, too.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_bf16.h>
#include <bitsparse/bitsparse.cuh>

namespace bs = bitsparse;

namespace {

// [types]
using format      = bs::default_format<bs::bf16>;  // tiles of 32 x 128
using encoder     = bs::block_encoder<format, bs::codec::sign, 128>;
using decoder     = bs::block_decoder<format, 128>;
using arrangement = bs::tile_arrangement<format, 128>;  // of a tile in 128 threads' registers
using group       = bs::thread_group<128>;
// [/types]

constexpr std::uint32_t num_rows = 100, num_cols = 300, depth = 40, num_outputs = 16;
constexpr std::uint32_t tiles_per_row = (num_cols + format::cols - 1) / format::cols;
constexpr std::uint32_t tile_rows     = (num_rows + format::rows - 1) / format::rows;

__device__ float product(float const* a, float const* b, std::uint32_t row, std::uint32_t col) {
  float sum = 0;
  for (std::uint32_t k = 0; k < depth; ++k) sum = fmaf(a[row * depth + k], b[col * depth + k], sum);
  return sum;
}

// [epilogue]
/// relu(A B^T), one tile per block of 128 threads, into a tensor whose cursor is 0.
__global__ void product_and_compress_kernel(float const* a,
                                            float const* b,
                                            bs::device_tensor_view<format> tensor) {
  __shared__ encoder::temp_storage storage;
  __shared__ unsigned long long first_unit;
  group const threads;
  std::uint32_t const row  = blockIdx.x / tiles_per_row * format::rows;
  std::uint32_t const col  = blockIdx.x % tiles_per_row * format::cols;
  std::uint32_t const rows = min(format::rows, num_rows - row);  // inside the matrix
  std::uint32_t const cols = min(format::cols, num_cols - col);

  arrangement::vectors tile;  // in registers: 8 values of a row each; 0 outside of the matrix
  for (std::uint32_t i = 0; i < arrangement::vectors_per_thread; ++i) {
    auto const at = arrangement::vector_position(threads, i);
    tile[i]       = uint4{0, 0, 0, 0};
    for (std::uint32_t j = 0; j < 8; ++j) {
      if (at.row >= rows || at.col + j >= cols) continue;
      float const one = fmaxf(product(a, b, row + at.row, col + at.col + j), 0.0f);
      bs::or_vector_value(tile[i], j, __bfloat16_as_ushort(__float2bfloat16_rn(one)));
    }
  }

  encoder encode(storage, threads);
  bs::tile_plan const plan = encode.plan(tile, rows, cols);
  if (threads.rank() == 0) {
    first_unit = plan.chunk_units == 0
                     ? 0
                     : atomicAdd(&tensor.state->cursor_units, std::uint64_t{plan.chunk_units});
  }
  encode.stage(tile);
  threads.sync();
  bool const fits = (first_unit + plan.chunk_units) * bs::unit_bytes <= tensor.payload_bytes;
  if (plan.chunk_units != 0 && fits) encode.store(tensor.payload + first_unit * bs::unit_bytes);
  if (threads.rank() != 0) return;
  tensor.directory[blockIdx.x] =
      fits ? bs::tile_descriptor{plan.form, plan.kept, plan.chunk_units, first_unit}
           : bs::tile_descriptor{bs::encoding::lost, plan.kept, 0, 0};
  if (!fits) {  // said like compress() says it
    atomicMax(&tensor.state->needed_units, first_unit + plan.chunk_units);
    atomicOr(&tensor.state->conditions,
             static_cast<std::uint32_t>(bs::device_condition::capacity_exceeded));
    tensor.state->skip_step = 1.0f;
  }
}
// [/epilogue]

// [prologue]
/// X W^T of a compressed X: a block makes format::rows rows of the result, tile after tile.
__global__ void decompress_and_product_kernel(bs::device_tensor_view<format> tensor,
                                              float const* w,  // (num_outputs, num_cols)
                                              float* out) {    // (num_rows, num_outputs)
  __shared__ decoder::temp_storage storage;
  __shared__ alignas(16) std::uint16_t x[format::values];
  group const threads;
  decoder decode(storage, threads);
  std::uint32_t const row                      = blockIdx.x * format::rows;
  std::uint32_t const rows                     = min(format::rows, num_rows - row);
  float sums[format::rows * num_outputs / 128] = {};
  for (std::uint32_t t = 0; t < tiles_per_row; ++t) {
    std::uint32_t const cols            = min(format::cols, num_cols - t * format::cols);
    bs::tile_descriptor const described = tensor.directory[blockIdx.x * tiles_per_row + t];
    decode.open(decode.fetch(
        described, tensor.payload + described.offset_units() * bs::unit_bytes, rows, cols));
    threads.sync();
    arrangement::vectors tile;
    if (decode.decode(tile) != bs::tile_condition::good && threads.rank() == 0) {
      tensor.state->skip_step = 1.0f;  // the tile is NaN, and so will the result be
    }
    arrangement::store_shared(threads, tile, x);
    threads.sync();
    for (std::uint32_t i = threads.rank(), k = 0; i < rows * num_outputs; i += 128, ++k) {
      for (std::uint32_t c = 0; c < cols; ++c) {
        float const one =
            __bfloat162float(__ushort_as_bfloat16(x[i / num_outputs * format::cols + c]));
        sums[k] = fmaf(one, w[i % num_outputs * num_cols + t * format::cols + c], sums[k]);
      }
    }
    threads.sync();  // x and the storage are used again
  }
  for (std::uint32_t i = threads.rank(), k = 0; i < rows * num_outputs; i += 128, ++k) {
    out[row * num_outputs + i] = sums[k];
  }
}
// [/prologue]

template <class Result>
void check(Result result) {
  if (static_cast<cudaError_t>(result) == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
  std::exit(1);
}

float* numbers(std::size_t count, unsigned seed) {
  std::vector<float> host(count);
  for (float& one : host) {
    seed = seed * 1664525u + 1013904223u;
    one  = static_cast<float>(seed >> 16) / 32768.0f - 1;
  }
  float* device = nullptr;
  check(cudaMalloc(&device, count * sizeof(float)));
  check(cudaMemcpy(device, host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  return device;
}

/// The same products without compression, as what is expected.
__global__ void plain_kernel(float const* a, float const* b, float const* w, float* x, float* out) {
  for (std::uint32_t i = threadIdx.x; i < num_rows * num_cols; i += blockDim.x) {
    x[i] = __bfloat162float(
        __float2bfloat16_rn(fmaxf(product(a, b, i / num_cols, i % num_cols), 0.0f)));
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < num_rows * num_outputs; i += blockDim.x) {
    float sum = 0;
    for (std::uint32_t c = 0; c < num_cols; ++c) {
      sum = fmaf(x[i / num_outputs * num_cols + c], w[i % num_outputs * num_cols + c], sum);
    }
    out[i] = sum;
  }
}

}  // namespace

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 77;
  float* const a = numbers(num_rows * depth, 1);
  float* const b = numbers(num_cols * depth, 2);
  float* const w = numbers(num_outputs * num_cols, 3);
  float* const x = numbers(num_rows * num_cols, 4);
  float* const y = numbers(2 * num_rows * num_outputs, 5);  // ours, expected

  std::uint64_t const payload = bs::max_payload_bytes<format>(num_rows, num_cols);
  void* memory                = nullptr;
  check(cudaMalloc(&memory, bs::device_tensor_bytes<format>(num_rows, num_cols, payload)));
  auto const tensor = bs::make_device_tensor<format>(memory, num_rows, num_cols, payload);
  // [launch]
  check(cudaMemsetAsync(tensor.state, 0, sizeof(bs::tensor_state), nullptr));  // before each step
  product_and_compress_kernel<<<tile_rows * tiles_per_row, 128>>>(a, b, tensor);
  decompress_and_product_kernel<<<tile_rows, 128>>>(tensor, w, y);
  // [/launch]
  plain_kernel<<<1, 1024>>>(a, b, w, x, y + num_rows * num_outputs);

  __nv_bfloat16* restored = nullptr;
  check(cudaMalloc(&restored, num_rows * num_cols * sizeof(*restored)));
  check(bs::decompress(tensor, bs::make_matrix(restored, num_rows, num_cols, num_cols), nullptr));
  std::vector<float> expected_x(num_rows * num_cols), got(2 * num_rows * num_outputs);
  std::vector<__nv_bfloat16> got_x(num_rows * num_cols);
  bs::tensor_state state{};
  check(cudaMemcpy(got.data(), y, got.size() * 4, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(expected_x.data(), x, expected_x.size() * 4, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(got_x.data(), restored, got_x.size() * 2, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(&state, tensor.state, sizeof(state), cudaMemcpyDeviceToHost));
  bool good = state.conditions == 0 && state.cursor_units != 0;
  for (std::size_t i = 0; i < got_x.size(); ++i) {
    good = good && __bfloat162float(got_x[i]) == expected_x[i];
  }
  for (std::uint32_t i = 0; i < num_rows * num_outputs; ++i) {
    good = good && got[i] == got[num_rows * num_outputs + i];
  }
  std::printf("%s: %u bytes dense, %llu compressed\n",
              good ? "the same results" : "results differ",
              num_rows * num_cols * 2,
              state.cursor_units * bs::unit_bytes);
  return good ? 0 : 1;
}
