// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What a peer implements, and what it uses to own memory and to report failures: by exceptions, so
/// that a peer that fails costs its row and no other.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <bench/peers/peers.hpp>
#include <bench/support/roofline.cuh>
#include <bitsparse/format/element.hpp>

namespace bench {

using peer_matrices = dense_matrices<bitsparse::bf16>;

/// A compressor of somebody else, with room for the result of each of the matrices. All its work is
/// on the default stream.
class peer {
 public:
  virtual ~peer() = default;
  /// All that a user would have to run to store matrix i.
  virtual void compress(int i) = 0;
  /// All that a user would have to run to restore matrix i from what compress(i) stored.
  virtual void decompress(int i) = 0;
  /// Bytes that have to be kept of matrix 0. Waits; throws where the device reported an error.
  virtual double stored_bytes() = 0;
};

/// Makes a peer for matrices that outlive it; may throw.
using make_peer = std::function<std::unique_ptr<peer>(peer_matrices const&, peer_data const&)>;

/// Registers the peer's two rows.
void add_peer(std::string const& name, peer_data const& data, make_peer make);

class peer_failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void require_peer(cudaError_t error, char const* what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // so that no later call reports it again
  throw peer_failure(std::string{what} + ": " + cudaGetErrorString(error));
}

/// An owner of device memory whose constructor throws; move-only.
class peer_memory {
 public:
  explicit peer_memory(std::uint64_t bytes) : bytes_(bytes) {
    require_peer(cudaMalloc(&data_, bytes == 0 ? 1 : bytes), "cudaMalloc");
  }
  peer_memory(peer_memory&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_  = nullptr;
    other.bytes_ = 0;
  }
  peer_memory& operator=(peer_memory&&) = delete;
  ~peer_memory() { cudaFree(data_); }

  /// Makes room for `bytes`; what was there is lost.
  void reserve(std::uint64_t bytes) {
    if (bytes <= bytes_) return;
    require_peer(cudaFree(data_), "cudaFree");
    data_  = nullptr;
    bytes_ = 0;
    require_peer(cudaMalloc(&data_, bytes), "cudaMalloc");
    bytes_ = bytes;
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_;
};

}  // namespace bench
