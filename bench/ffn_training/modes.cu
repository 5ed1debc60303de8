// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The modes of a run, made at set-up.
#include <bench/ffn_training/modes.hpp>

#include <algorithm>

#include <bench/ffn_training/fp8_storage.hpp>

namespace ffn {

bool is_codec(std::string const& name, codec_choice& codec) {
  if (name == "fast") {
    codec = codec_choice::fast;
  } else if (name == "sign") {
    codec = codec_choice::sign;
  } else if (name == "compact") {
    codec = codec_choice::compact;
  } else {
    return false;
  }
  return true;
}

training_setup::training_setup(ffn_shape const& shape,
                               bool gradients_in_fp32,
                               double zeros,
                               std::uint64_t seed,
                               cudaStream_t stream,
                               element_choice element)
    : stream_(stream), free_at_start_(free_device_bytes()) {
  gemms_ = std::make_unique<gemms>(shared_memory_);
  if (element == element_choice::e4m3) {
    auto made = std::make_unique<fp8_network>(shape, gradients_in_fp32, shared_memory_, *gemms_);
    fp8_      = made.get();
    network_  = std::move(made);
  } else {
    network_ =
        std::make_unique<network>(shape, element, gradients_in_fp32, shared_memory_, *gemms_);
  }
  std::uint64_t const between = free_device_bytes();
  shared_measured_            = free_at_start_ - between;
  matrices_       = std::make_unique<dense_matrices>(shape, element, shape.layers, dense_memory_);
  dense_measured_ = between - free_device_bytes();
  dense_          = fp8_ != nullptr ? make_fp8_dense_storage(*fp8_, *matrices_)
                                    : make_dense_storage(*network_, *matrices_);
  network_->initialize(zeros, seed, stream);
  auto& dense    = modes_.emplace_back();
  dense.how.name = "dense";
  dense.how.layers.assign(static_cast<std::size_t>(shape.layers), dense_.get());
  no_sink drops;
  run_step(*network_, dense.how, drops, stream);
  require_cuda(cudaStreamSynchronize(stream), "the first dense step");
}

std::unique_ptr<compressed_storage> training_setup::make_storage(codec_choice codec,
                                                                 int num_compressed,
                                                                 slab_counts slabs,
                                                                 device_allocations& memory) {
  if (fp8_ != nullptr) {
    return make_fp8_compressed_storage(*fp8_, codec, num_compressed, slabs, memory);
  }
  return make_compressed_storage(*network_, codec, num_compressed, slabs, memory);
}

void training_setup::make_arena(built_mode& one,
                                codec_choice codec,
                                int num_compressed,
                                slab_counts slabs) {
  one.how.compressed = nullptr;
  one.storage.reset();  // before the memory that it points to
  one.memory.reset();
  std::uint64_t const before = free_device_bytes();
  one.memory                 = std::make_unique<device_allocations>();
  auto made                  = make_storage(codec, num_compressed, slabs, *one.memory);
  one.measured_bytes         = before - free_device_bytes();
  one.planned_slabs          = slabs.device;
  one.how.compressed         = made.get();
  std::fill_n(one.how.layers.begin(), num_compressed, made.get());
  one.storage = std::move(made);
}

std::string training_setup::add_codec(built_mode& one,
                                      codec_choice codec,
                                      int num_compressed,
                                      slab_plan const& plan) {
  if (num_compressed == 0) return {};
  one.how.num_compressed = num_compressed;
  if (plan.slabs.device != 0) {
    make_arena(one, codec, num_compressed, plan.slabs);
    return {};
  }
  make_arena(one,
             codec,
             num_compressed,
             {planned_slabs(network_->shape(),
                            network_->element(),
                            codec,
                            num_compressed,
                            std::min(plan.density, 1.0))});
  if (plan.density >= 1) return {};
  no_sink drops;
  run_step(*network_, one.how, drops, stream_);
  auto const report = one.how.compressed->report(stream_);
  make_arena(one,
             codec,
             num_compressed,
             {std::max<std::uint64_t>(bitsparse::planned_slabs(report, plan.headroom), 1)});
  return {};
}

/// A mode that is no codec's.
std::string training_setup::add_other(built_mode& one) {
  std::string const& name = one.how.name;
  if (name == "dense_again") return {};  // what two modes differ by that are the same
  std::uint64_t const before = free_device_bytes();
  bool const uses_bits       = name == "dense_epilogue_bits";
  one.memory                 = std::make_unique<device_allocations>();
  if (name == "recomputation") {
    one.storage =
        fp8_ != nullptr ? make_fp8_recomputing_storage(*fp8_) : make_recomputing_storage(*network_);
  } else if (name == "dense_epilogue" || uses_bits) {
    if (fp8_ != nullptr) return "it is one of bf16 alone";
    if (uses_bits && network_->shape().act != activation::relu) {
      return "ReLU's gradient alone is a bit mask";
    }
    one.storage = make_epilogue_storage(*network_, *matrices_, uses_bits, *one.memory, stream_);
    if (one.storage == nullptr) return "cuBLASLt has no algorithm with this epilogue";
  } else {
    return "there is no such mode";
  }
  one.measured_bytes = before - free_device_bytes();
  std::fill(one.how.layers.begin(), one.how.layers.end(), one.storage.get());
  return {};
}

std::string training_setup::add(std::string const& name,
                                int num_compressed,
                                slab_plan const& plan) {
  built_mode one;
  one.how.name   = name;
  one.how.layers = modes_.front().how.layers;
  codec_choice codec{};
  if (is_codec(name, codec)) {
    if (num_compressed != network_->shape().layers) {
      one.how.name += ":" + std::to_string(num_compressed);
    }
    std::string const problem = add_codec(one, codec, num_compressed, plan);
    if (!problem.empty()) return problem;
  } else if (std::string const problem = add_other(one); !problem.empty()) {
    return problem;
  }
  modes_.push_back(std::move(one));
  no_sink drops;
  run_step(*network_, modes_.back().how, drops, stream_);
  require_cuda(cudaStreamSynchronize(stream_), "a mode's first step");
  return {};
}

byte_counts training_setup::needed_bytes(built_mode const& one) const {
  ffn_shape const& shape   = network_->shape();
  byte_counts counts       = shared_memory_.counts();
  int const num_other      = shape.layers - one.how.num_compressed;
  bool const is_compressed = one.how.compressed != nullptr;
  bool const keeps_its_own = one.storage != nullptr;
  int const num_scratch =
      std::max(keeps_its_own ? one.storage->num_scratch() : 0,
               keeps_its_own && (!is_compressed || num_other == 0) ? 0 : dense_->num_scratch());
  counts[category::scratch] -= static_cast<std::uint64_t>(2 - num_scratch) * shape.range_rows() *
                               shape.hidden * sizeof(bf16);
  if (is_compressed) {
    counts[category::activations] += one.storage->kept_bytes(one.how.num_compressed);
    counts[category::activations] += dense_->kept_bytes(num_other);
  } else if (keeps_its_own) {
    counts[category::activations] += one.storage->kept_bytes(shape.layers);
  } else {
    counts[category::activations] += dense_->kept_bytes(shape.layers);
  }
  return counts;
}

std::uint64_t training_setup::measured_bytes(built_mode const& one) const {
  auto const layers         = static_cast<std::uint64_t>(network_->shape().layers);
  auto const num_other      = layers - static_cast<std::uint64_t>(one.how.num_compressed);
  bool const uses_no_dense  = one.how.name == "recomputation";
  std::uint64_t const dense = uses_no_dense ? 0 : dense_measured_ * num_other / layers;
  return shared_measured_ + dense + one.measured_bytes;
}

}  // namespace ffn
