// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Many training steps as replayed graphs, whose density changes from step to step, over arenas that
/// spill to the host: every 100th step is compared with a dense one, and nothing may have grown.
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <bench/ffn_training/gradient_copies.hpp>
#include <bench/ffn_training/json.hpp>
#include <bench/ffn_training/measure.hpp>
#include <bench/ffn_training/modes.hpp>

namespace ffn {
namespace {

constexpr int steps_per_check     = 100;
constexpr int steps_to_settle     = 1000;  // before memory is first looked at
constexpr double device_density   = 0.15;  // the device slabs are planned for that, the rest spills
constexpr std::uint64_t few_bytes = 4u << 20;  // that the process may grow by: far from one a step

/// Compares or drops the gradients, then updates the weights, if there is a rate.
class soak_sink : public gradient_sink {
 public:
  soak_sink(gradient_sink& first, double rate) : first_(first), rate_(rate), descent_(rate) {}
  void layer_done(network& of, int layer, cudaStream_t stream) override {
    first_.layer_done(of, layer, stream);
    if (rate_ > 0) descent_.layer_done(of, layer, stream);
  }

 private:
  gradient_sink& first_;
  double rate_;
  descent_sink descent_;
};

/// Memory of the process that is resident, in bytes.
std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// What is known of a mode after the run.
struct soaked_mode {
  std::string name;
  captured_work plain, compared;
  std::uint64_t steps = 0, comparisons = 0, differing_words = 0, bad_reports = 0;
  std::uint64_t spilled_slabs     = 0;  // handed out by the host, over the whole run
  std::uint32_t peak_device_slabs = 0, peak_host_slabs = 0;
  double least_density = 1, greatest_density = 0;
};

class soak_run {
 public:
  soak_run(options const& chosen, cudaStream_t stream)
      : chosen_(chosen),
        stream_(stream),
        setup_(chosen.shape, chosen.gradients_in_fp32, chosen.zeros, 3, stream, chosen.element),
        copies_(setup_.net(), setup_.memory()),
        compared_(copies_, setup_.memory()) {
    add_modes();
  }
  int run();

 private:
  void add_modes();
  void capture(built_mode& one);
  void check(soaked_mode& soaked, mode const& how, int step);
  void look_at_memory();
  int judge() const;
  bool write(int failures) const;

  options const& chosen_;
  cudaStream_t stream_;
  training_setup setup_;
  gradient_copies copies_;
  compare_sink compared_;
  std::vector<soaked_mode> soaked_;
  std::mt19937_64 random_{5};
  std::uint64_t device_bytes_ = 0, host_bytes_ = 0;             // once settled
  std::uint64_t lost_device_bytes_ = 0, grown_host_bytes_ = 0;  // the most since
  double first_ms_ = 0, last_ms_ = 0;  // per step, of the first and the last steps_to_settle steps
  float first_loss_ = 0, last_loss_ = 0;
};

void soak_run::add_modes() {
  ffn_shape const& shape = chosen_.shape;
  auto const names =
      chosen_.modes.empty() ? std::vector<std::string>{"sign", "compact"} : chosen_.modes;
  for (auto const& name : names) {
    codec_choice codec{};
    if (!is_codec(name, codec)) {
      std::printf("no mode %s: only codecs are soaked\n", name.c_str());
      continue;
    }
    auto const planned = [&](double density) {
      return planned_slabs(shape, chosen_.element, codec, shape.layers, density);
    };
    slab_plan plan;
    plan.slabs.device = chosen_.slabs != 0 ? chosen_.slabs : planned(device_density);
    plan.slabs.host   = planned(1);
    setup_.add(name, shape.layers, plan);
    capture(setup_.modes().back());
  }
}

void soak_run::capture(built_mode& one) {
  no_sink drops;
  soak_sink plain(drops, chosen_.learning_rate), compared(compared_, chosen_.learning_rate);
  network& net = setup_.net();
  one.how.compressed->observe(false);
  captured_work without([&] { run_step(net, one.how, plain, stream_); }, stream_);
  one.how.compressed->observe(true);
  captured_work with(
      [&] {
        poison(net, stream_);
        compared_.begin(stream_);
        run_step(net, one.how, compared, stream_);
      },
      stream_);
  one.how.compressed->clear(stream_);
  soaked_.push_back({one.how.name, std::move(without), std::move(with)});
}

/// A dense step, the same step compressed, and what the arena says.
void soak_run::check(soaked_mode& soaked, mode const& how, int step) {
  copy_sink copies(copies_);
  poison(setup_.net(), stream_);
  run_step(setup_.net(), setup_.modes().front().how, copies, stream_);
  soaked.compared.replay(stream_);
  std::uint64_t const differing = compared_.differences(stream_);
  auto const report             = how.compressed->report(stream_);
  how.compressed->clear(stream_);
  double kept = 0;
  for (auto const& layer : how.compressed->contents(stream_)) kept += layer.kept;
  ffn_shape const& shape = chosen_.shape;
  double const density =
      kept / (static_cast<double>(shape.hidden_values()) * static_cast<double>(shape.layers));
  require_cuda(cudaMemcpy(&last_loss_, setup_.net().loss, sizeof(float), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
  if (step < steps_per_check) first_loss_ = last_loss_;
  bool const is_bad = report.conditions != 0 || report.device_slabs_in_use != 0 ||
                      report.host_slabs_in_use != 0 || !std::isfinite(last_loss_);
  ++soaked.comparisons;
  soaked.differing_words += differing;
  soaked.bad_reports += is_bad ? 1 : 0;
  soaked.spilled_slabs += report.spilled_slabs;
  soaked.peak_device_slabs = std::max(soaked.peak_device_slabs, report.peak_device_slabs);
  soaked.peak_host_slabs   = std::max(soaked.peak_host_slabs, report.peak_host_slabs);
  soaked.least_density     = std::min(soaked.least_density, density);
  soaked.greatest_density  = std::max(soaked.greatest_density, density);
  if (differing != 0 || is_bad || step / steps_per_check % 10 == 0) {
    std::printf("  step %d %s: %llu words differ, density %.3f, loss %.4f, %u slabs spilled%s\n",
                step,
                soaked.name.c_str(),
                static_cast<unsigned long long>(differing),
                density,
                static_cast<double>(last_loss_),
                report.spilled_slabs,
                is_bad ? ", BAD: a condition, slabs in use, or no finite loss" : "");
    std::fflush(stdout);
  }
}

void soak_run::look_at_memory() {
  std::uint64_t const device = free_device_bytes(), host = resident_bytes();
  if (device_bytes_ == 0) {
    device_bytes_ = device;
    host_bytes_   = host;
  }
  lost_device_bytes_ =
      std::max(lost_device_bytes_, device_bytes_ - std::min(device, device_bytes_));
  grown_host_bytes_ = std::max(grown_host_bytes_, host - std::min(host, host_bytes_));
}

int soak_run::judge() const {
  int failures = soaked_.empty() ? 1 : 0;
  for (auto const& one : soaked_) {
    bool const is_right =
        one.differing_words == 0 && one.bad_reports == 0 && one.spilled_slabs != 0;
    failures += is_right ? 0 : 1;
    std::printf(
        "%s %s: %llu steps, %llu compared, %llu words differ, %llu bad reports, density %.3f to "
        "%.3f, "
        "%llu slabs spilled\n",
        is_right ? "ok" : "FAILED",
        one.name.c_str(),
        static_cast<unsigned long long>(one.steps),
        static_cast<unsigned long long>(one.comparisons),
        static_cast<unsigned long long>(one.differing_words),
        static_cast<unsigned long long>(one.bad_reports),
        one.least_density,
        one.greatest_density,
        static_cast<unsigned long long>(one.spilled_slabs));
  }
  bool const has_grown = lost_device_bytes_ != 0 || grown_host_bytes_ > few_bytes;
  std::printf("%s memory: %llu bytes of the device lost, the process has grown by %llu\n",
              has_grown ? "FAILED" : "ok",
              static_cast<unsigned long long>(lost_device_bytes_),
              static_cast<unsigned long long>(grown_host_bytes_));
  std::printf("ms per step: %.4f at first, %.4f at last; loss %.4f, then %.4f\n",
              first_ms_,
              last_ms_,
              static_cast<double>(first_loss_),
              static_cast<double>(last_loss_));
  return failures + (has_grown ? 1 : 0);
}

bool soak_run::write(int failures) const {
  std::vector<json_object> modes;
  for (auto const& one : soaked_) {
    modes.push_back(json_object()
                        .add("mode", one.name)
                        .add("steps", one.steps)
                        .add("comparisons", one.comparisons)
                        .add("differing_words", one.differing_words)
                        .add("bad_reports", one.bad_reports)
                        .add("least_density", one.least_density)
                        .add("greatest_density", one.greatest_density)
                        .add("spilled_slabs", one.spilled_slabs)
                        .add("peak_device_slabs", one.peak_device_slabs)
                        .add("peak_host_slabs", one.peak_host_slabs));
  }
  ffn_shape const& shape = chosen_.shape;
  cudaDeviceProp device{};
  require_cuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  json_object all;
  all.add("device", device.name)
      .add("layers", shape.layers)
      .add("width", shape.width)
      .add("hidden", shape.hidden)
      .add("tokens", shape.tokens)
      .add("ranges", shape.ranges)
      .add("activation", name_of(shape.act))
      .add("element", name_of(chosen_.element))
      .add("learning_rate", chosen_.learning_rate)
      .add("steps", chosen_.steps)
      .add("steps_per_comparison", steps_per_check)
      .add("modes", modes)
      .add("lost_device_bytes", lost_device_bytes_)
      .add("grown_host_bytes", grown_host_bytes_)
      .add("first_ms_per_step", first_ms_)
      .add("last_ms_per_step", last_ms_)
      .add("first_loss", static_cast<double>(first_loss_))
      .add("last_loss", static_cast<double>(last_loss_))
      .add("failures", failures);
  return all.write(chosen_.json_file);
}

int soak_run::run() {
  using clock = std::chrono::steady_clock;
  std::uniform_real_distribution<double> constant_part(-0.6, 1.2);
  auto begin = clock::now();
  for (int step = 0; step < chosen_.steps && !soaked_.empty(); ++step) {
    std::size_t const turn = static_cast<std::size_t>(step / steps_per_check) % soaked_.size();
    soaked_mode& soaked    = soaked_[turn];
    setup_.net().fill_input(constant_part(random_), random_(), stream_);
    if (step % steps_per_check == 0) {
      check(soaked, setup_.modes()[turn + 1].how, step);
      if (step >= steps_to_settle) look_at_memory();
    } else {
      soaked.plain.replay(stream_);
    }
    ++soaked.steps;
    if ((step + 1) % steps_to_settle != 0) continue;
    require_cuda(cudaStreamSynchronize(stream_), "soaked steps");
    auto const now = clock::now();
    last_ms_ = std::chrono::duration<double, std::milli>(now - begin).count() / steps_to_settle;
    if (step + 1 == steps_to_settle) first_ms_ = last_ms_;
    begin = now;
  }
  int failures = judge();
  if (!chosen_.json_file.empty() && !write(failures)) {
    std::fprintf(stderr, "FAILED: cannot write %s\n", chosen_.json_file.c_str());
    ++failures;
  }
  return failures;
}

}  // namespace

int soak(options const& chosen) {
  cudaStream_t stream = nullptr;
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "no CUDA device");
  int failures = 0;
  try {
    failures = soak_run(chosen, stream).run();
  } catch (std::exception const& error) {
    std::fprintf(stderr, "FAILED: %s\n", error.what());
    failures = 1;
  }
  require_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
  std::printf("soak: %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace ffn
