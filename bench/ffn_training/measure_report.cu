// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What a measurement says of time and memory, as a table and as JSON.
#include <cstdio>
#include <string>
#include <vector>

#include <bench/ffn_training/measurement.hpp>
#include <bench/ffn_training/sample.hpp>

namespace ffn {
namespace {

constexpr double mib = 1 << 20;

json_object summarized(std::vector<double> const& values) {
  summary const all = summarize(values);
  json_object result;
  result.add("mean", all.mean).add("interval95", all.interval).add("median", all.median);
  return result;
}

}  // namespace

// -------------------------------------------------------------------------------------------------
// Derived figures
// -------------------------------------------------------------------------------------------------

/// Of one layer: chunks and descriptors.
double measurement::stored_bytes(std::size_t i, std::size_t layer) const {
  auto const& how = setup_.modes()[i].how;
  return found_[i].contents[layer].chunk_bytes +
         static_cast<double>(how.compressed->metadata_bytes()) / how.num_compressed;
}

double measurement::compression_ratio(std::size_t i) const {
  double stored = 0;
  for (std::size_t layer = 0; layer < found_[i].contents.size(); ++layer) {
    stored += stored_bytes(i, layer);
  }
  return dense_layer_bytes() * static_cast<double>(found_[i].contents.size()) / stored;
}

/// By layer: of the compressed ones, or of the dense mode's.
std::vector<double> measurement::densities(std::size_t i) const {
  std::vector<double> result;
  for (auto const& layer : found_[i].contents) {
    result.push_back(layer.kept / static_cast<double>(chosen_.shape.hidden_values()));
  }
  return result.empty() ? density_ : result;
}

/// Of the element-wise work of all layers.
double measurement::moved_bytes(std::size_t i) const {
  auto const& how = setup_.modes()[i].how;
  double bytes    = 0;
  for (std::size_t layer = 0; layer < how.layers.size(); ++layer) {
    double const stored =
        layer < found_[i].contents.size() ? stored_bytes(i, layer) : dense_layer_bytes();
    bytes += how.layers[layer]->moved_bytes(dense_layer_bytes(), stored);
  }
  return bytes;
}

/// Weights, their gradients, workspace and scratch stay as they are (more ranges of the same size);
/// the residual stream and the activations grow with the number of tokens.
double measurement::max_tokens(built_mode const& one) const {
  byte_counts const counts = setup_.needed_bytes(one);
  auto const growing =
      static_cast<double>(counts[category::residual_stream] + counts[category::activations]);
  double const fixed = static_cast<double>(counts.total()) - growing;
  return (static_cast<double>(setup_.free_at_start()) - fixed) /
         (growing / static_cast<double>(chosen_.shape.tokens));
}

// -------------------------------------------------------------------------------------------------
// Report
// -------------------------------------------------------------------------------------------------

json_object measurement::describe_arena(std::size_t i) const {
  auto const& mode  = setup_.modes()[i];
  auto const& found = found_[i];
  std::vector<double> chunk_bytes;
  double slabs = 0;
  for (auto const& layer : found.contents) {
    chunk_bytes.push_back(layer.chunk_bytes);
    slabs += layer.slabs;
  }
  double chunks = 0;
  for (double const bytes : chunk_bytes) chunks += bytes;
  auto const slab_bytes = static_cast<double>(mode.how.compressed->slab_bytes());
  json_object result;
  result.add("slab_bytes", mode.how.compressed->slab_bytes())
      .add("slabs", mode.how.compressed->num_slabs())
      .add("peak_slabs_step_0", found.first_step.peak_device_slabs)
      .add("peak_slabs_later", found.later.peak_device_slabs)
      .add("peak_slab_bytes_step_0", found.first_step.peak_device_slabs * slab_bytes)
      .add("peak_slab_bytes_later", found.later.peak_device_slabs * slab_bytes)
      .add("conditions", found.later.conditions)
      .add("metadata_bytes", mode.how.compressed->metadata_bytes())
      .add("density_by_layer", densities(i))
      .add("chunk_bytes_by_layer", chunk_bytes)
      .add("slab_bytes_over_chunk_bytes", slabs * slab_bytes / chunks)
      .add("compression_ratio", compression_ratio(i));
  return result;
}

json_object measurement::describe(std::size_t i) const {
  auto const& mode         = setup_.modes()[i];
  auto const& found        = found_[i];
  byte_counts const counts = setup_.needed_bytes(mode);
  json_object result, bytes;
  for (std::size_t c = 0; c < num_categories; ++c) bytes.add(category_names[c], counts.bytes[c]);
  bytes.add("total", counts.total()).add("by_cudaMemGetInfo", setup_.measured_bytes(mode));
  result.add("mode", mode.how.name).add("compressed_layers", mode.how.num_compressed);
  if (chosen_.verify) result.add("gradients_equal_dense", found.is_equal);
  result.add("peak_bytes", bytes)
      .add("activation_bytes_per_token",
           static_cast<double>(counts[category::activations]) /
               static_cast<double>(chosen_.shape.tokens))
      .add("max_tokens", max_tokens(mode))
      .add("element_wise_bytes", moved_bytes(i))
      .add("predicted_extra_ms", (moved_bytes(i) - moved_bytes(0)) / copy_bytes_per_ms_)
      .add("measured_extra_ms", summarized(differences(times_of(i), times_of(0))));
  auto const add_times =
      [&](char const* key, std::vector<double> const& times, std::vector<double> const& dense) {
        json_object timed = summarized(times);
        timed.add("ratio_to_dense", summarized(ratios(times, dense))).add("all_ms", times);
        result.add(key, timed);
      };
  if (chosen_.times_eager) add_times("eager_ms", found.eager_ms, found_[0].eager_ms);
  if (chosen_.times_graph) add_times("graph_ms", found.graph_ms, found_[0].graph_ms);
  if (!found.contents.empty()) result.add("arena", describe_arena(i));
  return result;
}

json_object measurement::describe_run() const {
  ffn_shape const& shape = chosen_.shape;
  cudaDeviceProp device{};
  require_cuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  json_object result;
  result.add("device", device.name)
      .add("cublaslt_version", static_cast<std::uint64_t>(cublasLtGetVersion()))
      .add("preset", chosen_.preset)
      .add("element", name_of(chosen_.element))
      .add("layers", shape.layers)
      .add("width", shape.width)
      .add("hidden", shape.hidden)
      .add("tokens", shape.tokens)
      .add("ranges", static_cast<std::uint64_t>(shape.row_ranges().size()))
      .add("range_rows", shape.range_rows())
      .add("activation", name_of(shape.act))
      .add("weight_gradients", chosen_.gradients_in_fp32 ? "fp32" : "bf16")
      .add("sgd_rate", chosen_.learning_rate)
      .add("products", chosen_.multiplies ? "computed" : "copied")
      .add("zeros_asked_for", chosen_.zeros)
      .add("density_by_layer", density_)
      .add("rounds", chosen_.rounds)
      .add("copy_bytes_per_ms", copy_bytes_per_ms_)
      .add("multiply_operations_dense", operations_)
      .add("free_bytes_at_start", setup_.free_at_start())
      .add("max_tokens_method",
           "(free bytes at start - weights, weight gradients, scratch, workspace, other) / (bytes "
           "of residual stream and activations at capacity per token of this run)");
  return result;
}

void measurement::print_table() const {
  std::printf("%-22s %9s %9s %22s %9s %9s %9s %10s %7s %8s %9s %15s\n",
              "mode",
              "eager ms",
              "graph ms",
              "ratio to dense",
              "peak MiB",
              "acts MiB",
              "B/token",
              "max tokens",
              "ratio",
              "density",
              "pred. ms",
              "extra ms");
  for (std::size_t i = 0; i < setup_.modes().size(); ++i) {
    auto const& mode         = setup_.modes()[i];
    byte_counts const counts = setup_.needed_bytes(mode);
    summary const ratio      = summarize(ratios(times_of(i), times_of(0)));
    summary const extra      = summarize(differences(times_of(i), times_of(0)));
    double density           = 0;
    for (double const layer : densities(i)) {
      density += layer / static_cast<double>(densities(i).size());
    }
    auto const activations = static_cast<double>(counts[category::activations]);
    std::printf(
        "%-22s %9.3f %9.3f %8.4f +- %.4f %s %9.1f %9.1f %9.0f %10.0f %7.3f %8.4f %9.3f %7.3f +- "
        "%.3f\n",
        mode.how.name.c_str(),
        summarize(found_[i].eager_ms).mean,
        summarize(found_[i].graph_ms).mean,
        ratio.mean,
        ratio.interval,
        !chosen_.verify || found_[i].is_equal ? "   " : "(*)",
        static_cast<double>(counts.total()) / mib,
        activations / mib,
        activations / static_cast<double>(chosen_.shape.tokens),
        max_tokens(mode),
        found_[i].contents.empty() ? 1.0 : compression_ratio(i),
        density,
        (moved_bytes(i) - moved_bytes(0)) / copy_bytes_per_ms_,
        extra.mean,
        extra.interval);
  }
}

void measurement::report() {
  ffn_shape const& shape = chosen_.shape;
  std::printf(
      "%s %s %s: %d layers, %llu -> %llu, %llu tokens in %zu ranges, %d rounds; dense: %.0f "
      "TFLOP/s; copy %.0f GB/s\n",
      chosen_.preset.c_str(),
      name_of(shape.act),
      name_of(chosen_.element),
      shape.layers,
      static_cast<unsigned long long>(shape.width),
      static_cast<unsigned long long>(shape.hidden),
      static_cast<unsigned long long>(shape.tokens),
      shape.row_ranges().size(),
      chosen_.rounds,
      operations_ / summarize(times_of(0)).mean / 1e9,
      copy_bytes_per_ms_ / 1e6);
  print_table();
  if (chosen_.verify) std::printf("(*) gradients are not the dense mode's, bit for bit\n");
  if (chosen_.json_file.empty()) return;
  std::vector<json_object> modes;
  for (std::size_t i = 0; i < setup_.modes().size(); ++i) modes.push_back(describe(i));
  json_object all = describe_run();
  all.add("modes", modes).add("absent_modes", absent_).add("failures", failures_);
  if (!all.write(chosen_.json_file)) fail("cannot write " + chosen_.json_file);
}

}  // namespace ffn
