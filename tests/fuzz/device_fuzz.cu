// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device fuzzer: random matrices, places, ops and streams through the device operations, against the
/// host codec.
///
///     device_fuzz                         five seconds, for CTest; 77 if there is no device
///     device_fuzz --seconds T             T seconds
///     device_fuzz --cases N               the cases 0 .. N - 1
///     device_fuzz --seed S --case N       that one case, in words, and again
///
/// and --threads K, each with its own streams, arenas and memory. An argument that begins with another
/// character is ignored: tests/sanitize.sh gives every test a filter. A summary as JSON goes to the
/// standard output; the exit status is 1 if a case failed. After three failures no further case begins.
/// A case that takes more than two minutes ends the program with its description: something waits for
/// ever.
#include <cuda_runtime_api.h>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <tests/fuzz/device_fuzz/fuzz_case.hpp>
#include <tests/fuzz/device_fuzz/fuzz_worker.cuh>

using namespace bitsparse_test;

namespace {

using clock_type = std::chrono::steady_clock;

constexpr int max_failures          = 3;
constexpr std::int64_t hang_seconds = 120;
constexpr double saying_seconds     = 20;
constexpr std::uint64_t no_case     = ~std::uint64_t{0};
constexpr std::uint64_t all_slabs   = 4096;  // of the arena of all threads: 128 MiB

struct options {
  std::uint64_t seed    = 1;
  std::uint64_t cases   = no_case;
  std::uint64_t only    = no_case;
  double seconds        = 0;
  std::uint32_t threads = 0;
};

struct counters {
  std::uint64_t cases = 0, bytes = 0, skipped = 0;
  std::array<std::uint64_t, static_cast<int>(fuzz_format::count)> formats{};
  std::array<std::uint64_t, static_cast<int>(fuzz_codec::count)> codecs{};
  std::array<std::uint64_t, static_cast<int>(fuzz_op::count)> ops{};
  std::array<std::uint64_t, static_cast<int>(fuzz_place::count)> places{};

  void count(fuzz_case const& c) {
    ++cases;
    bytes += c.dense_bytes();
    ++formats[static_cast<int>(c.format)];
    ++codecs[static_cast<int>(c.codec)];
    ++ops[static_cast<int>(c.op)];
    ++places[static_cast<int>(c.place)];
  }
  void add(counters const& other) {
    cases += other.cases;
    bytes += other.bytes;
    skipped += other.skipped;
    auto const sum = [](auto& to, auto const& from) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    sum(formats, other.formats);
    sum(codecs, other.codecs);
    sum(ops, other.ops);
    sum(places, other.places);
  }
};

/// What all threads look at.
struct campaign {
  options with;
  clock_type::time_point begin = clock_type::now();
  std::atomic<std::uint64_t> next{0};
  std::atomic<int> failures{0};
  std::mutex mutex;  // of what follows, and of the standard error stream
  counters sum;

  double seconds() const {
    return std::chrono::duration<double>(clock_type::now() - begin).count();
  }
  /// @param since when the thread's set-up, which takes a while, was done
  bool is_over(double since) const {
    return failures >= max_failures || (with.seconds > 0 && seconds() - since >= with.seconds);
  }
  void fail(fuzz_case const& c, std::string const& fault) {
    ++failures;
    std::lock_guard<std::mutex> const lock(mutex);
    std::fprintf(stderr, "FAILED: %s\n  %s\n", fault.c_str(), describe(c).c_str());
  }
};

/// What a thread is doing, for the one that watches.
struct progress {
  std::atomic<std::uint64_t> number{no_case};
  std::atomic<std::int64_t> since{0};  // seconds of the campaign
};

std::string run_case(fuzz_worker& worker, fuzz_case const& c, bool& is_skipped) {
  if (c.place == fuzz_place::large) return run_large(c, is_skipped);
  bool const is_forward = c.op == fuzz_op::relu || c.op == fuzz_op::relu_squared;
  switch (c.format) {
    case fuzz_format::bf16_32x128:
      if (c.op == fuzz_op::identity) return run_bf16_32x128(worker, c);
      return is_forward ? run_bf16_forward(worker, c) : run_bf16_backward(worker, c);
    case fuzz_format::fp16_32x128:
      return run_fp16_32x128(worker, c);
    case fuzz_format::fp32_32x64:
      return run_fp32_32x64(worker, c);
    case fuzz_format::e4m3_32x256:
      return is_forward ? run_e4m3_forward(worker, c) : run_e4m3_32x256(worker, c);
    case fuzz_format::e5m2_32x256:
      return run_e5m2_32x256(worker, c);
    case fuzz_format::bf16_64x64:
      return run_bf16_64x64(worker, c);
    case fuzz_format::e4m3_64x128:
      return run_e4m3_64x128(worker, c);
    default:
      return "no such format";
  }
}

void work(campaign& all, fuzz_arena& arena_of_all, progress& mine) {
  fuzz_worker worker{arena_of_all};
  counters counted;
  double const since = all.seconds();
  while (!all.is_over(since)) {
    std::uint64_t const number = all.with.only == no_case ? all.next++ : all.with.only;
    if (number >= all.with.cases && all.with.only == no_case) break;
    fuzz_case const c = draw_case(all.with.seed, number);
    mine.since        = static_cast<std::int64_t>(all.seconds());
    mine.number       = number;
    bool is_skipped   = false;
    std::string fault;
    try {
      fault = run_case(worker, c, is_skipped);
    } catch (std::exception const& e) {
      fault = std::string{"exception: "} + e.what();
    }
    mine.number = no_case;
    counted.count(c);
    counted.skipped += is_skipped;
    if (!fault.empty()) all.fail(c, fault);
    // After a sticky error of the device no other case says anything.
    if (cudaPeekAtLastError() != cudaSuccess) all.failures = max_failures;
    if (all.with.only != no_case) break;
  }
  std::lock_guard<std::mutex> const lock(all.mutex);
  all.sum.add(counted);
}

/// Ends the program if a case does not end: a device that waits for ever cannot be waited for. Says now
/// and then how far it is.
void watch(campaign& all, std::vector<progress> const& threads, std::atomic<bool> const& is_done) {
  double said = 0;
  while (!is_done) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (all.seconds() - said >= saying_seconds) {
      said = all.seconds();
      std::fprintf(stderr,
                   "%.0f s: %llu cases begun, %d failures\n",
                   said,
                   static_cast<unsigned long long>(all.next),
                   all.failures.load());
    }
    for (progress const& thread : threads) {
      std::uint64_t const number = thread.number;
      if (number == no_case || all.seconds() - static_cast<double>(thread.since) < hang_seconds)
        continue;
      std::fprintf(stderr, "HANGS: %s\n", describe(draw_case(all.with.seed, number)).c_str());
      std::_Exit(1);
    }
  }
}

template <class Choice, std::size_t Count, class Name>
void print_counts(char const* key, std::array<std::uint64_t, Count> const& counts, Name name) {
  std::printf("  \"%s\": {", key);
  for (std::size_t i = 0; i < Count; ++i) {
    std::printf("%s\"%s\": %llu",
                i == 0 ? "" : ", ",
                name(static_cast<Choice>(i)),
                static_cast<unsigned long long>(counts[i]));
  }
  std::printf("},\n");
}

void print_summary(campaign const& all, char const* device) {
  counters const& sum = all.sum;
  std::printf(
      "{\n  \"device\": \"%s\",\n  \"seed\": %llu,\n  \"threads\": %u,\n  \"cases\": %llu,\n",
      device,
      static_cast<unsigned long long>(all.with.seed),
      all.with.threads,
      static_cast<unsigned long long>(sum.cases));
  print_counts<fuzz_format>("formats", sum.formats, [](fuzz_format f) { return shape_of(f).name; });
  print_counts<fuzz_codec>("codecs", sum.codecs, [](fuzz_codec c) { return name_of(c); });
  print_counts<fuzz_op>("ops", sum.ops, [](fuzz_op o) { return name_of(o); });
  print_counts<fuzz_place>("places", sum.places, [](fuzz_place p) { return name_of(p); });
  std::printf(
      "  \"large_cases_skipped\": %llu,\n  \"dense_bytes\": %llu,\n  \"seconds\": %.1f,\n"
      "  \"failures\": %d\n}\n",
      static_cast<unsigned long long>(sum.skipped),
      static_cast<unsigned long long>(sum.bytes),
      all.seconds(),
      all.failures.load());
}

/// The arena that all threads used: what no single case can look at.
std::string check_arena_of_all(fuzz_arena& arena) {
  arena.download(nullptr);
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  auto const state = arena.state();
  if (!arena.guards_intact()) return "the surroundings of the arena of all were written";
  if (state.conditions != 0) return "the arena of all raised a condition";
  if (state.in_use[0] != 0 || state.demand != 0 ||
      state.available[0] != static_cast<std::int32_t>(all_slabs) ||
      state.given[0] - state.taken[0] != all_slabs)
    return "the arena of all has not got its slabs back";
  return {};
}

options read_options(int argc, char* argv[]) {
  options with;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-') continue;
    std::string const key = argv[i];
    if (i + 1 == argc) {
      std::fprintf(stderr, "%s: a number is missing\n", key.c_str());
      std::exit(2);
    }
    char const* const value = argv[++i];
    if (key == "--seed") {
      with.seed = std::strtoull(value, nullptr, 10);
    } else if (key == "--cases") {
      with.cases = std::strtoull(value, nullptr, 10);
    } else if (key == "--case") {
      with.only = std::strtoull(value, nullptr, 10);
    } else if (key == "--seconds") {
      with.seconds = std::strtod(value, nullptr);
    } else if (key == "--threads") {
      with.threads = static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
    } else {
      std::fprintf(
          stderr, "%s: not --seed, --cases, --case, --seconds or --threads\n", key.c_str());
      std::exit(2);
    }
  }
  if (with.cases == no_case && with.only == no_case && with.seconds == 0) with.seconds = 5;
  if (with.threads == 0)
    with.threads = std::min(std::max(std::thread::hardware_concurrency(), 1u), 16u);
  if (with.only != no_case) with.threads = 1;
  return with;
}

}  // namespace

int main(int argc, char* argv[]) {
  campaign all;
  all.with  = read_options(argc, argv);
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("skipped: no CUDA device\n");
    return 77;
  }
  cudaDeviceProp device{};
  require_cuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  if (all.with.only != no_case)
    std::printf("%s\n", describe(draw_case(all.with.seed, all.with.only)).c_str());
  fuzz_arena arena_of_all{all_slabs, 0};
  std::vector<progress> states(all.with.threads);
  std::atomic<bool> is_done{false};
  std::thread watcher(watch, std::ref(all), std::cref(states), std::cref(is_done));
  std::vector<std::thread> threads;
  for (progress& state : states)
    threads.emplace_back(work, std::ref(all), std::ref(arena_of_all), std::ref(state));
  for (std::thread& thread : threads) thread.join();
  is_done = true;
  watcher.join();
  std::string const fault =
      all.sum.cases == 0 ? "no case was run" : check_arena_of_all(arena_of_all);
  if (!fault.empty()) {
    ++all.failures;
    std::fprintf(stderr, "FAILED: %s\n", fault.c_str());
  }
  print_summary(all, device.name);
  return all.failures == 0 ? 0 : 1;
}
