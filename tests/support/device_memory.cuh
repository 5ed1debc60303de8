// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Device memory between guards, for tests that must notice a byte written too far.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <tests/support/guarded_buffer.hpp>

namespace bitsparse_test {

/// Ends the test program where a CUDA call failed: nothing after it could be trusted.
inline void require_cuda(cudaError_t error, char const* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// The twin of a guarded_buffer in device memory.
class device_buffer {
 public:
  /// Guards and poison.
  explicit device_buffer(std::size_t bytes,
                         std::size_t offset_bytes = 0,
                         unsigned char poison     = 0x5a)
      : host_(bytes, offset_bytes, poison) {
    require_cuda(cudaMalloc(&memory_, host_.whole_bytes()), "cudaMalloc");
    upload();
  }
  /// A copy of a host buffer, guards included.
  explicit device_buffer(guarded_buffer const& source)
      : host_(source.bytes(), source.data_offset_bytes() - guarded_buffer::guard_bytes) {
    std::memcpy(host_.whole(), source.whole(), source.whole_bytes());
    require_cuda(cudaMalloc(&memory_, host_.whole_bytes()), "cudaMalloc");
    upload();
  }
  ~device_buffer() { cudaFree(memory_); }
  device_buffer(device_buffer const&)            = delete;
  device_buffer& operator=(device_buffer const&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(memory_) + host_.data_offset_bytes(); }
  std::size_t bytes() const { return host_.bytes(); }

  /// The host's copy; waits for the device when it is brought up to date.
  guarded_buffer& host() { return host_; }
  guarded_buffer& download() {
    require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    require_cuda(cudaMemcpy(host_.whole(), memory_, host_.whole_bytes(), cudaMemcpyDeviceToHost),
                 "download");
    return host_;
  }
  void upload() {
    require_cuda(cudaMemcpy(memory_, host_.whole(), host_.whole_bytes(), cudaMemcpyHostToDevice),
                 "upload");
  }

 private:
  guarded_buffer host_;
  void* memory_ = nullptr;
};

}  // namespace bitsparse_test
