// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The measurement of all modes, interleaved, against the dense one.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <bench/ffn_training/command_line.hpp>
#include <bench/ffn_training/json.hpp>
#include <bench/ffn_training/modes.hpp>
#include <bench/ffn_training/step.hpp>

namespace ffn {

/// What is known of a mode besides its times.
struct findings {
  bool is_equal = false;  // gradients to the dense mode's
  std::vector<layer_content> contents;
  bitsparse::arena_report first_step{};  // since the arena's set-up
  bitsparse::arena_report later{};       // in all measured steps
  std::unique_ptr<captured_work> graph;
  std::vector<double> eager_ms, graph_ms;  // (rounds,)
};

class measurement {
 public:
  explicit measurement(options const& chosen, cudaStream_t stream)
      : chosen_(chosen),
        stream_(stream),
        setup_(chosen.shape, chosen.gradients_in_fp32, chosen.zeros, 1, stream, chosen.element) {
    if (chosen.learning_rate > 0) {
      sink_ = std::make_unique<descent_sink>(chosen.learning_rate);
    } else {
      sink_ = std::make_unique<no_sink>();
    }
  }
  int run() {
    add_modes();
    found_.resize(setup_.modes().size());
    measure_density();
    if (chosen_.verify) verify();
    measure_operations();
    if (!chosen_.multiplies) leave_out_products();
    observe();
    measure_copy_rate();
    capture();
    time();
    finish();
    report();
    return failures_.empty() ? 0 : 1;
  }

 private:
  void add_modes();
  void measure_density();
  void verify();
  void measure_operations();
  void leave_out_products();
  void observe();
  void measure_copy_rate();
  void capture();
  void time();
  void finish();
  void report();
  void print_table() const;
  json_object describe(std::size_t i) const;
  json_object describe_run() const;
  json_object describe_arena(std::size_t i) const;
  void fail(std::string const& text) {
    std::fprintf(stderr, "FAILED: %s\n", text.c_str());
    failures_.push_back(text);
  }
  std::vector<double> const& times_of(std::size_t i) const {
    return chosen_.times_graph ? found_[i].graph_ms : found_[i].eager_ms;
  }
  double dense_layer_bytes() const {
    return static_cast<double>(chosen_.shape.hidden_values() * bytes_of(chosen_.element));
  }
  double stored_bytes(std::size_t i, std::size_t layer) const;
  std::vector<double> densities(std::size_t i) const;
  double moved_bytes(std::size_t i) const;
  double max_tokens(built_mode const& one) const;
  double compression_ratio(std::size_t i) const;

  options const& chosen_;
  cudaStream_t stream_;
  training_setup setup_;
  std::unique_ptr<gradient_sink> sink_;
  bench::event_timer timer_;
  std::vector<findings> found_;
  std::vector<double> density_;  // (layers,), of the dense mode
  std::vector<std::string> failures_, absent_;
  double copy_bytes_per_ms_ = 0, operations_ = 0;
};

}  // namespace ffn
