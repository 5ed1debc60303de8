// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Matrix multiplications with cuBLASLt.
#include <bench/ffn_training/gemm.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace ffn {
namespace {

/// More than the 32 MiB that cuBLAS itself takes on Hopper.
constexpr std::uint64_t workspace_bytes = 64u << 20;
constexpr int num_candidates            = 8;
constexpr int num_repetitions           = 4;

void require_cublas(cublasStatus_t result, char const* what) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", what, cublasLtGetStatusString(result));
  std::exit(1);
}

template <class Value>
void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which, Value const& value) {
  require_cublas(cublasLtMatmulDescSetAttribute(desc, which, &value, sizeof(value)),
                 "cublasLtMatmulDescSetAttribute");
}

cublasLtMatrixLayout_t make_layout(cudaDataType_t type, std::uint64_t rows, std::uint64_t cols) {
  cublasLtMatrixLayout_t layout = nullptr;
  require_cublas(
      cublasLtMatrixLayoutCreate(&layout, type, rows, cols, static_cast<std::int64_t>(rows)),
      "cublasLtMatrixLayoutCreate");
  return layout;
}

}  // namespace

std::string gemm_problem::text() const {
  char line[160];
  std::snprintf(line,
                sizeof(line),
                "%llux%llux%llu %c%c types %d -> %d epilogue %d",
                static_cast<unsigned long long>(m),
                static_cast<unsigned long long>(n),
                static_cast<unsigned long long>(k),
                transposes_a ? 'T' : 'N',
                transposes_b ? 'T' : 'N',
                static_cast<int>(input),
                static_cast<int>(output),
                static_cast<int>(epilogue));
  return line;
}

/// Descriptors of a problem, and its algorithm, if there is one.
struct gemms::plan {
  explicit plan(gemm_problem const& of) : problem(of) {
    require_cublas(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                   "cublasLtMatmulDescCreate");
    set(desc, CUBLASLT_MATMUL_DESC_TRANSA, of.transposes_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(desc, CUBLASLT_MATMUL_DESC_TRANSB, of.transposes_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, of.epilogue);
    if (of.has_aux()) {
      set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(of.m));
    }
    if (of.accumulates_fast) {
      set(desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    }
    a = of.transposes_a ? make_layout(of.input, of.k, of.m) : make_layout(of.input, of.m, of.k);
    b = of.transposes_b ? make_layout(of.input, of.n, of.k) : make_layout(of.input, of.k, of.n);
    d = make_layout(of.output, of.m, of.n);
  }
  plan(plan const&)            = delete;
  plan& operator=(plan const&) = delete;
  ~plan() {
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(d);
    cublasLtMatmulDescDestroy(desc);
  }
  void point_to(gemm_operands const& operands) const {
    if (problem.has_aux()) {
      set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.aux);
    }
    if (operands.a_scale != nullptr) {
      set(desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.a_scale);
      set(desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.b_scale);
    }
  }

  gemm_problem problem;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  bool has_algorithm = false;
};

gemms::gemms(device_allocations& memory)
    : workspace_(memory.allocate<char>(category::workspace, workspace_bytes)) {
  require_cublas(cublasLtCreate(&handle_), "cublasLtCreate");
}

gemms::~gemms() {
  plans_.clear();
  cublasLtDestroy(handle_);
}

bool gemms::multiply(plan& made, gemm_operands const& operands, cudaStream_t stream) {
  float const alpha   = 1;
  void const* const c = operands.c != nullptr ? operands.c : operands.d;
  return cublasLtMatmul(handle_,
                        made.desc,
                        &alpha,
                        operands.a,
                        made.a,
                        operands.b,
                        made.b,
                        &operands.beta,
                        c,
                        made.d,
                        operands.d,
                        made.d,
                        &made.algorithm,
                        workspace_,
                        workspace_bytes,
                        stream) == CUBLAS_STATUS_SUCCESS;
}

/// Takes the fastest of the heuristic's candidates. Those that reduce in place, or in the output's
/// type, are not asked for: the sums are to be deterministic and in fp32.
void gemms::choose(plan& made, gemm_operands const& operands, cudaStream_t stream) {
  cublasLtMatmulPreference_t preference = nullptr;
  require_cublas(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  auto const prefer = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    require_cublas(cublasLtMatmulPreferenceSetAttribute(preference, which, &value, sizeof(value)),
                   "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  std::array<cublasLtMatmulHeuristicResult_t, num_candidates> candidates{};
  int count                   = 0;
  cublasStatus_t const result = cublasLtMatmulAlgoGetHeuristic(handle_,
                                                               made.desc,
                                                               made.a,
                                                               made.b,
                                                               made.d,
                                                               made.d,
                                                               preference,
                                                               num_candidates,
                                                               candidates.data(),
                                                               &count);
  cublasLtMatmulPreferenceDestroy(preference);
  if (result != CUBLAS_STATUS_SUCCESS) return;
  bench::event_timer timer;
  double best = 0;
  cublasLtMatmulAlgo_t fastest{};
  for (int i = 0; i < count; ++i) {
    if (candidates[i].state != CUBLAS_STATUS_SUCCESS) continue;
    made.algorithm = candidates[i].algo;
    if (!multiply(made, operands, stream)) {
      static_cast<void>(cudaGetLastError());  // what follows is not to find it
      continue;
    }
    double shortest = 1e30;
    for (int repetition = 0; repetition < num_repetitions; ++repetition) {
      shortest =
          std::min(shortest, timer.milliseconds([&] { multiply(made, operands, stream); }, stream));
    }
    if (made.has_algorithm && shortest >= best) continue;
    made.has_algorithm = true;
    best               = shortest;
    fastest            = made.algorithm;
  }
  made.algorithm = fastest;
}

bool gemms::prepare(gemm_problem const& problem,
                    gemm_operands const& operands,
                    cudaStream_t stream) {
  auto& made = plans_[problem];
  if (made == nullptr) {
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    require_cuda(cudaStreamIsCapturing(stream, &capturing), "cudaStreamIsCapturing");
    if (capturing != cudaStreamCaptureStatusNone) {
      std::fprintf(
          stderr, "a multiplication was captured before it ran: %s\n", problem.text().c_str());
      std::exit(1);
    }
    made = std::make_unique<plan>(problem);
    made->point_to(operands);
    choose(*made, operands, stream);
  }
  return made->has_algorithm;
}

bool gemms::copy(gemm_problem const& problem, gemm_operands const& operands, cudaStream_t stream) {
  std::uint64_t const bytes = problem.m * problem.n * (problem.output == CUDA_R_32F ? 4 : 2);
  auto found                = kept_.find({problem, operands.a});
  if (products_ == products::kept) {
    if (found == kept_.end()) {
      found = kept_
                  .emplace(std::pair(problem, operands.a),
                           kept_memory_.allocate<char>(category::other, bytes))
                  .first;
    }
    require_cuda(
        cudaMemcpyAsync(found->second, operands.d, bytes, cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync");
    return false;
  }
  // Where the modes keep that operand in different places: any result of that product.
  if (found == kept_.end()) found = kept_.lower_bound({problem, nullptr});
  if (found != kept_.end() && !(problem < found->first.first)) {
    require_cuda(
        cudaMemcpyAsync(operands.d, found->second, bytes, cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync");
    return true;
  }
  return false;
}

void gemms::run(gemm_problem const& problem, gemm_operands const& operands, cudaStream_t stream) {
  if (products_ == products::copied && copy(problem, operands, stream)) return;
  if (!prepare(problem, operands, stream)) {
    std::fprintf(stderr, "cuBLASLt has no algorithm for %s\n", problem.text().c_str());
    std::exit(1);
  }
  plan& made = *plans_[problem];
  made.point_to(operands);
  if (!multiply(made, operands, stream)) {
    std::fprintf(stderr, "cublasLtMatmul failed for %s\n", problem.text().c_str());
    std::exit(1);
  }
  if (products_ == products::kept) copy(problem, operands, stream);
  operations_ += 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                 static_cast<double>(problem.k);
}

}  // namespace ffn
