// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Compares all modes' gradients with the dense mode's, bit for bit, also in replayed graphs while
/// the density changes.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <bench/ffn_training/gradient_copies.hpp>
#include <bench/ffn_training/measure.hpp>
#include <bench/ffn_training/modes.hpp>

namespace ffn {
namespace {

class checked_run {
 public:
  checked_run(options const& chosen, ffn_shape const& shape, cudaStream_t stream)
      : stream_(stream),
        setup_(shape, chosen.gradients_in_fp32, chosen.zeros, 3, stream, chosen.element),
        copies_(setup_.net(), setup_.memory()),
        compared_(copies_, setup_.memory()) {
    int const half = shape.layers / 2;
    add("recomputation", 0);
    if (chosen.element == element_choice::bf16) {
      add("dense_epilogue", 0);
      add("dense_epilogue_bits", 0);
    }
    for (char const* codec : {"fast", "sign", "compact"}) add(codec, shape.layers);
    add("sign", half);
  }
  /// @return how many comparisons failed
  int run();

 private:
  void add(std::string const& name, int num_compressed) {
    std::string const problem = setup_.add(name, num_compressed, {});
    if (!problem.empty()) std::printf("  no mode %s: %s\n", name.c_str(), problem.c_str());
  }
  void step(mode const& how) {
    poison(setup_.net(), stream_);
    compared_.begin(stream_);
    run_step(setup_.net(), how, compared_, stream_);
  }
  void dense_step() {
    copy_sink copies(copies_);
    poison(setup_.net(), stream_);
    run_step(setup_.net(), setup_.modes().front().how, copies, stream_);
  }
  int judge(mode const& how, char const* way, float constant_part);
  double density(mode const& how);

  cudaStream_t stream_;
  training_setup setup_;
  gradient_copies copies_;
  compare_sink compared_;
};

double checked_run::density(mode const& how) {
  double kept = 0, values = 0;
  for (auto const& layer : how.compressed->contents(stream_)) {
    kept += layer.kept;
    values += static_cast<double>(setup_.net().shape().hidden_values());
  }
  return kept / values;
}

int checked_run::judge(mode const& how, char const* way, float constant_part) {
  unsigned long long const differences = compared_.differences(stream_);
  bool const may_differ = how.name.rfind("dense_epilogue", 0) == 0;  // another algorithm
  std::uint32_t wrong   = 0;
  char described[64]    = "";
  if (how.compressed != nullptr) {
    auto const report = how.compressed->report(stream_);
    wrong             = report.conditions | report.device_slabs_in_use;
    std::snprintf(described, sizeof(described), ", density %.4f", density(how));
  }
  bool const is_right = wrong == 0 && (differences == 0 || may_differ);
  std::printf("  %-6s input %+.2f %-8s %-22s %llu words differ%s%s\n",
              is_right ? "ok" : "FAILED",
              static_cast<double>(constant_part),
              way,
              how.name.c_str(),
              differences,
              described,
              wrong == 0 ? "" : ", the arena has a condition or slabs in use");
  return is_right ? 0 : 1;
}

int checked_run::run() {
  int failures = 0;
  std::vector<captured_work> graphs;
  for (auto& one : setup_.modes()) {
    if (one.how.compressed != nullptr) one.how.compressed->observe(true);
    graphs.emplace_back([&] { step(one.how); }, stream_);
  }
  std::uint64_t seed = 100;
  for (float const constant_part : {0.25f, 0.0f, -0.5f, 1.0f, 0.25f}) {
    setup_.net().fill_input(constant_part, seed++, stream_);
    dense_step();
    for (std::size_t i = 0; i < setup_.modes().size(); ++i) {
      mode const& how = setup_.modes()[i].how;
      step(how);
      failures += judge(how, "eager", constant_part);
      graphs[i].replay(stream_);
      failures += judge(how, "graph", constant_part);
    }
  }
  return failures;
}

}  // namespace

int check(options const& chosen) {
  cudaStream_t stream = nullptr;
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "no CUDA device");
  int failures = 0;
  try {
    for (auto const act : {activation::relu_squared, activation::relu}) {
      ffn_shape shape = chosen.shape;
      shape.act       = act;
      std::printf("%s %s, %d layers, %llu -> %llu, %llu tokens\n",
                  name_of(act),
                  name_of(chosen.element),
                  shape.layers,
                  static_cast<unsigned long long>(shape.width),
                  static_cast<unsigned long long>(shape.hidden),
                  static_cast<unsigned long long>(shape.tokens));
      checked_run run(chosen, shape, stream);
      failures += run.run();
    }
  } catch (std::exception const& error) {
    std::fprintf(stderr, "FAILED: %s\n", error.what());
    ++failures;
  }
  require_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
  std::printf("check: %d comparisons failed\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace ffn
