// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Times all modes, interleaved.
#include <bench/ffn_training/measure.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <bench/ffn_training/measurement.hpp>
#include <bench/ffn_training/sample.hpp>

namespace ffn {

// -------------------------------------------------------------------------------------------------
// Set-up
// -------------------------------------------------------------------------------------------------

void measurement::add_modes() {
  std::vector<std::string> names = chosen_.modes;
  bool const is_bf16             = chosen_.element == element_choice::bf16;
  if (names.empty()) names = {"dense_again", "recomputation", "fast", "sign", "compact"};
  if (chosen_.modes.empty() && is_bf16) {
    if (chosen_.shape.act == activation::relu) names.insert(names.begin(), "dense_epilogue_bits");
    names.insert(names.begin(), "dense_epilogue");
  }
  std::vector<int> counts = chosen_.compressed_layers;
  if (counts.empty()) counts = {chosen_.shape.layers};
  // More than what is expected: this is for the step that the arena is planned from.
  slab_plan const plan{
      {chosen_.slabs}, std::min(1.0, 1.1 * (1 - chosen_.zeros) + 0.05), chosen_.headroom};
  for (auto const& name : names) {
    codec_choice codec{};
    if (name == "dense") continue;
    for (int const count : is_codec(name, codec) ? counts : std::vector<int>{0}) {
      std::string const problem = setup_.add(name, count, plan);
      if (problem.empty()) continue;
      std::printf("no mode %s: %s\n", name.c_str(), problem.c_str());
      absent_.push_back(name + ": " + problem);
    }
  }
}

/// Of what the last dense step saved.
void measurement::measure_density() {
  no_sink drops;
  run_step(setup_.net(), setup_.modes().front().how, drops, stream_);
  device_allocations memory;
  auto const layers = static_cast<std::size_t>(chosen_.shape.layers);
  auto* const kept  = memory.allocate<unsigned long long>(category::other, layers);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    void const* const saved   = setup_.dense_activations().layers[layer];
    std::uint64_t const count = chosen_.shape.hidden_values();
    if (chosen_.element == element_choice::e4m3) {
      count_kept(static_cast<e4m3 const*>(saved), count, kept + layer, stream_);
    } else {
      count_kept(static_cast<bf16 const*>(saved), count, kept + layer, stream_);
    }
  }
  std::vector<unsigned long long> counts(layers);
  require_cuda(
      cudaMemcpyAsync(counts.data(), kept, layers * sizeof(*kept), cudaMemcpyDeviceToHost, stream_),
      "cudaMemcpyAsync");
  require_cuda(cudaStreamSynchronize(stream_), "a dense step");
  for (auto const count : counts) {
    density_.push_back(static_cast<double>(count) /
                       static_cast<double>(chosen_.shape.hidden_values()));
  }
}

/// All weights' gradients, and the one at the input, by checksum.
void measurement::verify() {
  checksum_sink checksums(setup_.net(), setup_.memory());
  std::vector<unsigned long long> expected;
  for (std::size_t i = 0; i < setup_.modes().size(); ++i) {
    auto const& how = setup_.modes()[i].how;
    checksums.begin(stream_);
    run_step(setup_.net(), how, checksums, stream_);
    auto const sums = checksums.sums(stream_);
    if (i == 0) expected = sums;
    found_[i].is_equal    = sums == expected;
    bool const may_differ = how.name.rfind("dense_epilogue", 0) == 0;  // another algorithm
    if (!found_[i].is_equal && !may_differ) fail(how.name + ": its gradients are not dense's");
  }
}

void measurement::measure_operations() {
  no_sink drops;
  setup_.multiplications().reset_operations();
  run_step(setup_.net(), setup_.modes().front().how, drops, stream_);
  operations_ = setup_.multiplications().operations();
}

/// From here on every product is a copy of what the dense step computed.
void measurement::leave_out_products() {
  no_sink drops;
  setup_.multiplications().choose(products::kept);
  run_step(setup_.net(), setup_.modes().front().how, drops, stream_);
  setup_.multiplications().choose(products::copied);
}

void measurement::observe() {
  no_sink drops;
  for (std::size_t i = 0; i < setup_.modes().size(); ++i) {
    auto const& how = setup_.modes()[i].how;
    if (how.compressed == nullptr) continue;
    found_[i].first_step = how.compressed->report(stream_);
    how.compressed->observe(true);
    run_step(setup_.net(), how, drops, stream_);
    found_[i].contents = how.compressed->contents(stream_);
    how.compressed->observe(false);
    how.compressed->clear(stream_);
    if (found_[i].first_step.conditions != 0) {
      fail(how.name + ": the arena has a condition after its first step; it needed " +
           std::to_string(found_[i].first_step.needed_slabs) + " slabs");
    }
  }
}

/// Bytes read and written by a device-to-device copy.
void measurement::measure_copy_rate() {
  std::uint64_t const bytes = chosen_.shape.range_rows() * chosen_.shape.hidden * sizeof(bf16);
  constexpr int copies      = 8;
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    times.push_back(timer_.milliseconds(
        [&] {
          for (int copy = 0; copy < copies; ++copy) {
            require_cuda(cudaMemcpyAsync(setup_.net().hidden[copy % 2],
                                         setup_.net().hidden[1 - copy % 2],
                                         bytes,
                                         cudaMemcpyDeviceToDevice,
                                         stream_),
                         "cudaMemcpyAsync");
          }
        },
        stream_));
  }
  copy_bytes_per_ms_ = 2.0 * copies * static_cast<double>(bytes) / summarize(times).median;
}

// -------------------------------------------------------------------------------------------------
// Measuring
// -------------------------------------------------------------------------------------------------

void measurement::capture() {
  if (!chosen_.times_graph) return;
  for (std::size_t i = 0; i < setup_.modes().size(); ++i) {
    auto const& how = setup_.modes()[i].how;
    found_[i].graph = std::make_unique<captured_work>(
        [&] { run_step(setup_.net(), how, *sink_, stream_); }, stream_);
  }
}

/// Every mode once per round; the order is turned and reversed from round to round, so that no mode
/// always follows the same one.
void measurement::time() {
  std::size_t const count = setup_.modes().size();
  for (int round = -chosen_.warm_up; round < chosen_.rounds; ++round) {
    for (std::size_t turn = 0; turn < count; ++turn) {
      std::size_t const place = round % 2 == 0 ? turn : count - 1 - turn;
      std::size_t const i     = (place + static_cast<std::size_t>(round + chosen_.warm_up)) % count;
      auto const& how         = setup_.modes()[i].how;
      if (chosen_.times_eager) {
        double const ms =
            timer_.milliseconds([&] { run_step(setup_.net(), how, *sink_, stream_); }, stream_);
        if (round >= 0) found_[i].eager_ms.push_back(ms);
      }
      if (chosen_.times_graph) {
        double const ms = timer_.milliseconds([&] { found_[i].graph->replay(stream_); }, stream_);
        if (round >= 0) found_[i].graph_ms.push_back(ms);
      }
    }
  }
}

void measurement::finish() {
  for (std::size_t i = 0; i < setup_.modes().size(); ++i) {
    auto const& how = setup_.modes()[i].how;
    if (how.compressed == nullptr) continue;
    found_[i].later = how.compressed->report(stream_);
    if (found_[i].later.conditions != 0) {
      fail(how.name + ": the arena has condition " + std::to_string(found_[i].later.conditions) +
           " after the measured steps; it needed " + std::to_string(found_[i].later.needed_slabs) +
           " slabs");
    }
    if (found_[i].later.device_slabs_in_use != 0) {
      fail(how.name + ": slabs are in use after the last step");
    }
  }
}

int measure(options const& chosen) {
  cudaStream_t stream = nullptr;
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "no CUDA device");
  int result = 0;
  try {
    result = measurement(chosen, stream).run();
  } catch (std::exception const& error) {
    std::fprintf(stderr, "FAILED: %s\n", error.what());
    result = 1;
  }
  require_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return result;
}

}  // namespace ffn
