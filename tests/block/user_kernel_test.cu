// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A user's own kernels: a GEMM that compresses its output tile in the epilogue and a GEMM that
/// decompresses its operand in the prologue, with the public collectives only. Both blocks have a
/// warp that takes no part and a named barrier.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <bitsparse/block/block_decoder.cuh>
#include <bitsparse/block/block_encoder.cuh>
#include <bitsparse/format/host_codec.hpp>
#include <tests/support/catch.hpp>
#include <tests/support/device_memory.cuh>
#include <tests/support/round_trip.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format      = bs::tile_format<bs::bf16, 64, 64>;
using encoder     = bs::block_encoder<format, bs::codec::sign, 128>;
using decoder     = bs::block_decoder<format, 128>;
using arrangement = bs::tile_arrangement<format, 128>;

constexpr int depth         = 24;   // of the products
constexpr int block_threads = 160;  // warp 0: the user's other work; warps 1 to 4: the group
constexpr int group_barrier = 3;

__device__ std::uint16_t relu_bits(float x) {
  return x > 0 ? static_cast<std::uint16_t>(
                     (__float_as_uint(x) + 0x7fff + (__float_as_uint(x) >> 16 & 1)) >> 16)
               : std::uint16_t{0};
}

__device__ float product(float const* a, float const* b, std::uint32_t row, std::uint32_t col) {
  float sum = 0;
  for (int k = 0; k < depth; ++k) sum = fmaf(a[row * depth + k], b[col * depth + k], sum);
  return sum;
}

/// relu(A B^T) of one tile, from registers into a chunk. out[0] counts what the other warp did
/// meanwhile.
__global__ void gemm_compress_kernel(float const* a,
                                     float const* b,
                                     bool through_shared,
                                     std::uint64_t* descriptor,
                                     std::byte* payload,
                                     unsigned* cursor_units,
                                     unsigned* out) {
  __shared__ encoder::temp_storage storage;
  __shared__ alignas(16) std::uint16_t shared_tile[format::values];
  if (threadIdx.x < 32) {
    atomicAdd(out, 1u);
    return;
  }
  bs::thread_group<128> const group(threadIdx.x - 32, group_barrier);
  arrangement::vectors tile;
  for (std::uint32_t i = 0; i < arrangement::vectors_per_thread; ++i) {
    auto const at = arrangement::vector_position(group, i);
    tile[i]       = uint4{0, 0, 0, 0};
    for (std::uint32_t j = 0; j < 8; ++j) {
      bs::or_vector_value(tile[i], j, relu_bits(product(a, b, at.row, at.col + j)));
    }
  }
  if (through_shared) {
    arrangement::store_shared(group, tile, shared_tile);
    group.sync();
    arrangement::load_shared(group, shared_tile, tile);
  }
  encoder encode(storage, group);
  bs::tile_plan const plan = encode.plan(tile, 64, 64);
  encode.stage(tile);
  group.sync();
  encode.store(payload);
  if (group.rank() == 0) {
    *descriptor   = bs::tile_descriptor{plan.form, plan.kept, plan.chunk_units, 0}.word();
    *cursor_units = plan.chunk_units;
  }
}

/// D = X W^T where X is a compressed tile, decoded into shared memory by four warps while the fifth
/// waits.
__global__ void decompress_gemm_kernel(std::uint64_t const* descriptor,
                                       std::byte const* payload,
                                       float const* w,
                                       float* d,
                                       unsigned* condition) {
  __shared__ decoder::temp_storage storage;
  __shared__ alignas(16) std::uint16_t x[format::values];
  if (threadIdx.x >= 32) {
    bs::thread_group<128> const group(threadIdx.x - 32, group_barrier);
    decoder decode(storage, group);
    arrangement::vectors tile;
    decode.open(decode.fetch(bs::tile_descriptor{*descriptor}, payload, 64, 64));
    group.sync();
    bs::tile_condition const found = decode.decode(tile);
    arrangement::store_shared(group, tile, x);
    if (group.rank() == 0) *condition = static_cast<unsigned>(found);
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < 64 * 16; i += block_threads) {
    float sum = 0;
    for (std::uint32_t k = 0; k < 64; ++k) {
      sum = fmaf(__uint_as_float(std::uint32_t{x[i / 16 * 64 + k]} << 16), w[i % 16 * 64 + k], sum);
    }
    d[i] = sum;
  }
}

/// Two groups of a block, each with its own barrier and its own tiles one after the other: encodes into a place of
/// fixed size, reads that back, and stores what it decoded.
template <class Format, class Codec, int Threads, bool AsVectors>
__global__ void two_groups_kernel(typename Format::bits_type const* from,
                                  std::byte* chunks,
                                  typename Format::bits_type* to,
                                  unsigned num_tiles,
                                  unsigned valid_rows,
                                  unsigned* bad_conditions) {
  using encoder_type = bs::block_encoder<Format, Codec, Threads>;
  using decoder_type = bs::block_decoder<Format, Threads>;
  using tiles        = bs::tile_arrangement<Format, Threads>;
  using tile_type = std::conditional_t<AsVectors, typename tiles::vectors, typename tiles::values>;
  union storage_type {
    typename encoder_type::temp_storage encoder;
    typename decoder_type::temp_storage decoder;
  };
  __shared__ storage_type storage[2];
  unsigned const which = threadIdx.x / Threads;
  bs::thread_group<Threads> const group(threadIdx.x % Threads, 1 + which);
  encoder_type encode(storage[which].encoder, group);
  decoder_type decode(storage[which].decoder, group);
  for (unsigned number = blockIdx.x * 2 + which; number < num_tiles; number += gridDim.x * 2) {
    std::byte* const place = chunks + std::uint64_t{number} * Format::tile_bytes;
    tile_type tile, restored;
    tiles::load(
        group, {from + number * Format::values, Format::cols, valid_rows, Format::cols}, tile);
    bs::tile_plan const plan = encode.plan(tile, valid_rows, Format::cols);
    if (plan.chunk_units != 0) {
      encode.stage(tile);
      group.sync();
      encode.store(place);
    }
    __threadfence();
    group.sync();  // the chunk is written, the storage free
    decode.open(decode.fetch(bs::tile_descriptor{plan.form, plan.kept, plan.chunk_units, 0},
                             place,
                             valid_rows,
                             Format::cols));
    group.sync();
    if (decode.decode(restored) != bs::tile_condition::good) atomicAdd(bad_conditions, 1u);
    tiles::store(
        group, restored, {to + number * Format::values, Format::cols, valid_rows, Format::cols});
    group.sync();  // the storage is used again
  }
}

/// Tiles of every encoding that a codec chooses, through two_groups_kernel.
template <class Format, class Codec, int Threads, bool AsVectors>
std::string check_two_groups(unsigned valid_rows) {
  using bits_type              = typename Format::bits_type;
  constexpr unsigned num_tiles = 41;
  std::vector<bits_type> values;
  std::uint32_t forms = 0;
  for (unsigned i = 0; i < num_tiles; ++i) {
    constexpr value_range ranges[] = {
        value_range::any, value_range::non_negative, value_range::window3, value_range::window4};
    constexpr double fills[] = {0, 0.05, 0.1, 0.18, 0.4, 0.6, 0.8, 1};
    value_model const model{ranges[i % 4], fills[i / 4 % 8]};
    auto tile = random_values<bits_type>(Format::values, model, i + 1);
    std::fill(tile.begin() + valid_rows * Format::cols, tile.end(), bits_type{0});
    std::byte chunk[Format::tile_bytes];
    auto const coded =
        bs::detail::encode_tile<Format, Codec>(tile.data(), valid_rows, Format::cols, chunk);
    forms |= bs::detail::encoding_bit(coded.form());
    values.insert(values.end(), tile.begin(), tile.end());
  }
  constexpr std::uint32_t windows = 0x330;
  if (forms != (Codec::encodings & ~(Format::element::has_window ? 0 : windows)))
    return "the tiles do not reach every encoding";
  device_buffer from{values.size() * sizeof(bits_type)},
      to{values.size() * sizeof(bits_type), 0, 0}, chunks{num_tiles * Format::tile_bytes},
      bad{4, 0, 0};
  std::memcpy(from.host().data(), values.data(), from.bytes());
  from.upload();
  two_groups_kernel<Format, Codec, Threads, AsVectors>
      <<<3, 2 * Threads>>>(reinterpret_cast<bits_type const*>(from.data()),
                           chunks.data(),
                           reinterpret_cast<bits_type*>(to.data()),
                           num_tiles,
                           valid_rows,
                           reinterpret_cast<unsigned*>(bad.data()));
  to.download();
  chunks.download();
  for (unsigned i = 0; i < num_tiles; ++i) {
    std::byte chunk[Format::tile_bytes];
    auto const coded = bs::detail::encode_tile<Format, Codec>(
        values.data() + i * Format::values, valid_rows, Format::cols, chunk);
    if (std::memcmp(
            chunk, chunks.host().data() + i * Format::tile_bytes, coded.chunk_units() * 16) != 0) {
      return "tile " + std::to_string(i) + ": the chunk is not the host codec's";
    }
  }
  if (!to.host().guards_intact() || !chunks.host().guards_intact()) return "written outside";
  if (bs::detail::load<unsigned>(bad.download().data()) != 0) return "a condition was raised";
  return std::memcmp(to.host().data(), values.data(), to.bytes()) == 0 ? "" : "values differ";
}

template <class T>
T* to_device(std::vector<T> const& host) {
  T* device = nullptr;
  require_cuda(cudaMalloc(&device, host.size() * sizeof(T)), "cudaMalloc");
  require_cuda(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice),
               "cudaMemcpy");
  return device;
}

std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
  normal_numbers random{seed};
  std::vector<float> result(count);
  for (float& x : result) x = static_cast<float>(random.next());
  return result;
}

}  // namespace

TEST_CASE(
    "collectives: a GEMM compresses its tile in the epilogue and another decodes it in the "
    "prologue",
    "[block]") {
  auto const a = numbers(64 * depth, 1), b = numbers(64 * depth, 2), w = numbers(16 * 64, 3);
  float *device_a = to_device(a), *device_b = to_device(b), *device_w = to_device(w);
  test_matrix<bs::bf16> expected{64, 64};
  for (int r = 0; r < 64; ++r) {
    for (int c = 0; c < 64; ++c) {
      float sum = 0;
      for (int k = 0; k < depth; ++k) sum = std::fmaf(a[r * depth + k], b[c * depth + k], sum);
      expected.at(r, c) = sum > 0 ? bf16_bits(sum) : std::uint16_t{0};
    }
  }
  test_tensor<format> host{64, 64};
  std::uint64_t needed = 0;
  REQUIRE(bs::host::compress<format, bs::codec::sign>(expected.view(), host.view(), needed).ok());
  REQUIRE(host.tile(0).form() == bs::encoding::flat_sign);

  for (bool const through_shared : {false, true}) {
    device_buffer descriptor{8}, payload{needed}, counters{12, 0, 0}, product{64 * 16 * 4};
    auto* const words = reinterpret_cast<unsigned*>(counters.data());
    gemm_compress_kernel<<<1, block_threads>>>(device_a,
                                               device_b,
                                               through_shared,
                                               reinterpret_cast<std::uint64_t*>(descriptor.data()),
                                               payload.data(),
                                               words,
                                               words + 1);
    decompress_gemm_kernel<<<1, block_threads>>>(
        reinterpret_cast<std::uint64_t const*>(descriptor.data()),
        payload.data(),
        device_w,
        reinterpret_cast<float*>(product.data()),
        words + 2);
    CHECK(bs::detail::load<std::uint64_t>(descriptor.download().data()) == host.tile(0).word());
    CHECK(std::memcmp(payload.download().data(), host.payload().data(), needed) == 0);
    CHECK(payload.host().guards_intact());
    auto const* const counted = reinterpret_cast<unsigned const*>(counters.download().data());
    CHECK(counted[0] * 16 == needed);
    CHECK(counted[1] == 32);
    CHECK(counted[2] == 0);
    product.download();
    std::uint32_t wrong = 0;
    for (int r = 0; r < 64; ++r) {
      for (int c = 0; c < 16; ++c) {
        float sum = 0;
        for (int k = 0; k < 64; ++k) {
          std::uint32_t const bits = std::uint32_t{expected.at(r, k)} << 16;
          sum                      = std::fmaf(bs::detail::load<float>(&bits), w[c * 64 + k], sum);
        }
        wrong += bs::detail::load<float>(product.host().data() + (r * 16 + c) * 4) != sum;
      }
    }
    CHECK(wrong == 0);
    CHECK(product.host().guards_intact());
  }
  cudaFree(device_a);
  cudaFree(device_b);
  cudaFree(device_w);
}

TEST_CASE(
    "collectives: two groups of a block work through tiles of every encoding on their own barriers",
    "[block]") {
  using bf16_tile = bs::tile_format<bs::bf16, 32, 64>;
  using fp8_tile  = bs::tile_format<bs::fp8_e4m3, 32, 64>;
  using fp32_tile = bs::tile_format<bs::fp32, 16, 64>;
  CHECK(check_two_groups<bf16_tile, bs::codec::sign, 64, true>(32) == "");
  CHECK(check_two_groups<bf16_tile, bs::codec::sign, 64, true>(21) == "");
  CHECK(check_two_groups<bf16_tile, bs::codec::sign, 32, true>(32) == "");
  CHECK(check_two_groups<bf16_tile, bs::codec::sign, 64, false>(21) == "");
  CHECK(check_two_groups<fp8_tile, bs::codec::sign, 64, true>(32) == "");
  CHECK(check_two_groups<fp8_tile, bs::codec::sign, 32, false>(27) == "");
  CHECK(check_two_groups<fp32_tile, bs::codec::sign, 64, true>(16) == "");
  CHECK(check_two_groups<fp32_tile, bs::codec::sign, 128, false>(9) == "");
  CHECK(check_two_groups<bf16_tile, bs::codec::compact, 64, true>(32) == "");
  CHECK(check_two_groups<bf16_tile, bs::codec::compact, 64, false>(21) == "");
  CHECK(check_two_groups<fp8_tile, bs::codec::compact, 32, true>(32) == "");
  CHECK(check_two_groups<fp32_tile, bs::codec::compact, 64, true>(16) == "");
}
