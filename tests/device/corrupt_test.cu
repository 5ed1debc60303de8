// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Descriptors and chunks that no encoder writes: nothing outside is touched, the status is raised,
/// nothing hangs.
///
/// A corrupt Elias-Fano chunk may name a place of the tile twice: lanes of one instruction then write the
/// same word, and one of the values stays. Test cases that decode such chunks are tagged [collides],
/// because a checker of races reports these writes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <tests/support/catch.hpp>
#include <tests/support/device_round_trip.cuh>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

/// Flips each bit of a small tensor's directory, then of its payload, in turn, and decompresses.
/// @return faults: a byte written outside the target, or a flipped descriptor bit that changed
///   values silently
template <class Format, class Codec>
std::string flip_every_bit(std::uint64_t rows,
                           std::uint64_t cols,
                           std::uint64_t ld,
                           double density = 0.4) {
  using element   = typename Format::element;
  using bits_type = typename Format::bits_type;
  test_matrix<element> source{rows, cols};
  source.assign(random_values<bits_type>(
      rows * cols, {value_range::window4, density, Format::values, 0.7}, 11));
  device_buffer dense{source.buffer()};
  device_tensor<Format> tensor{rows, cols, bs::max_payload_bytes<Format>(rows, cols)};
  bs::status const compressed = bs::compress<Codec>(
      bs::const_matrix_view<element>{
          reinterpret_cast<bits_type const*>(dense.data()), rows, cols, cols},
      tensor.view(),
      nullptr);
  if (!compressed.ok()) return compressed.text();
  std::size_t const used_bytes = tensor.state().cursor_units * 16;
  tensor.directory().download();
  tensor.payload().download();
  test_matrix<element> restored{rows, cols, ld, 0, 0x33};
  device_buffer target{restored.buffer()};
  bs::matrix_view<element> const view{reinterpret_cast<bits_type*>(target.data()), rows, cols, ld};
  auto* const state     = tensor.view().state;
  std::uint32_t flipped = 0, silent = 0;
  for (device_buffer* const part : {&tensor.directory(), &tensor.payload()}) {
    std::size_t const bytes = part == &tensor.payload() ? used_bytes : part->bytes();
    std::size_t const step  = part == &tensor.payload() ? 7 : 1;
    for (std::size_t bit = 0; bit < bytes * 8; bit += step) {
      auto& byte = part->host().data()[bit / 8];
      byte ^= std::byte{1} << bit % 8;
      require_cuda(cudaMemcpy(part->data() + bit / 8, &byte, 1, cudaMemcpyHostToDevice), "flip");
      require_cuda(cudaMemset(state, 0, sizeof(*state)), "clear");
      if (bs::status const result = bs::decompress(tensor.view(), view, nullptr); !result.ok())
        return result.text();
      std::memcpy(
          restored.buffer().whole(), target.download().whole(), restored.buffer().whole_bytes());
      bool const raised = tensor.state().conditions != 0;
      if (!restored.surroundings_intact())
        return "bit " + std::to_string(bit) + ": written outside the values";
      std::uint64_t const wrong = restored.mismatches(source);
      // Codec compact: a base, and the place of a value, can change unnoticed.
      if (part == &tensor.payload() && !raised && wrong > 1 &&
          !std::is_same_v<Codec, bs::codec::compact>) {
        return "payload bit " + std::to_string(bit) + ": several values changed and no condition";
      }
      flipped += part == &tensor.directory();
      silent += part == &tensor.directory() && !raised && wrong != 0;
      byte ^= std::byte{1} << bit % 8;
      require_cuda(cudaMemcpy(part->data() + bit / 8, &byte, 1, cudaMemcpyHostToDevice),
                   "flip back");
    }
  }
  tensor.directory().download();
  tensor.payload().download();
  if (!tensor.guards_intact()) return "the tensor's surroundings were written";
  return silent * 20 <= flipped
             ? ""
             : std::to_string(silent) + " of " + std::to_string(flipped) + " flips were silent";
}

/// A descriptor of any bits, or of a legal encoding, with a place that may lie inside and a size that may be right.
template <class Format>
bs::tile_descriptor random_descriptor(random_bits& random) {
  if (random.below(2) == 0) return bs::tile_descriptor{random.next()};
  auto const form           = static_cast<bs::encoding>(random.below(10));
  std::uint32_t const kept  = random.below(Format::values) + 1;
  bool const is_right       = bs::detail::has_mask(form) && random.below(2) == 0;
  std::uint32_t const units = is_right ? bs::detail::layout_of<Format>(form, kept).units()
                                       : random.below(Format::tile_units + 1);
  return {form, kept, units, random.below(2 * Format::tile_units)};
}

/// Which encodings a random directory names.
enum class mask_kind { elias_fano, any_other };

/// Decompresses random directories over a payload that ends where its allocation ends, so that the memory checker
/// notices a read behind it.
/// @return the fault: a byte written outside the target
template <class Format>
std::string random_directories(mask_kind kind, std::uint64_t seed) {
  using element                = typename Format::element;
  using bits_type              = typename Format::bits_type;
  constexpr std::uint64_t rows = 3 * Format::rows, cols = 2 * Format::cols + 16 / sizeof(bits_type);
  std::uint64_t const tiles           = bs::num_tiles<Format>(rows, cols);
  constexpr std::size_t payload_bytes = 2 * Format::tile_bytes;
  void *payload = nullptr, *directory = nullptr;
  require_cuda(cudaMalloc(&payload, payload_bytes), "cudaMalloc");
  require_cuda(cudaMalloc(&directory, tiles * 8), "cudaMalloc");
  device_buffer state{sizeof(bs::tensor_state), 0, 0};
  bs::device_tensor_view<Format> const tensor{rows,
                                              cols,
                                              static_cast<bs::tile_descriptor*>(directory),
                                              static_cast<std::byte*>(payload),
                                              payload_bytes,
                                              reinterpret_cast<bs::tensor_state*>(state.data())};
  random_bits random{seed};
  std::vector<std::uint64_t> words(tiles), chunks(payload_bytes / 8);
  for (auto& word : chunks) word = random.next();
  require_cuda(cudaMemcpy(payload, chunks.data(), payload_bytes, cudaMemcpyHostToDevice),
               "cudaMemcpy");
  std::string fault;
  for (int i = 0; i < 200 && fault.empty(); ++i) {
    for (auto& word : words) {
      bs::tile_descriptor tile;
      do {
        tile = random_descriptor<Format>(random);
      } while (bs::detail::is_elias_fano(tile.form()) != (kind == mask_kind::elias_fano));
      word = tile.word();
    }
    require_cuda(cudaMemcpy(directory, words.data(), tiles * 8, cudaMemcpyHostToDevice),
                 "cudaMemcpy");
    test_matrix<element> restored{
        rows, cols, cols + 16 / sizeof(bits_type) * (1 + i % 2), static_cast<std::uint64_t>(i % 3)};
    device_buffer target{restored.buffer()};
    bs::status const result = bs::decompress(
        tensor, {reinterpret_cast<bits_type*>(target.data()), rows, cols, restored.ld()}, nullptr);
    if (!result.ok()) fault = result.text();
    std::memcpy(
        restored.buffer().whole(), target.download().whole(), restored.buffer().whole_bytes());
    if (!restored.surroundings_intact()) fault = "written outside the values";
  }
  cudaFree(payload);
  cudaFree(directory);
  return fault;
}

/// Decodes one chunk; counts the words behind the storage that were written.
template <class Format, int Threads>
__global__ void decode_one_kernel(std::uint64_t descriptor,
                                  std::byte const* chunk,
                                  unsigned* overwritten) {
  using decoder_type = bs::block_decoder<Format, Threads>;
  __shared__ struct {
    typename decoder_type::temp_storage storage;
    std::uint32_t guard[1024];
  } shared;
  for (std::uint32_t i = threadIdx.x; i < 1024; i += Threads) shared.guard[i] = 0xa5a5a5a5u;
  __syncthreads();
  bs::thread_group<Threads> const group;
  decoder_type decoder(shared.storage, group);
  typename bs::tile_arrangement<Format, Threads>::vectors tile;
  decoder.open(decoder.fetch(bs::tile_descriptor{descriptor}, chunk, Format::rows, Format::cols));
  group.sync();
  (void)decoder.decode(tile);
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < 1024; i += Threads) {
    if (shared.guard[i] != 0xa5a5a5a5u) atomicAdd(overwritten, 1u);
  }
}

/// Elias-Fano chunks whose upper parts have as many bits set as values are kept, anywhere, and whose
/// lower parts are random: places may lie outside the tile, and in any order.
/// @return how many words behind the storage were written
template <class Format, int Threads>
unsigned random_places(std::uint64_t seed) {
  random_bits random{seed};
  device_buffer overwritten{4, 0, 0}, chunk{Format::tile_bytes};
  for (int i = 0; i < 200; ++i) {
    std::uint32_t const most  = bs::detail::max_elias_fano_kept<Format>;
    std::uint32_t const kept  = i % 2 == 0 ? random.below(8) + 1 : random.below(most) + 1;
    auto const form           = bs::encoding::elias_fano_raw;
    auto const layout         = bs::detail::layout_of<Format>(form, kept);
    std::uint32_t const upper = bs::detail::upper_words<Format>(kept);
    std::vector<std::uint32_t> words(layout.units() * 4);
    for (auto& word : words) word = static_cast<std::uint32_t>(random.next());
    auto const upper_part = words.begin() + layout.mask_offset / 4;
    std::fill(upper_part, upper_part + upper, 0u);
    for (std::uint32_t set = 0; set < kept;) {
      // Every other time, as far behind as possible.
      std::uint32_t const bit = i % 4 < 2 ? random.below(32 * upper) : 32 * upper - 1 - set;
      std::uint32_t& word     = *(upper_part + bit / 32);
      set += (word >> bit % 32 & 1) == 0;
      word |= 1u << bit % 32;
    }
    std::memcpy(chunk.host().data(), words.data(), words.size() * 4);
    chunk.upload();
    decode_one_kernel<Format, Threads>
        <<<1, Threads>>>(bs::tile_descriptor{form, kept, layout.units(), 0}.word(),
                         chunk.data(),
                         reinterpret_cast<unsigned*>(overwritten.data()));
  }
  return bs::detail::load<unsigned>(overwritten.download().data());
}

}  // namespace

TEST_CASE("decompress: no flipped bit makes it write outside, and hardly any goes unnoticed",
          "[device]") {
  using bf16_format = bs::tile_format<bs::bf16, 16, 16>;
  CHECK(flip_every_bit<bf16_format, bs::codec::sign>(40, 40, 48) == "");
  CHECK(flip_every_bit<bf16_format, bs::codec::sign>(40, 40, 41) == "");
  CHECK(flip_every_bit<bs::tile_format<bs::fp8_e4m3, 16, 16>, bs::codec::sign>(40, 40, 48) == "");
  CHECK(flip_every_bit<bs::tile_format<bs::fp32, 16, 16>, bs::codec::sign>(40, 40, 40) == "");
  // Full tiles of this density are flat/window4.
  CHECK(flip_every_bit<bf16_format, bs::codec::compact>(32, 48, 48, 0.9) == "");
}

TEST_CASE("decompress: no flipped bit of an Elias-Fano chunk makes it write outside",
          "[device][collides]") {
  using bf16_format = bs::tile_format<bs::bf16, 16, 16>;
  CHECK(flip_every_bit<bf16_format, bs::codec::compact>(40, 40, 48) == "");
  CHECK(flip_every_bit<bf16_format, bs::codec::compact>(40, 40, 41, 0.1) == "");
  CHECK(flip_every_bit<bf16_format, bs::codec::compact>(40, 40, 48, 0.1) == "");
  CHECK(flip_every_bit<bs::tile_format<bs::fp8_e4m3, 16, 16>, bs::codec::compact>(
            40, 40, 48, 0.1) == "");
}

TEST_CASE("decompress: random directories read and write nothing outside", "[device]") {
  CHECK(random_directories<bs::tile_format<bs::bf16, 64, 64>>(mask_kind::any_other, 1) == "");
  CHECK(random_directories<bs::tile_format<bs::fp8_e4m3, 16, 16>>(mask_kind::any_other, 2) == "");
  CHECK(random_directories<bs::tile_format<bs::fp32, 32, 64>>(mask_kind::any_other, 3) == "");
}

TEST_CASE("decompress: random Elias-Fano directories read and write nothing outside",
          "[device][collides]") {
  CHECK(random_directories<bs::tile_format<bs::bf16, 64, 64>>(mask_kind::elias_fano, 4) == "");
  CHECK(random_directories<bs::tile_format<bs::fp8_e4m3, 16, 16>>(mask_kind::elias_fano, 5) == "");
  CHECK(random_directories<bs::tile_format<bs::fp32, 32, 64>>(mask_kind::elias_fano, 6) == "");
}

TEST_CASE("decompress: no place that an Elias-Fano chunk names is outside the tile",
          "[device][collides]") {
  CHECK(random_places<bs::tile_format<bs::fp8_e4m3, 16, 16>, 32>(1) == 0);
  CHECK(random_places<bs::tile_format<bs::fp8_e4m3, 16, 48>, 64>(2) == 0);
  CHECK(random_places<bs::tile_format<bs::bf16, 16, 48>, 64>(3) == 0);
  CHECK(random_places<bs::default_format<bs::bf16>, 64>(4) == 0);
  CHECK(random_places<bs::default_format<bs::fp32>, 64>(5) == 0);
}
