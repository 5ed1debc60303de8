// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A round trip through a plain buffer and through an arena, as each of several translation units or
/// shared objects makes it. Without a test framework, and all in an unnamed namespace: what units share
/// is the library alone.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <vector>

#include <bitsparse/bitsparse.cuh>

namespace {

using unit_format                 = bitsparse::default_format<bitsparse::bf16>;
using unit_bits                   = unit_format::bits_type;
constexpr std::uint64_t unit_rows = 100, unit_cols = 500, unit_values = unit_rows * unit_cols;

/// What went wrong, in words; null if nothing did.
using unit_fault = char const*;

struct unit_memory {
  std::vector<void*> taken;
  ~unit_memory() {
    for (void* const memory : taken) cudaFree(memory);
  }
  template <class T>
  T* take(std::uint64_t bytes) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, bytes) != cudaSuccess || cudaMemset(memory, 0, bytes) != cudaSuccess)
      return nullptr;
    taken.push_back(memory);
    return static_cast<T*>(memory);
  }
};

std::vector<unit_bits> unit_matrix(std::uint64_t seed) {
  std::vector<unit_bits> values(unit_values);
  for (auto& value : values) {
    seed  = seed * 6364136223846793005u + 1442695040888963407u;
    value = seed >> 62 == 0 ? static_cast<unit_bits>(seed >> 40 & 0x7fff) : unit_bits{0};
  }
  return values;
}

/// Whether device memory holds the values; then poisons it.
bool unit_holds(unit_bits* memory, std::vector<unit_bits> const& values) {
  std::vector<unit_bits> found(values.size());
  return cudaDeviceSynchronize() == cudaSuccess &&
         cudaMemcpy(
             found.data(), memory, unit_values * sizeof(unit_bits), cudaMemcpyDeviceToHost) ==
             cudaSuccess &&
         found == values &&
         cudaMemset(memory, 0xa5, unit_values * sizeof(unit_bits)) == cudaSuccess;
}

template <class Codec>
unit_fault unit_round_trip(std::uint64_t seed) {
  namespace bs      = bitsparse;
  auto const values = unit_matrix(seed);
  unit_memory memory;
  std::uint64_t const bytes   = unit_values * sizeof(unit_bits);
  std::uint64_t const payload = bs::max_payload_bytes<unit_format>(unit_rows, unit_cols);
  auto* const dense           = memory.take<unit_bits>(bytes);
  auto* const restored        = memory.take<unit_bits>(bytes);
  auto* const block =
      memory.take<std::byte>(bs::device_tensor_bytes<unit_format>(unit_rows, unit_cols, payload));
  if (dense == nullptr || restored == nullptr || block == nullptr) return "memory";
  if (cudaMemcpy(dense, values.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess)
    return "upload";
  bs::const_matrix_view<bs::bf16> const source{dense, unit_rows, unit_cols, unit_cols};
  bs::matrix_view<bs::bf16> const target{restored, unit_rows, unit_cols, unit_cols};

  auto const plain = bs::make_device_tensor<unit_format>(block, unit_rows, unit_cols, payload);
  if (!bs::compress<Codec>(source, plain, nullptr).ok()) return "compress into a buffer";
  if (!bs::decompress(plain, target, nullptr).ok()) return "decompress from a buffer";
  if (!unit_holds(restored, values)) return "the values from a buffer differ";

  bs::arena const arena{16};
  bs::compressed_tensor<unit_format> const tensor{arena.view(), unit_rows, unit_cols};
  if (!bs::compress<Codec>(source, tensor.view(), nullptr).ok()) return "compress into an arena";
  if (!bs::consume(tensor.view(), target, nullptr).ok()) return "consume from an arena";
  if (!unit_holds(restored, values)) return "the values from an arena differ";
  return nullptr;
}

}  // namespace
