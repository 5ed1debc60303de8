// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Trains a byte-level language model densely and compressed, from the same weights on the same
/// examples, and compares the losses' bits.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <bench/ffn_training/json.hpp>
#include <bench/ffn_training/language_operations.hpp>
#include <bench/ffn_training/measure.hpp>
#include <bench/ffn_training/modes.hpp>
#include <bench/ffn_training/sample.hpp>

namespace ffn {
namespace {

constexpr float learning_rate = 1e-3f;

/// Embedding, network, normalisation, logits, and Adam for all of it.
class language_model : public gradient_sink {
 public:
  language_model(training_setup& setup, std::vector<char> const& text, int num_steps);

  /// The same weights every time.
  void initialize();
  /// One step of training. Asynchronous and capturable.
  void step(mode const& how);
  void layer_done(network& of, int layer, cudaStream_t stream) override;
  /// (steps,). Waits for the stream.
  std::vector<float> losses(int num_steps) const;

 private:
  parameter make_parameter(bf16* weights, std::uint64_t count);
  void head();

  training_setup& setup_;
  network& net_;
  cudaStream_t stream_;
  std::uint64_t dims_;
  examples examples_;
  std::vector<parameter> w1_, w2_;  // (layers,)
  parameter embedding_, output_;    // (num_bytes, dims), (num_bytes, width)
  bf16 *norm_, *norm_gradient_;     // (tokens, width)
  float* logits_;                   // (tokens, num_bytes)
  bf16* logit_gradient_;            // (tokens, num_bytes)
  float *embedding_gradient_, *output_gradient_;
  float* losses_;        // (steps,)
  std::uint32_t* step_;  // (1,)
};

parameter language_model::make_parameter(bf16* weights, std::uint64_t count) {
  auto& memory = setup_.memory();
  return {weights,
          memory.allocate<float>(category::other, count),
          memory.allocate<float>(category::other, count),
          memory.allocate<float>(category::other, count),
          count};
}

language_model::language_model(training_setup& setup, std::vector<char> const& text, int num_steps)
    : setup_(setup), net_(setup.net()), stream_(setup.stream()) {
  auto& memory           = setup.memory();
  ffn_shape const& shape = net_.shape();
  dims_                  = shape.width / context_bytes;
  auto* const bytes      = memory.allocate<std::uint8_t>(category::other, text.size());
  require_cuda(cudaMemcpy(bytes, text.data(), text.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  step_     = memory.allocate<std::uint32_t>(category::other, 1);
  losses_   = memory.allocate<float>(category::other, static_cast<std::uint64_t>(num_steps) + 1);
  examples_ = {bytes,
               text.size(),
               memory.allocate<std::uint64_t>(category::other, shape.tokens),
               shape.tokens,
               step_};
  for (int layer = 0; layer < shape.layers; ++layer) {
    w1_.push_back(make_parameter(net_.w1[layer], shape.weight_values()));
    w2_.push_back(make_parameter(net_.w2[layer], shape.weight_values()));
  }
  std::uint64_t const num_embedding = num_bytes * dims_, num_output = num_bytes * shape.width;
  embedding_ =
      make_parameter(memory.allocate<bf16>(category::weights, num_embedding), num_embedding);
  output_        = make_parameter(memory.allocate<bf16>(category::weights, num_output), num_output);
  norm_          = memory.allocate<bf16>(category::scratch, shape.x_values());
  norm_gradient_ = memory.allocate<bf16>(category::scratch, shape.x_values());
  logits_        = memory.allocate<float>(category::scratch, shape.tokens * num_bytes);
  logit_gradient_     = memory.allocate<bf16>(category::scratch, shape.tokens * num_bytes);
  embedding_gradient_ = memory.allocate<float>(category::weight_gradients, num_embedding);
  output_gradient_    = memory.allocate<float>(category::weight_gradients, num_output);
}

/// W1 makes h standard normal, so that half of the activations are 0; each layer's output begins
/// small.
void language_model::initialize() {
  ffn_shape const& shape = net_.shape();
  auto const deviation   = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.width)));
  auto const small       = static_cast<float>(0.2 / std::sqrt(static_cast<double>(shape.hidden)));
  std::uint64_t seed     = 1000;
  for (std::size_t layer = 0; layer < w1_.size(); ++layer) {
    fill_normal(w1_[layer].weights, w1_[layer].count, 0, deviation, seed++, stream_);
    fill_normal(w2_[layer].weights, w2_[layer].count, 0, small, seed++, stream_);
    start(w1_[layer], stream_);
    start(w2_[layer], stream_);
  }
  fill_normal(embedding_.weights, embedding_.count, 0, 1, seed++, stream_);
  fill_normal(output_.weights, output_.count, 0, 0.5f * deviation, seed++, stream_);
  start(embedding_, stream_);
  start(output_, stream_);
  require_cuda(cudaMemsetAsync(step_, 0, sizeof(*step_), stream_), "cudaMemsetAsync");
}

/// From the network's output to the loss and back.
void language_model::head() {
  ffn_shape const& shape    = net_.shape();
  bf16 const* const x       = net_.x[shape.layers];
  std::uint64_t const width = shape.width, tokens = shape.tokens;
  gemms& multiplications = setup_.multiplications();
  rms_norm(x, norm_, tokens, width, stream_);
  gemm_problem logits{num_bytes, tokens, width, true, false};
  gemm_problem weights{width, num_bytes, tokens, false, true};
  logits.output = weights.output = CUDA_R_32F;
  multiplications.run(logits, {output_.weights, norm_, nullptr, logits_}, stream_);
  cross_entropy(examples_, logits_, logit_gradient_, net_.row_losses, stream_);
  ordered_sum(net_.row_losses, tokens, net_.loss, stream_);
  multiplications.run(weights, {norm_, logit_gradient_, nullptr, output_gradient_}, stream_);
  multiplications.run({width, tokens, num_bytes, false, false},
                      {output_.weights, logit_gradient_, nullptr, norm_gradient_},
                      stream_);
  rms_norm_backward(
      x, norm_gradient_, net_.gradient, tokens, width, earlier_gradient::none, stream_);
}

void language_model::layer_done(network& of, int layer, cudaStream_t stream) {
  adam(w1_[layer], static_cast<float const*>(of.w1_gradient), learning_rate, step_, stream);
  adam(w2_[layer], static_cast<float const*>(of.w2_gradient), learning_rate, step_, stream);
}

void language_model::step(mode const& how) {
  choose_positions(examples_, stream_);
  embed(examples_, embedding_.weights, net_.x[0], dims_, stream_);
  run_forward(net_, how, stream_);
  head();
  run_backward(net_, how, *this, stream_);
  embed_backward(examples_, net_.gradient, embedding_gradient_, dims_, stream_);
  adam(embedding_, embedding_gradient_, learning_rate, step_, stream_);
  adam(output_, output_gradient_, learning_rate, step_, stream_);
  next_step(net_.loss, losses_, step_, stream_);
}

std::vector<float> language_model::losses(int num_steps) const {
  std::vector<float> result(static_cast<std::size_t>(num_steps));
  require_cuda(
      cudaMemcpyAsync(
          result.data(), losses_, result.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_),
      "cudaMemcpyAsync");
  require_cuda(cudaStreamSynchronize(stream_), "training");
  return result;
}

// -------------------------------------------------------------------------------------------------
// Runs
// -------------------------------------------------------------------------------------------------

struct training_run {
  std::string name;
  std::vector<float> losses;                 // (steps,)
  std::vector<std::vector<double>> density;  // (layers,) of (steps,)
  std::vector<double> step_ms;               // (steps,)
  bitsparse::arena_report first_step{}, later{};
  std::uint64_t slabs = 0, slab_bytes = 0, differences = 0;
};

/// @param is_captured replay one step's graph instead of launching every step
training_run run_training(
    language_model& model, mode const& how, int num_steps, bool is_captured, cudaStream_t stream) {
  training_run run;
  run.name = how.name + (is_captured ? " (graph)" : "");
  if (how.compressed != nullptr) {
    run.slabs      = how.compressed->num_slabs();
    run.slab_bytes = how.compressed->slab_bytes();
    how.compressed->observe(true);
    how.compressed->clear(stream);
    run.density.resize(static_cast<std::size_t>(how.num_compressed));
  }
  model.initialize();
  std::unique_ptr<captured_work> graph;
  if (is_captured) graph = std::make_unique<captured_work>([&] { model.step(how); }, stream);
  bench::event_timer timer;
  for (int step = 0; step < num_steps; ++step) {
    run.step_ms.push_back(timer.milliseconds(
        [&] {
          if (is_captured) {
            graph->replay(stream);
          } else {
            model.step(how);
          }
        },
        stream));
    if (how.compressed == nullptr) continue;
    auto const contents = how.compressed->contents(stream);
    for (std::size_t layer = 0; layer < contents.size(); ++layer) {
      run.density[layer].push_back(contents[layer].kept);
    }
    if (step != 0) continue;
    run.first_step = how.compressed->report(stream);
    how.compressed->clear(stream);
  }
  if (how.compressed != nullptr) run.later = how.compressed->report(stream);
  run.losses = model.losses(num_steps);
  return run;
}

json_object describe(training_run const& run) {
  json_object result, steps;
  result.add("mode", run.name)
      .add("step_ms_median", summarize(run.step_ms).median)
      .add("losses_differing_from_dense", run.differences)
      .add("first_loss", static_cast<double>(run.losses.front()))
      .add("last_loss", static_cast<double>(run.losses.back()));
  std::vector<double> losses(run.losses.begin(), run.losses.end());
  result.add("losses", losses);
  if (run.slabs == 0) return result;
  for (std::size_t layer = 0; layer < run.density.size(); ++layer) {
    steps.add("layer_" + std::to_string(layer), run.density[layer]);
  }
  result.add("density_by_step", steps)
      .add("slabs", run.slabs)
      .add("slab_bytes", run.slab_bytes)
      .add("peak_slabs_step_0", run.first_step.peak_device_slabs)
      .add("peak_slabs_later", run.later.peak_device_slabs)
      .add("conditions", run.first_step.conditions | run.later.conditions);
  return result;
}

void print(training_run const& run) {
  std::printf("%-14s loss %.6f -> %.6f, %.3f ms per step, %llu losses differ from dense's",
              run.name.c_str(),
              static_cast<double>(run.losses.front()),
              static_cast<double>(run.losses.back()),
              summarize(run.step_ms).median,
              static_cast<unsigned long long>(run.differences));
  if (run.slabs != 0) {
    std::printf("; slabs: step 0 %u, later %u; density by layer at the end:",
                run.first_step.peak_device_slabs,
                run.later.peak_device_slabs);
    for (auto const& layer : run.density) std::printf(" %.3f", layer.back());
  }
  std::printf("\n");
}

/// Compares bits: a NaN is equal to itself, and fails for being none of a loss.
std::uint64_t differing(std::vector<float> const& a, std::vector<float> const& b) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    count += std::memcmp(&a[i], &b[i], sizeof(float)) != 0 || !std::isfinite(a[i]) ? 1 : 0;
  }
  return count;
}

int train_on(options const& chosen, std::vector<char> const& text, cudaStream_t stream) {
  ffn_shape shape = chosen.shape;
  training_setup setup(shape, true, 0.5, 5, stream);
  for (char const* codec : {"sign", "compact"}) {
    std::string const problem = setup.add(codec, shape.layers, {});
    if (!problem.empty()) std::printf("no mode %s: %s\n", codec, problem.c_str());
  }
  language_model model(setup, text, chosen.steps);
  model.initialize();
  model.step(setup.modes().front().how);  // chooses the output's algorithms
  std::vector<training_run> runs;
  bool is_right = true;
  for (auto const& one : setup.modes()) {
    for (bool const is_captured : {false, true}) {
      runs.push_back(run_training(model, one.how, chosen.steps, is_captured, stream));
      training_run& run = runs.back();
      for (auto& layer : run.density) {
        for (double& kept : layer) kept /= static_cast<double>(shape.hidden_values());
      }
      run.differences           = differing(run.losses, runs.front().losses);
      std::uint32_t const wrong = run.first_step.conditions | run.later.conditions;
      is_right                  = is_right && run.differences == 0 && wrong == 0;
      print(run);
      if (wrong != 0) std::fprintf(stderr, "FAILED: the arena has condition %u\n", wrong);
    }
  }
  std::printf(is_right ? "train: all losses equal\n" : "train: FAILED\n");
  if (chosen.json_file.empty()) return is_right ? 0 : 1;
  std::vector<json_object> described;
  for (auto const& run : runs) described.push_back(describe(run));
  json_object all;
  all.add("layers", shape.layers)
      .add("width", shape.width)
      .add("hidden", shape.hidden)
      .add("tokens_per_step", shape.tokens)
      .add("steps", chosen.steps)
      .add("activation", name_of(shape.act))
      .add("text_bytes", static_cast<std::uint64_t>(text.size()))
      .add("is_right", is_right)
      .add("runs", described);
  if (all.write(chosen.json_file)) return is_right ? 0 : 1;
  std::fprintf(stderr, "FAILED: cannot write %s\n", chosen.json_file.c_str());
  return 1;
}

}  // namespace

int train(options const& chosen) {
  std::ifstream file(chosen.text_file, std::ios::binary);
  std::vector<char> const text((std::istreambuf_iterator<char>(file)),
                               std::istreambuf_iterator<char>());
  if (text.size() < 4096) {
    std::fprintf(
        stderr, "%s: cannot be read, or has fewer than 4096 bytes\n", chosen.text_file.c_str());
    return 2;
  }
  if (256 % (chosen.shape.width / context_bytes) != 0) {
    std::fprintf(stderr,
                 "--train: the width over %llu is a divisor of 256\n",
                 static_cast<unsigned long long>(context_bytes));
    return 2;
  }
  cudaStream_t stream = nullptr;
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "no CUDA device");
  int result = 1;
  try {
    result = train_on(chosen, text, stream);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "FAILED: %s\n", error.what());
  }
  require_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return result;
}

}  // namespace ffn
