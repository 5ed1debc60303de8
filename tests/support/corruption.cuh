// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Tensors whose bits a test flips behind the library's back, and a reader that says which tiles changed.
#pragma once

#include <cuda_runtime_api.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include <tests/support/arena_fixture.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/device_round_trip.cuh>

namespace bitsparse_test {

constexpr std::uint64_t corruption_slab_bytes = 32 * 1024;

/// Waits for all that was enqueued, and ends the program where it takes more than 20 seconds: a device
/// that waits for ever cannot be waited for.
inline void wait_or_end(std::string const& what) {
  cudaEvent_t done;
  require_cuda(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "cudaEventCreate");
  require_cuda(cudaEventRecord(done, nullptr), "cudaEventRecord");
  auto const begin = std::chrono::steady_clock::now();
  cudaError_t state;
  while ((state = cudaEventQuery(done)) == cudaErrorNotReady) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) {
      std::fprintf(stderr, "hangs: %s\n", what.c_str());
      std::_Exit(1);
    }
    std::this_thread::yield();
  }
  require_cuda(state, what.c_str());
  cudaEventDestroy(done);
}

/// Flips a bit of device memory; again, and it is as before.
inline void flip(std::byte* memory, std::size_t bit) {
  std::byte value;
  require_cuda(cudaMemcpy(&value, memory + bit / 8, 1, cudaMemcpyDeviceToHost), "flip");
  value ^= std::byte{1} << bit % 8;
  require_cuda(cudaMemcpy(memory + bit / 8, &value, 1, cudaMemcpyHostToDevice), "flip");
}

/// Decompresses into poison, and checks that nothing outside the values is written.
template <class Tensor, class Format>
class reader {
  using element   = typename Format::element;
  using bits_type = typename Format::bits_type;

 public:
  reader(Tensor tensor, test_matrix<element> const& source) : tensor_(tensor), source_(source) {}

  /// @param may_differ(tile) whether a tile's values may be others
  /// @return the fault, or nothing
  template <class MayDiffer>
  std::string fault(MayDiffer may_differ, std::string const& what) {
    std::memcpy(target_.host().whole(), poison_.buffer().whole(), poison_.buffer().whole_bytes());
    target_.upload();
    bitsparse::status const done = bitsparse::decompress(
        tensor_,
        bitsparse::matrix_view<element>{
            reinterpret_cast<bits_type*>(target_.data()), host_.rows(), host_.cols(), host_.ld()},
        nullptr);
    if (!done.ok()) return what + ": " + done.text();
    wait_or_end(what);
    std::memcpy(host_.buffer().whole(), target_.download().whole(), host_.buffer().whole_bytes());
    if (!host_.surroundings_intact()) return what + ": written outside the values";
    std::string text;
    std::uint64_t const tiles_across = (host_.cols() + Format::cols - 1) / Format::cols;
    for (std::uint64_t r = 0; r < host_.rows(); ++r) {
      for (std::uint64_t c = 0; c < host_.cols(); ++c) {
        std::uint64_t const tile = r / Format::rows * tiles_across + c / Format::cols;
        if (host_.at(r, c) != source_.at(r, c) && !may_differ(tile))
          return what + ": a value of tile " + std::to_string(tile) + " changed";
      }
    }
    return {};
  }
  /// Whether every value is NaN.
  bool is_all_nan() const {
    std::uint64_t count = 0;
    for (std::uint64_t r = 0; r < host_.rows(); ++r) {
      for (std::uint64_t c = 0; c < host_.cols(); ++c)
        count += host_.at(r, c) == element::quiet_nan;
    }
    return count == host_.rows() * host_.cols();
  }
  bool is_exact() const { return host_.mismatches(source_) == 0; }

 private:
  Tensor tensor_;
  test_matrix<element> const& source_;
  test_matrix<element> poison_{source_.rows(), source_.cols(), source_.cols() + 8, 0, 0x33};
  device_buffer target_{poison_.buffer()};
  test_matrix<element> host_{source_.rows(), source_.cols(), source_.cols() + 8, 0, 0x33};
};

/// A tensor in a plain buffer, filled.
template <class Format, class Codec>
struct plain_fixture {
  using element   = typename Format::element;
  using bits_type = typename Format::bits_type;

  test_matrix<element> source;
  device_buffer dense{source.buffer()};
  device_tensor<Format> tensor;

  explicit plain_fixture(test_matrix<element>&& matrix)
      : source(std::move(matrix)),
        tensor(source.rows(),
               source.cols(),
               bitsparse::max_payload_bytes<Format>(source.rows(), source.cols())) {
    REQUIRE(
        bitsparse::compress<Codec>(
            bitsparse::const_matrix_view<element>{reinterpret_cast<bits_type const*>(dense.data()),
                                                  source.rows(),
                                                  source.cols(),
                                                  source.ld()},
            tensor.view(),
            nullptr)
            .ok());
    wait_or_end("compress");
    tensor.directory().download();
    tensor.payload().download();
  }
  bitsparse::tile_descriptor tile(std::uint64_t index) {
    return bitsparse::tile_descriptor{
        bitsparse::detail::load<std::uint64_t>(tensor.directory().host().data() + 8 * index)};
  }
  bool conditions_raised() { return tensor.state().conditions != 0; }
  void forget() {
    require_cuda(cudaMemset(tensor.view().state, 0, sizeof(bitsparse::tensor_state)), "cudaMemset");
  }
};

/// A tensor in an arena, filled, and what it and the arena hold.
template <class Format, class Codec>
struct arena_fixture {
  using element   = typename Format::element;
  using bits_type = typename Format::bits_type;

  test_matrix<element> source;
  device_buffer dense{source.buffer()};
  guarded_arena arena;
  device_buffer metadata;
  bitsparse::arena_tensor_view<Format> view;

  arena_fixture(test_matrix<element>&& matrix, std::uint64_t device_slabs, std::uint64_t host_slabs)
      : source(std::move(matrix)),
        arena(device_slabs, host_slabs, corruption_slab_bytes),
        metadata(bitsparse::arena_tensor_bytes<Format>(
                     source.rows(), source.cols(), corruption_slab_bytes),
                 0,
                 0),
        view(bitsparse::make_arena_tensor<Format>(
            metadata.data(), source.rows(), source.cols(), arena.view())) {
    fill();
  }
  void fill() {
    REQUIRE(
        bitsparse::compress<Codec>(
            bitsparse::const_matrix_view<element>{reinterpret_cast<bits_type const*>(dense.data()),
                                                  source.rows(),
                                                  source.cols(),
                                                  source.ld()},
            view,
            nullptr)
            .ok());
    wait_or_end("compress");
    metadata.download();
  }
  std::uint32_t conditions() {
    bitsparse::arena_state state;
    require_cuda(cudaMemcpy(&state, arena.view().state, sizeof(state), cudaMemcpyDeviceToHost),
                 "state");
    return state.conditions;
  }
  bitsparse::tile_descriptor tile(std::uint64_t index) {
    return bitsparse::tile_descriptor{bitsparse::detail::load<std::uint64_t>(
        metadata.host().data() + sizeof(bitsparse::arena_tensor_state) + 8 * index)};
  }
  std::byte* map() const { return reinterpret_cast<std::byte*>(view.slab_map); }
  void forget() { REQUIRE(bitsparse::clear(arena.view(), nullptr).ok()); }
  /// After reset() and zeroed metadata all is as in the beginning.
  std::string recovery_fault() {
    require_cuda(cudaMemset(metadata.data(), 0, metadata.bytes()), "cudaMemset");
    REQUIRE(bitsparse::reset(arena.view(), nullptr).ok());
    forget();
    if (arena.free_slabs(0) != arena.view().num_device_slabs ||
        arena.free_slabs(1) != arena.view().num_host_slabs)
      return "reset() does not make every slab free";
    if (!arena.guards_intact()) return "the arena's surroundings were written";
    fill();
    if (!metadata.host().guards_intact()) return "the metadata's surroundings were written";
    reader<bitsparse::arena_tensor_view<Format>, Format> read{view, source};
    std::string const fault = read.fault([](std::uint64_t) { return false; }, "after reset()");
    return fault.empty() && conditions() != 0 ? "after reset(): a condition was raised" : fault;
  }
};

}  // namespace bitsparse_test
