// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Matrix multiplications with cuBLASLt. Each problem's algorithm is chosen once, by time, and then
/// kept, so that all modes compute the same bits.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <bench/ffn_training/device_allocations.hpp>

namespace ffn {

/// D = A B + beta C, in cuBLAS's column-major terms: D (m, n), A (m, k) or transposed, B (k, n) or
/// transposed. Nothing is padded.
struct gemm_problem {
  std::uint64_t m = 0, n = 0, k = 0;
  bool transposes_a           = false;
  bool transposes_b           = false;
  cudaDataType_t input        = CUDA_R_16BF;
  cudaDataType_t output       = CUDA_R_16BF;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  bool accumulates_fast       = false;  // of 8-bit inputs

  auto key() const {
    return std::tuple(
        m, n, k, transposes_a, transposes_b, input, output, epilogue, accumulates_fast);
  }
  bool has_aux() const {
    return epilogue == CUBLASLT_EPILOGUE_RELU_AUX || epilogue == CUBLASLT_EPILOGUE_DRELU;
  }
  std::string text() const;
};

inline bool operator<(gemm_problem const& a, gemm_problem const& b) {
  return a.key() < b.key();
}

/// Device pointers, aligned to 256 bytes; scales and aux to 16.
struct gemm_operands {
  void const* a        = nullptr;
  void const* b        = nullptr;
  void const* c        = nullptr;  // of D's shape and type; null: D
  void* d              = nullptr;
  float beta           = 0;
  void* aux            = nullptr;  // of RELU_AUX and DRELU: one bit per value of D
  float const* a_scale = nullptr;  // factors in device memory, of 8-bit inputs
  float const* b_scale = nullptr;
};

/// What gemms::run() does: multiply; multiply and keep a copy of the result; or copy what was kept, so
/// that everything else of a step can be timed by itself, on the values it is about.
enum class products { computed, kept, copied };

/// The handle, the workspace, and an algorithm for each problem met.
class gemms {
 public:
  explicit gemms(device_allocations& memory);
  gemms(gemms const&)            = delete;
  gemms& operator=(gemms const&) = delete;
  ~gemms();

  /// Chooses the problem's algorithm if that has not been done: then it synchronises, overwrites D
  /// and is not capturable. Must be called on the operands before run() is captured.
  /// @return false if cuBLASLt has no algorithm
  bool prepare(gemm_problem const& problem, gemm_operands const& operands, cudaStream_t stream);

  /// Multiplies; prepares first, if need be. Ends the program where there is no algorithm.
  void run(gemm_problem const& problem, gemm_operands const& operands, cudaStream_t stream);

  /// Where a result was not kept it is computed, whatever is chosen.
  void choose(products what) { products_ = what; }

  /// Floating-point operations of all run() calls since the last reset.
  double operations() const { return operations_; }
  void reset_operations() { operations_ = 0; }
  std::size_t num_plans() const { return plans_.size(); }

 private:
  struct plan;

  /// Copies a result from or to where it is kept, as products_ says. @return whether it is in D
  bool copy(gemm_problem const& problem, gemm_operands const& operands, cudaStream_t stream);
  bool multiply(plan& made, gemm_operands const& operands, cudaStream_t stream);
  void choose(plan& made, gemm_operands const& operands, cudaStream_t stream);

  cublasLtHandle_t handle_ = nullptr;
  void* workspace_         = nullptr;
  double operations_       = 0;
  products products_       = products::computed;
  device_allocations kept_memory_;
  std::map<std::pair<gemm_problem, void const*>, void*> kept_;  // by problem and operand A
  std::map<gemm_problem, std::unique_ptr<plan>> plans_;
};

}  // namespace ffn
