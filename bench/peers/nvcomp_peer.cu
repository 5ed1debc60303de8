// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// nvCOMP's batched low-level interface, on chunks of 64 KiB, the size that its headers recommend.
/// Compress contains a host read of the chunks' sizes, without which they cannot be stored one after
/// the other; moving them there is not counted.
#include <cuda_runtime_api.h>
#include <nvcomp.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <bench/peers/peer.cuh>
#include <bench/peers/peers.hpp>

namespace bench {
namespace {

constexpr std::size_t chunk_bytes     = 1 << 16;
constexpr std::size_t alignment_bytes = 256;  // more than any of the codecs asks for

void require_nvcomp(nvcompStatus_t status, char const* what) {
  if (status == nvcompSuccess) return;
  (void)cudaGetLastError();
  throw peer_failure(std::string{what} + ": " + nvcompGetStatusString(status));
}

// -------------------------------------------------------------------------------------------------
// Codecs: the options and the functions, which have the same parameters for all
// -------------------------------------------------------------------------------------------------

struct bitcomp {
  static constexpr char const* name   = "nvcomp-bitcomp";
  static constexpr auto compress_temp = nvcompBatchedBitcompCompressGetTempSize;
  static constexpr auto max_output    = nvcompBatchedBitcompCompressGetMaxOutputChunkSize;
  static constexpr auto compress      = nvcompBatchedBitcompCompressAsync;
  static constexpr auto expand_temp   = nvcompBatchedBitcompDecompressGetTempSize;
  static constexpr auto expand        = nvcompBatchedBitcompDecompressAsync;
  static auto compress_options() {
    auto options      = nvcompBatchedBitcompCompressDefaultOpts;
    options.algorithm = 1;  // "sparse"
    options.data_type = NVCOMP_TYPE_USHORT;
    return options;
  }
  static auto expand_options() { return nvcompBatchedBitcompDecompressDefaultOpts; }
};

struct ans {
  static constexpr char const* name   = "nvcomp-ans";
  static constexpr auto compress_temp = nvcompBatchedANSCompressGetTempSize;
  static constexpr auto max_output    = nvcompBatchedANSCompressGetMaxOutputChunkSize;
  static constexpr auto compress      = nvcompBatchedANSCompressAsync;
  static constexpr auto expand_temp   = nvcompBatchedANSDecompressGetTempSize;
  static constexpr auto expand        = nvcompBatchedANSDecompressAsync;
  static auto compress_options() {
    auto options      = nvcompBatchedANSCompressDefaultOpts;
    options.data_type = NVCOMP_TYPE_FLOAT16;  // "applicable to all half-precision data formats"
    return options;
  }
  static auto expand_options() { return nvcompBatchedANSDecompressDefaultOpts; }
};

struct cascaded {
  static constexpr char const* name   = "nvcomp-cascaded";
  static constexpr auto compress_temp = nvcompBatchedCascadedCompressGetTempSize;
  static constexpr auto max_output    = nvcompBatchedCascadedCompressGetMaxOutputChunkSize;
  static constexpr auto compress      = nvcompBatchedCascadedCompressAsync;
  static constexpr auto expand_temp   = nvcompBatchedCascadedDecompressGetTempSize;
  static constexpr auto expand        = nvcompBatchedCascadedDecompressAsync;
  static auto compress_options() {
    auto options                  = nvcompBatchedCascadedCompressDefaultOpts;
    options.common_opts.data_type = NVCOMP_TYPE_USHORT;
    return options;
  }
  static auto expand_options() {
    auto options        = nvcompBatchedCascadedDecompressDefaultOpts;
    options.common_opts = compress_options().common_opts;  // "to improve performance"
    return options;
  }
};

struct lz4 {
  static constexpr char const* name   = "nvcomp-lz4";
  static constexpr auto compress_temp = nvcompBatchedLZ4CompressGetTempSize;
  static constexpr auto max_output    = nvcompBatchedLZ4CompressGetMaxOutputChunkSize;
  static constexpr auto compress      = nvcompBatchedLZ4CompressAsync;
  static constexpr auto expand_temp   = nvcompBatchedLZ4DecompressGetTempSize;
  static constexpr auto expand        = nvcompBatchedLZ4DecompressAsync;
  static auto compress_options() {
    auto options      = nvcompBatchedLZ4CompressDefaultOpts;
    options.data_type = NVCOMP_TYPE_USHORT;
    return options;
  }
  static auto expand_options() { return nvcompBatchedLZ4DecompressDefaultOpts; }
};

// -------------------------------------------------------------------------------------------------
// The peer
// -------------------------------------------------------------------------------------------------

/// Sizes in pinned host memory, so that the copy of them is one; move-only.
class pinned_sizes {
 public:
  explicit pinned_sizes(std::size_t count) {
    require_peer(cudaMallocHost(&data_, count * sizeof(std::size_t)), "cudaMallocHost");
  }
  pinned_sizes(pinned_sizes const&)            = delete;
  pinned_sizes& operator=(pinned_sizes const&) = delete;
  ~pinned_sizes() { cudaFreeHost(data_); }
  std::size_t* data() const { return static_cast<std::size_t*>(data_); }

 private:
  void* data_ = nullptr;
};

template <class T>
peer_memory to_device(std::vector<T> const& values) {
  peer_memory memory{values.size() * sizeof(T)};
  require_peer(
      cudaMemcpy(memory.as<T>(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
      "cudaMemcpy");
  return memory;
}

/// Device memory that holds the addresses of `count` chunks, `stride_bytes` apart.
peer_memory chunk_addresses(void* first, std::size_t count, std::size_t stride_bytes) {
  std::vector<void*> addresses(count);
  for (std::size_t c = 0; c < count; ++c) {
    addresses[c] = static_cast<unsigned char*>(first) + c * stride_bytes;
  }
  return to_device(addresses);
}

template <class Codec>
class nvcomp_peer : public peer {
 public:
  explicit nvcomp_peer(peer_matrices const& dense)
      : dense_bytes_(dense.dense_bytes()),
        num_chunks_(dense_bytes_ / chunk_bytes),
        chunk_sizes_(to_device(std::vector<std::size_t>(num_chunks_, chunk_bytes))),
        expanded_sizes_(num_chunks_ * sizeof(std::size_t)),
        statuses_(num_chunks_ * sizeof(nvcompStatus_t)),
        temp_(temp_bytes()),
        host_sizes_(num_chunks_) {
    if (dense_bytes_ % chunk_bytes != 0) throw peer_failure("the values are no whole chunks");
    require_peer(cudaMemset(statuses_.as<void>(), 0, num_chunks_ * sizeof(nvcompStatus_t)),
                 "cudaMemset");
    std::size_t most = 0;
    require_nvcomp(Codec::max_output(chunk_bytes, Codec::compress_options(), &most), "max_output");
    std::size_t const stride = (most + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
    for (int i = 0; i < dense.count(); ++i) {
      stored_.emplace_back(num_chunks_ * stride);
      stored_sizes_.emplace_back(num_chunks_ * sizeof(std::size_t));
      dense_chunks_.push_back(chunk_addresses(dense.dense(i), num_chunks_, chunk_bytes));
      stored_chunks_.push_back(chunk_addresses(stored_[i].as<void>(), num_chunks_, stride));
      restored_chunks_.push_back(chunk_addresses(dense.restored(i), num_chunks_, chunk_bytes));
    }
  }

  void compress(int i) override {
    require_nvcomp(Codec::compress(dense_chunks_[i].template as<void const*>(),
                                   chunk_sizes_.as<std::size_t>(),
                                   chunk_bytes,
                                   num_chunks_,
                                   temp_.as<void>(),
                                   temp_bytes_,
                                   stored_chunks_[i].template as<void*>(),
                                   stored_sizes_[i].template as<std::size_t>(),
                                   Codec::compress_options(),
                                   statuses_.as<nvcompStatus_t>(),
                                   nullptr),
                   "compress");
    read_sizes(i);
  }

  void decompress(int i) override {
    require_nvcomp(Codec::expand(stored_chunks_[i].template as<void const*>(),
                                 stored_sizes_[i].template as<std::size_t>(),
                                 chunk_sizes_.as<std::size_t>(),
                                 expanded_sizes_.as<std::size_t>(),
                                 num_chunks_,
                                 temp_.as<void>(),
                                 temp_bytes_,
                                 restored_chunks_[i].template as<void*>(),
                                 Codec::expand_options(),
                                 statuses_.as<nvcompStatus_t>(),
                                 nullptr),
                   "decompress");
  }

  /// The chunks' bytes and a 4-byte size for each.
  double stored_bytes() override {
    std::vector<nvcompStatus_t> statuses(num_chunks_);
    require_peer(cudaMemcpy(statuses.data(),
                            statuses_.as<nvcompStatus_t>(),
                            num_chunks_ * sizeof(nvcompStatus_t),
                            cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
    for (nvcompStatus_t const status : statuses) require_nvcomp(status, "a chunk");
    return static_cast<double>(read_sizes(0)) + 4.0 * static_cast<double>(num_chunks_);
  }

 private:
  /// The sum of the compressed sizes, read by the host; waits.
  std::size_t read_sizes(int i) const {
    require_peer(cudaMemcpyAsync(host_sizes_.data(),
                                 stored_sizes_[i].template as<std::size_t>(),
                                 num_chunks_ * sizeof(std::size_t),
                                 cudaMemcpyDeviceToHost,
                                 nullptr),
                 "cudaMemcpyAsync");
    require_peer(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    return std::accumulate(host_sizes_.data(), host_sizes_.data() + num_chunks_, std::size_t{0});
  }

  /// For either direction; remembered in temp_bytes_.
  std::size_t temp_bytes() {
    std::size_t compress_bytes = 0, expand_bytes = 0;
    require_nvcomp(Codec::compress_temp(num_chunks_,
                                        chunk_bytes,
                                        Codec::compress_options(),
                                        &compress_bytes,
                                        dense_bytes_,
                                        nullptr),
                   "compress_temp");
    require_nvcomp(Codec::expand_temp(num_chunks_,
                                      chunk_bytes,
                                      Codec::expand_options(),
                                      &expand_bytes,
                                      dense_bytes_,
                                      nullptr),
                   "decompress_temp");
    return temp_bytes_ = std::max(compress_bytes, expand_bytes);
  }

  std::size_t dense_bytes_, num_chunks_, temp_bytes_;
  peer_memory chunk_sizes_, expanded_sizes_, statuses_, temp_;
  pinned_sizes host_sizes_;
  std::vector<peer_memory> stored_, stored_sizes_, dense_chunks_, stored_chunks_, restored_chunks_;
};

template <class Codec>
void add(peer_data const& data) {
  add_peer(Codec::name, data, [](peer_matrices const& dense, peer_data const&) {
    return std::make_unique<nvcomp_peer<Codec>>(dense);
  });
}

}  // namespace

void add_nvcomp_peers(peer_data const& data) {
  add<bitcomp>(data);
  add<ans>(data);
  add<cascaded>(data);
  add<lz4>(data);
}

}  // namespace bench
