// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// cuSPARSE's conversion of a dense matrix to CSR with 32-bit indices, and back. CSR drops -0, which
/// activations do not have; the rows check that the data is restored.
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <bench/peers/peer.cuh>
#include <bench/peers/peers.hpp>

namespace bench {
namespace {

void require_cusparse(cusparseStatus_t status, char const* what) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  (void)cudaGetLastError();
  throw peer_failure(std::string{what} + ": " + cusparseGetErrorString(status));
}

struct destroy {
  void operator()(cusparseContext* handle) const { cusparseDestroy(handle); }
  void operator()(cusparseDnMatDescr* matrix) const { cusparseDestroyDnMat(matrix); }
  void operator()(cusparseSpMatDescr* matrix) const { cusparseDestroySpMat(matrix); }
};
template <class T>
using owner = std::unique_ptr<T, destroy>;

owner<cusparseContext> make_handle() {
  cusparseHandle_t handle = nullptr;
  require_cusparse(cusparseCreate(&handle), "cusparseCreate");
  return owner<cusparseContext>{handle};
}

/// Compress waits for the number of kept values, as the interface asks for: its time contains the
/// gaps. The indices and values have room for the expected number and a 64th of all values more.
class cusparse_peer : public peer {
 public:
  cusparse_peer(peer_matrices const& dense, double zeros)
      : rows_(static_cast<std::int64_t>(dense.rows())),
        cols_(static_cast<std::int64_t>(dense.cols())),
        capacity_(static_cast<std::int64_t>(static_cast<double>(dense.num_values()) *
                                            std::min(1.0, 1 - zeros + 1.0 / 64))),
        handle_(make_handle()),
        workspace_(0),
        csr_(dense.count()) {
    for (int i = 0; i < dense.count(); ++i) {
      dense_.push_back(make_dense(dense.dense(i)));
      restored_.push_back(make_dense(dense.restored(i)));
      offsets_.emplace_back((dense.rows() + 1) * sizeof(std::int32_t));
      columns_.emplace_back(capacity_ * sizeof(std::int32_t));
      values_.emplace_back(capacity_ * sizeof(std::uint16_t));
    }
  }

  void compress(int i) override {
    constexpr auto algorithm = CUSPARSE_DENSETOSPARSE_ALG_DEFAULT;
    auto* const dense        = dense_[i].get();
    auto* const csr          = make_csr(i);
    std::size_t bytes        = 0;
    require_cusparse(cusparseDenseToSparse_bufferSize(handle_.get(), dense, csr, algorithm, &bytes),
                     "cusparseDenseToSparse_bufferSize");
    workspace_.reserve(bytes);
    require_cusparse(
        cusparseDenseToSparse_analysis(handle_.get(), dense, csr, algorithm, workspace_.as<void>()),
        "cusparseDenseToSparse_analysis");
    std::int64_t rows = 0, cols = 0, kept = 0;
    require_cusparse(cusparseSpMatGetSize(csr, &rows, &cols, &kept), "cusparseSpMatGetSize");
    if (kept < 0 || kept > capacity_) throw peer_failure("more values are kept than expected");
    require_cusparse(
        cusparseCsrSetPointers(
            csr, offsets_[i].as<void>(), columns_[i].as<void>(), values_[i].as<void>()),
        "cusparseCsrSetPointers");
    require_cusparse(
        cusparseDenseToSparse_convert(handle_.get(), dense, csr, algorithm, workspace_.as<void>()),
        "cusparseDenseToSparse_convert");
  }

  void decompress(int i) override {
    constexpr auto algorithm = CUSPARSE_SPARSETODENSE_ALG_DEFAULT;
    auto* const csr          = csr_[i].get();
    auto* const restored     = restored_[i].get();
    std::size_t bytes        = 0;
    require_cusparse(
        cusparseSparseToDense_bufferSize(handle_.get(), csr, restored, algorithm, &bytes),
        "cusparseSparseToDense_bufferSize");
    workspace_.reserve(bytes);
    require_cusparse(
        cusparseSparseToDense(handle_.get(), csr, restored, algorithm, workspace_.as<void>()),
        "cusparseSparseToDense");
  }

  double stored_bytes() override {
    std::int64_t rows = 0, cols = 0, kept = 0;
    require_cusparse(cusparseSpMatGetSize(csr_[0].get(), &rows, &cols, &kept),
                     "cusparseSpMatGetSize");
    return 4.0 * static_cast<double>(rows + 1) + (4.0 + 2.0) * static_cast<double>(kept);
  }

 private:
  owner<cusparseDnMatDescr> make_dense(std::uint16_t* values) const {
    cusparseDnMatDescr_t matrix = nullptr;
    require_cusparse(
        cusparseCreateDnMat(&matrix, rows_, cols_, cols_, values, CUDA_R_16BF, CUSPARSE_ORDER_ROW),
        "cusparseCreateDnMat");
    return owner<cusparseDnMatDescr>{matrix};
  }
  /// A fresh descriptor: its number of values and its pointers come with the conversion.
  cusparseSpMatDescr* make_csr(int i) {
    cusparseSpMatDescr_t matrix = nullptr;
    require_cusparse(cusparseCreateCsr(&matrix,
                                       rows_,
                                       cols_,
                                       0,
                                       offsets_[i].as<void>(),
                                       nullptr,
                                       nullptr,
                                       CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_BASE_ZERO,
                                       CUDA_R_16BF),
                     "cusparseCreateCsr");
    csr_[i].reset(matrix);
    return matrix;
  }

  std::int64_t rows_, cols_, capacity_;
  owner<cusparseContext> handle_;
  peer_memory workspace_;
  std::vector<peer_memory> offsets_, columns_, values_;
  std::vector<owner<cusparseDnMatDescr>> dense_, restored_;
  std::vector<owner<cusparseSpMatDescr>> csr_;
};

}  // namespace

void add_cusparse_peer(peer_data const& data) {
  add_peer("cusparse", data, [](peer_matrices const& dense, peer_data const& of) {
    return std::make_unique<cusparse_peer>(dense, of.zeros);
  });
}

}  // namespace bench
