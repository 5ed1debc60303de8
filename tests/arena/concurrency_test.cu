// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Host threads, streams of every priority and two arenas at once: every tensor comes back bit for bit,
/// every slab goes back.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <tests/support/arena_fixture.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/thinning.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format    = bs::default_format<bs::bf16>;
using bits_type = format::bits_type;

constexpr std::uint64_t slab_bytes = 32 * 1024;
constexpr int num_threads = 8, tensors_per_thread = 4;
int const steps = 400 / static_cast<int>(thinning());

/// A tensor and its matrices, of a shape of its own, used by one stream at a time.
struct member {
  std::uint64_t rows, cols;
  bs::compressed_tensor<format> tensor;
  device_array<bits_type> dense, restored;
  cudaStream_t stream;
  bool is_full = false;

  member(bs::arena_view const& arena, std::uint64_t r, std::uint64_t c, cudaStream_t s)
      : rows(r), cols(c), tensor(arena, r, c), dense(r * c), restored(r * c), stream(s) {}

  template <class Codec>
  bool compress(std::uint64_t seed, unsigned zeros) {
    make_values_kernel<<<64, 256, 0, stream>>>(dense.data(), rows * cols, seed, zeros);
    is_full = true;
    return bs::compress<Codec>(bs::const_matrix_view<bs::bf16>{dense.data(), rows, cols, cols},
                               tensor.view(),
                               stream)
        .ok();
  }
  /// @param consumes whether the tensor gives its slabs back at once
  bool decompress(unsigned long long* mismatches, bool consumes) {
    bs::matrix_view<bs::bf16> const target{restored.data(), rows, cols, cols};
    (void)cudaMemsetAsync(restored.data(), 0xa5, rows * cols * sizeof(bits_type), stream);
    bs::status const done = consumes ? bs::consume(tensor.view(), target, stream)
                                     : bs::decompress(tensor.view(), target, stream);
    compare_kernel<<<64, 256, 0, stream>>>(dense.data(), restored.data(), rows * cols, mismatches);
    is_full = is_full && !consumes;
    return done.ok();
  }
  bool release() {
    is_full = false;
    return bs::release(tensor.view(), stream).ok();
  }
};

/// Streams of all priorities, and the thread's own default one.
class stream_set {
 public:
  stream_set() {
    int least = 0, greatest = 0;
    require_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities");
    for (int priority = greatest; priority <= least; ++priority) {
      cudaStream_t stream;
      require_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority),
                   "cudaStreamCreate");
      created_.push_back(stream);
    }
  }
  ~stream_set() {
    for (cudaStream_t const stream : created_) cudaStreamDestroy(stream);
  }
  stream_set(stream_set const&)            = delete;
  stream_set& operator=(stream_set const&) = delete;

  cudaStream_t at(std::size_t i) const {
    i %= created_.size() + 1;
    return i == created_.size() ? cudaStreamPerThread : created_[i];
  }

 private:
  std::vector<cudaStream_t> created_;
};

/// One host thread's part. After set-up it does not wait for the device before its end.
void work(int thread,
          bs::arena_view const* arenas,
          unsigned long long* mismatches,
          std::atomic<int>& failures) {
  stream_set const streams;
  random_bits random{static_cast<std::uint64_t>(thread) + 1};
  std::vector<std::unique_ptr<member>> members;
  for (int i = 0; i < tensors_per_thread; ++i) {
    members.push_back(std::make_unique<member>(arenas[(thread + i) % 2],
                                               1 + random.below(200),
                                               1 + random.below(400),
                                               streams.at(static_cast<std::size_t>(thread + i))));
  }
  // What set-up zeroes on the legacy default stream; streams that do not wait for that one follow.
  bool ok = cudaDeviceSynchronize() == cudaSuccess;
  for (int step = 0; step < steps && ok; ++step) {
    member& m = *members[random.below(tensors_per_thread)];
    switch (random.below(6)) {
      case 0:
        ok = m.compress<bs::codec::sign>(random.next(), random.below(101));
        break;
      case 1:
        ok = m.compress<bs::codec::compact>(random.next(), random.below(101));
        break;
      case 2:
      case 3:
        if (m.is_full) ok = m.decompress(mismatches, false);
        break;
      case 4:
        if (m.is_full) ok = m.decompress(mismatches, true);
        break;
      default:
        if (m.is_full) ok = m.release();
    }
  }
  for (auto& m : members) {
    if (m->is_full) ok = m->decompress(mismatches, true) && ok;
    ok = cudaStreamSynchronize(m->stream) == cudaSuccess && ok;
  }
  if (!ok) ++failures;
}

void check_empty(guarded_arena& arena) {
  auto const state = arena.state();
  CHECK(state.conditions == 0);
  CHECK(state.in_use[0] + state.in_use[1] == 0);
  CHECK(state.demand == 0);
  CHECK(arena.free_slabs(0) == arena.view().num_device_slabs);
  CHECK(arena.free_slabs(1) == arena.view().num_host_slabs);
  CHECK(arena.guards_intact());
}

}  // namespace

TEST_CASE("arena: threads, streams of all priorities and two arenas at once", "[arena]") {
  // The one takes slabs ahead, the other spills: a tensor needs at most 8 slabs, 16 are in each arena.
  guarded_arena large{1500, 0, slab_bytes},
      small{6, num_threads * tensors_per_thread * 6, slab_bytes};
  bs::arena_view const arenas[2] = {large.view(), small.view()};
  device_array<unsigned long long> mismatches(1);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < num_threads; ++i)
    threads.emplace_back(work, i, arenas, mismatches.data(), std::ref(failures));
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(mismatches.read() == 0);
  check_empty(large);
  check_empty(small);
  if (thinning() == 1) CHECK(small.state().spilled > 0);  // few steps may not get that far
}

TEST_CASE("arena: a tensor moves from stream to stream, each of another priority", "[arena]") {
  guarded_arena arena{64, 0, slab_bytes};
  device_array<unsigned long long> mismatches(1);
  stream_set const streams;
  member m{arena.view(), 150, 333, streams.at(0)};
  cudaEvent_t event;
  require_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  bool ok         = cudaDeviceSynchronize() == cudaSuccess;
  auto const move = [&](std::size_t i) {
    require_cuda(cudaEventRecord(event, m.stream), "cudaEventRecord");
    m.stream = streams.at(i);
    require_cuda(cudaStreamWaitEvent(m.stream, event, 0), "cudaStreamWaitEvent");
  };
  for (std::size_t i = 0; i < 300; ++i) {
    ok = m.compress<bs::codec::sign>(i, static_cast<unsigned>(i * 7 % 101)) && ok;
    move(i);
    ok = m.decompress(mismatches.data(), i % 2 == 0) && ok;
    move(i + 3);
    if (m.is_full && i % 4 == 1) ok = m.release() && ok;
    move(i + 5);
  }
  if (m.is_full) ok = m.release() && ok;
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  cudaEventDestroy(event);
  CHECK(ok);
  CHECK(mismatches.read() == 0);
  check_empty(arena);
}
