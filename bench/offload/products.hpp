// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The computation beside the transfers: one bf16 matrix product, again and again.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>

#include <bench/ffn_training/gemm.hpp>
#include <bench/offload/common.hpp>

namespace offload_bench {

/// A product D (m, n) = A^T B over k, with operands of its own.
class products {
 public:
  products(std::uint64_t m, std::uint64_t n, std::uint64_t k) : problem_{m, n, k, true, false} {
    operands_.a = matrix(m * k, 1);
    operands_.b = matrix(n * k, 2);
    operands_.d = memory_.allocate<std::uint16_t>(ffn::category::other, m * n);
    run(nullptr);  // chooses the algorithm
    require_cuda(cudaDeviceSynchronize(), "product");
  }
  void run(cudaStream_t stream) { gemms_.run(problem_, operands_, stream); }

 private:
  std::uint16_t* matrix(std::uint64_t count, std::uint64_t seed) {
    auto* const data = memory_.allocate<std::uint16_t>(ffn::category::other, count);
    bench::fill_activations<bs::bf16>(data, count, 0, seed);
    return data;
  }

  ffn::device_allocations memory_;
  ffn::gemms gemms_{memory_};
  ffn::gemm_problem problem_;
  ffn::gemm_operands operands_;
};

}  // namespace offload_bench
