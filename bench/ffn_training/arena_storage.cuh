// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Activations in a bitsparse arena, one tensor per layer and row range: all but the operations
/// that fill and empty them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <bench/ffn_training/storage.hpp>
#include <bitsparse/bitsparse.cuh>

namespace ffn {

namespace bs = bitsparse;

/// Of activations in e4m3, which are also wanted transposed: columns of a tile are 64 bytes, which are
/// written faster than the default tile's 32 (docs/tuning.md).
using e4m3_format = bs::tile_format<bs::fp8_e4m3, 64, 128>;

inline void require(bs::status result, char const* what) {
  if (result.ok()) return;
  std::fprintf(stderr, "%s: %s", what, result.text());
  if (result.code() == bs::status_code::cuda_error) {
    std::fprintf(stderr, ": %s", cudaGetErrorString(static_cast<cudaError_t>(result.native())));
  }
  std::fprintf(stderr, "\n");
  std::exit(1);
}

/// Zeroed, pinned host memory for reports.
template <class Report>
class pinned_slots {
 public:
  explicit pinned_slots(std::size_t count) {
    std::size_t const bytes = count * sizeof(bs::report_slot<Report>);
    void* memory            = nullptr;
    require_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    std::memset(memory, 0, bytes);
    slots_ = static_cast<bs::report_slot<Report>*>(memory);
  }
  pinned_slots(pinned_slots const&)            = delete;
  pinned_slots& operator=(pinned_slots const&) = delete;
  ~pinned_slots() { cudaFreeHost(slots_); }

  bs::report_slot<Report>* operator[](std::size_t i) const { return slots_ + i; }
  /// The report in slot i, when the stream has delivered it.
  Report read(std::size_t i) const {
    Report content{};
    if (bs::read_report(slots_ + i, content)) return content;
    std::fprintf(stderr, "a report was not delivered\n");
    std::exit(1);
  }

 private:
  bs::report_slot<Report>* slots_ = nullptr;
};

/// Pinned host memory that the device can address; none, if of 0 bytes.
class mapped_memory {
 public:
  explicit mapped_memory(std::uint64_t bytes) {
    if (bytes != 0)
      require_cuda(cudaHostAlloc(&memory_, bytes, cudaHostAllocMapped), "cudaHostAlloc");
  }
  mapped_memory(mapped_memory const&)            = delete;
  mapped_memory& operator=(mapped_memory const&) = delete;
  ~mapped_memory() { cudaFreeHost(memory_); }

  void* device_pointer() const {
    void* mapped = nullptr;
    if (memory_ != nullptr)
      require_cuda(cudaHostGetDevicePointer(&mapped, memory_, 0), "cudaHostGetDevicePointer");
    return mapped;
  }

 private:
  void* memory_ = nullptr;
};

/// @tparam Format of the tensors
template <class Format>
class arena_storage : public compressed_storage {
 public:
  arena_storage(network& of, int num_layers, slab_counts slabs, device_allocations& memory)
      : network_(of),
        num_layers_(num_layers),
        num_ranges_(of.ranges().size()),
        statistics_(num_ranges_ * static_cast<std::size_t>(num_layers)),
        report_(1),
        host_slabs_(slabs.host * bs::default_slab_bytes) {
    std::uint64_t const bytes = bs::arena_bytes(slabs.device, slabs.host, bs::default_slab_bytes);
    require(bs::make_arena(memory.allocate<char>(category::activations, bytes),
                           slabs.device,
                           host_slabs_.device_pointer(),
                           slabs.host,
                           bs::default_slab_bytes,
                           arena_),
            "arena");
    require(bs::reset(arena_, nullptr), "arena reset");
    arena_bytes_ = bytes;
    for (int layer = 0; layer < num_layers; ++layer) {
      for (auto const& rows : of.ranges()) add_tensor(rows, memory);
    }
    require_cuda(cudaStreamSynchronize(nullptr), "arena set-up");
  }

  std::uint64_t kept_bytes(int) const override { return arena_bytes_ + metadata_bytes_; }
  int num_scratch() const override { return 2; }

  void observe(bool is_observed) override { is_observed_ = is_observed; }
  std::vector<layer_content> contents(cudaStream_t stream) override {
    require_cuda(cudaStreamSynchronize(stream), "the step before the statistics");
    std::vector<layer_content> result(static_cast<std::size_t>(num_layers_));
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      bs::tensor_statistics const one = statistics_.read(i);
      auto& layer                     = result[i / num_ranges_];
      layer.kept += static_cast<double>(one.kept);
      layer.chunk_bytes += static_cast<double>(one.chunk_bytes);
      layer.slabs += static_cast<double>(one.slabs);
    }
    return result;
  }
  bs::arena_report report(cudaStream_t stream) override {
    require(bs::report(arena_, report_[0], stream), "arena report");
    require_cuda(cudaStreamSynchronize(stream), "the step before the arena's report");
    return report_.read(0);
  }
  void clear(cudaStream_t stream) override { require(bs::clear(arena_, stream), "arena clear"); }
  std::uint64_t slab_bytes() const override { return arena_.slab_bytes(); }
  std::uint64_t num_slabs() const override { return arena_.num_slabs(); }
  std::uint64_t metadata_bytes() const override { return metadata_bytes_; }

 protected:
  bs::arena_tensor_view<Format> const& tensor(int layer, row_range const& rows) const {
    return tensors_[index(layer, rows)];
  }
  /// When a tensor has been filled.
  void report_content(int layer, row_range const& rows, cudaStream_t stream) {
    std::size_t const i = index(layer, rows);
    if (is_observed_) require(bs::report(tensors_[i], statistics_[i], stream), "report");
  }

 private:
  std::size_t index(int layer, row_range const& rows) const {
    return static_cast<std::size_t>(layer) * num_ranges_ + static_cast<std::size_t>(rows.index);
  }
  void add_tensor(row_range const& rows, device_allocations& memory) {
    std::uint64_t const cols = network_.shape().hidden;
    std::uint64_t const bytes =
        bs::arena_tensor_bytes<Format>(rows.rows, cols, arena_.slab_bytes());
    tensors_.push_back(bs::make_arena_tensor<Format>(
        memory.allocate<char>(category::activations, bytes), rows.rows, cols, arena_));
    metadata_bytes_ += bytes;
  }

  network& network_;
  int num_layers_;
  std::size_t num_ranges_;
  pinned_slots<bs::tensor_statistics> statistics_;  // (layers, ranges)
  pinned_slots<bs::arena_report> report_;           // (1,)
  mapped_memory host_slabs_;
  bs::arena_view arena_;
  std::vector<bs::arena_tensor_view<Format>> tensors_;  // (layers, ranges)
  std::uint64_t arena_bytes_    = 0;
  std::uint64_t metadata_bytes_ = 0;
  bool is_observed_             = false;
};

/// Slabs that suffice for one layer of about this density.
template <class Format, class Codec>
std::uint64_t planned_layer_slabs(ffn_shape const& shape, double density) {
  std::uint64_t slabs = 0;
  for (auto const& rows : shape.row_ranges()) {
    slabs += bs::planned_slabs<Format, Codec>(rows.rows, shape.hidden, density);
  }
  return slabs;
}
template <class Format>
std::uint64_t planned_layer_slabs(ffn_shape const& shape, codec_choice codec, double density) {
  return codec == codec_choice::fast ? planned_layer_slabs<Format, bs::codec::fast>(shape, density)
         : codec == codec_choice::sign
             ? planned_layer_slabs<Format, bs::codec::sign>(shape, density)
             : planned_layer_slabs<Format, bs::codec::compact>(shape, density);
}

/// A storage of arena tensors for the shape's activation and the codec.
/// @tparam Storage <Codec, forward op, backward op>
template <template <class, class, class> class Storage, class Codec, class Network>
std::unique_ptr<compressed_storage> make_arena_storage(Network& of,
                                                       int num_layers,
                                                       slab_counts slabs,
                                                       device_allocations& memory) {
  if (of.shape().act == activation::relu_squared) {
    return std::make_unique<Storage<Codec, bs::relu_squared, bs::square_and_gradient>>(
        of, num_layers, slabs, memory);
  }
  return std::make_unique<Storage<Codec, bs::relu, bs::value_and_relu_gradient>>(
      of, num_layers, slabs, memory);
}
template <template <class, class, class> class Storage, class Network>
std::unique_ptr<compressed_storage> make_arena_storage(Network& of,
                                                       codec_choice codec,
                                                       int num_layers,
                                                       slab_counts slabs,
                                                       device_allocations& memory) {
  switch (codec) {
    case codec_choice::fast:
      return make_arena_storage<Storage, bs::codec::fast>(of, num_layers, slabs, memory);
    case codec_choice::sign:
      return make_arena_storage<Storage, bs::codec::sign>(of, num_layers, slabs, memory);
    default:
      return make_arena_storage<Storage, bs::codec::compact>(of, num_layers, slabs, memory);
  }
}

}  // namespace ffn
