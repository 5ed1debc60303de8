// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The modes of a run, made at set-up: what they share, and what each takes for itself.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <bench/ffn_training/fp8_network.hpp>
#include <bench/ffn_training/network.hpp>
#include <bench/ffn_training/step.hpp>
#include <bench/ffn_training/storage.hpp>

namespace ffn {

/// A mode and the memory that is its own.
struct built_mode {
  mode how;
  std::unique_ptr<device_allocations> memory;
  std::unique_ptr<activation_storage> storage;  // none for dense alone
  std::uint64_t measured_bytes = 0;             // of its own memory, by cudaMemGetInfo
  std::uint64_t planned_slabs  = 0;
};

/// How an arena's number of slabs is found.
struct slab_plan {
  slab_counts slabs = {};    // as given; none: from what one step reports that it needed
  double density    = 1;     // expected, for that step
  double headroom   = 1.02;  // on what it needed
};

/// The network, the dense mode, and the modes that are added. Constructed, it has run one dense
/// step, so that all algorithms are chosen.
class training_setup {
 public:
  training_setup(ffn_shape const& shape,
                 bool gradients_in_fp32,
                 double zeros,
                 std::uint64_t seed,
                 cudaStream_t stream,
                 element_choice element = element_choice::bf16);

  /// Adds a mode. Synchronises.
  /// @param num_compressed layers, of a codec's mode
  /// @return what keeps it from existing, or an empty text
  std::string add(std::string const& name, int num_compressed, slab_plan const& plan);

  network& net() { return *network_; }
  gemms& multiplications() { return *gemms_; }
  device_allocations& memory() { return shared_memory_; }
  dense_matrices const& dense_activations() const { return *matrices_; }
  activation_storage const& dense() const { return *dense_; }
  cudaStream_t stream() const { return stream_; }
  /// The dense mode first.
  std::deque<built_mode>& modes() { return modes_; }
  std::deque<built_mode> const& modes() const { return modes_; }

  /// Device memory that a run in this mode alone needs, by category.
  byte_counts needed_bytes(built_mode const& one) const;
  /// The same, as cudaMemGetInfo saw it taken; unused scratch included.
  std::uint64_t measured_bytes(built_mode const& one) const;
  std::uint64_t free_at_start() const { return free_at_start_; }

 private:
  std::string add_codec(built_mode& one,
                        codec_choice codec,
                        int num_compressed,
                        slab_plan const& plan);
  std::string add_other(built_mode& one);
  std::unique_ptr<compressed_storage> make_storage(codec_choice codec,
                                                   int num_compressed,
                                                   slab_counts slabs,
                                                   device_allocations& memory);
  void make_arena(built_mode& one, codec_choice codec, int num_compressed, slab_counts slabs);

  cudaStream_t stream_;
  std::uint64_t free_at_start_;
  device_allocations shared_memory_, dense_memory_;
  std::unique_ptr<gemms> gemms_;
  std::unique_ptr<network> network_;
  fp8_network* fp8_ = nullptr;  // the network, in e4m3
  std::unique_ptr<dense_matrices> matrices_;
  std::unique_ptr<activation_storage> dense_;
  std::uint64_t shared_measured_ = 0, dense_measured_ = 0;
  std::deque<built_mode> modes_;
};

bool is_codec(std::string const& name, codec_choice& codec);

}  // namespace ffn
