// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// After set-up nothing waits, allocates or frees: calls behind a spinning kernel, and a captured step of several layers
/// and streams, replayed while the density moves and the arena runs out and recovers.
#include <memory>
#include <vector>

#include <tests/support/arena_fixture.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/step_kernels.cuh>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format    = bs::default_format<bs::bf16>;
using bits_type = format::bits_type;

constexpr std::uint64_t slab_bytes = 32 * 1024;
constexpr std::uint64_t num_rows = 256, num_cols = 512, num_values = num_rows * num_cols;
constexpr int num_layers = 12;

__global__ void spin_kernel(int const volatile* flag) {
  while (*flag == 0) {
  }
}

/// Counts, per step, layers that came back wrong although no condition was raised.
__global__ void judge_kernel(bits_type const* a,
                             bits_type const* b,
                             bs::arena_state const* arena,
                             unsigned long long* silent) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (a[i] != b[i] && arena->skip_step == 0.0f) atomicAdd(silent, 1ull);
}

/// Lets the next kernel start, and some time later counts whether the tensor is full no more.
__global__ void late_judge_kernel(bs::arena_tensor_state const volatile* tensor,
                                  unsigned long long* faults) {
  bs::detail::allow_next_kernel();
  long long const begin = clock64();
  while (clock64() - begin < 200000) {
  }
  *faults += tensor->phase != bs::tensor_phase::full;
}

/// Adds whether the step was to be skipped, and forgets it.
__global__ void end_step_kernel(bs::arena_state* arena, unsigned* skipped) {
  *skipped += arena->skip_step != 0.0f;
  arena->skip_step  = 0.0f;
  arena->conditions = 0;
}

struct network {
  guarded_arena arena;
  std::vector<std::unique_ptr<bs::compressed_tensor<format>>> saved;
  device_array<bits_type> activation{num_values}, restored{num_values}, again{num_values};
  device_array<unsigned> step{1}, skipped{1};
  device_array<unsigned long long> silent{1};

  network(std::uint64_t device_slabs, std::uint64_t host_slabs)
      : arena(device_slabs, host_slabs, slab_bytes) {
    for (int i = 0; i < num_layers; ++i) {
      saved.push_back(
          std::make_unique<bs::compressed_tensor<format>>(arena.view(), num_rows, num_cols));
    }
  }
  bs::status forward(int layer, bits_type* buffer, cudaStream_t stream) {
    activation_kernel<<<num_values / 256, 256, 0, stream>>>(buffer, step.data(), layer);
    return bs::compress<bs::codec::sign>(
        bs::const_matrix_view<bs::bf16>{buffer, num_rows, num_cols, num_cols},
        saved[layer]->view(),
        stream);
  }
  bs::status backward(int layer, bits_type* expected, bits_type* buffer, cudaStream_t stream) {
    activation_kernel<<<num_values / 256, 256, 0, stream>>>(expected, step.data(), layer);
    (void)cudaMemsetAsync(buffer, 0xa5, num_values * 2, stream);
    bs::status const result =
        bs::consume(saved[layer]->view(), {buffer, num_rows, num_cols, num_cols}, stream);
    judge_kernel<<<num_values / 256, 256, 0, stream>>>(
        expected, buffer, arena.view().state, silent.data());
    return result;
  }
};

/// Captures work, replays it, and checks that what is left is clean.
template <class Work>
void replay(network& net, int times, Work work) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  require_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
               "cudaStreamBeginCapture");
  bool const captured = work(stream);
  end_step_kernel<<<1, 1, 0, stream>>>(net.arena.view().state, net.skipped.data());
  advance_kernel<<<1, 1, 0, stream>>>(net.step.data());
  require_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  require_cuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  REQUIRE(captured);
  for (int i = 0; i < times; ++i)
    require_cuda(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
  require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  CHECK(net.step.read() == static_cast<unsigned>(times));
  CHECK(net.silent.read() == 0);
  CHECK(net.arena.state().in_use[0] + net.arena.state().in_use[1] == 0);
  CHECK(net.arena.state().demand == 0);
  CHECK(net.arena.free_slabs(0) == net.arena.view().num_device_slabs);
  CHECK(net.arena.free_slabs(1) == net.arena.view().num_host_slabs);
  CHECK(net.arena.guards_intact());
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

bool whole_step(network& net, cudaStream_t stream) {
  bool ok = true;
  for (int layer = 0; layer < num_layers; ++layer)
    ok = ok && net.forward(layer, net.activation.data(), stream).ok();
  for (int layer = num_layers - 1; layer >= 0; --layer) {
    ok = ok && net.backward(layer, net.activation.data(), net.restored.data(), stream).ok();
  }
  return ok;
}

constexpr std::uint64_t enough_slabs = num_layers * (num_values * 2 / (slab_bytes - 8192) + 2);

}  // namespace

TEST_CASE("arena graph: a 12-layer step replays 1,000 times bit-exact while the density moves",
          "[arena]") {
  network net{enough_slabs, 0};
  replay(net, 1000, [&](cudaStream_t stream) { return whole_step(net, stream); });
  CHECK(net.skipped.read() == 0);
}

TEST_CASE("arena graph: an arena that spills is as exact", "[arena]") {
  network net{enough_slabs / 4, enough_slabs};
  replay(net, 300, [&](cudaStream_t stream) { return whole_step(net, stream); });
  CHECK(net.skipped.read() == 0);
  CHECK(net.arena.state().spilled > 0);
}

TEST_CASE("arena graph: an arena that runs out skips those steps and recovers", "[arena]") {
  network net{enough_slabs / 2, 0};
  replay(net, 300, [&](cudaStream_t stream) { return whole_step(net, stream); });
  CHECK(net.skipped.read() > 0);
  CHECK(net.skipped.read() < 300);
}

TEST_CASE("arena graph: two forked streams share the arena, replayed 1,000 times", "[arena]") {
  network net{enough_slabs, 0};
  device_array<bits_type> other_activation(num_values), other_restored(num_values);
  cudaStream_t fork;
  cudaEvent_t begin, end;
  require_cuda(cudaStreamCreateWithFlags(&fork, cudaStreamNonBlocking), "cudaStreamCreate");
  require_cuda(cudaEventCreateWithFlags(&begin, cudaEventDisableTiming), "cudaEventCreate");
  require_cuda(cudaEventCreateWithFlags(&end, cudaEventDisableTiming), "cudaEventCreate");
  replay(net, 1000, [&](cudaStream_t stream) {
    bool ok = cudaEventRecord(begin, stream) == cudaSuccess &&
              cudaStreamWaitEvent(fork, begin, 0) == cudaSuccess;
    for (int layer = 0; layer < num_layers; ++layer) {
      bool const is_forked = layer % 2 == 1;
      ok                   = ok && net.forward(layer,
                             is_forked ? other_activation.data() : net.activation.data(),
                             is_forked ? fork : stream)
                     .ok();
    }
    for (int layer = num_layers - 1; layer >= 0; --layer) {
      bool const is_forked = layer % 2 == 1;
      ok                   = ok && net.backward(layer,
                              is_forked ? other_activation.data() : net.activation.data(),
                              is_forked ? other_restored.data() : net.restored.data(),
                              is_forked ? fork : stream)
                     .ok();
    }
    return ok && cudaEventRecord(end, fork) == cudaSuccess &&
           cudaStreamWaitEvent(stream, end, 0) == cudaSuccess;
  });
  CHECK(net.skipped.read() == 0);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaStreamDestroy(fork);
}

TEST_CASE("arena stream: 300 calls behind a spinning kernel return while it spins", "[arena]") {
  network net{enough_slabs, 0};
  cudaStream_t stream;
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  REQUIRE(whole_step(net, stream));  // modules load at a kernel's first use
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::size_t free_before = 0, free_after = 0, total = 0;
  require_cuda(cudaMemGetInfo(&free_before, &total), "cudaMemGetInfo");
  int* flag = nullptr;
  require_cuda(cudaHostAlloc(reinterpret_cast<void**>(&flag), sizeof(*flag), cudaHostAllocMapped),
               "cudaHostAlloc");
  *flag = 0;
  spin_kernel<<<1, 1, 0, stream>>>(flag);
  bool all_ok = true;
  for (int i = 0; i < 100; ++i) {
    auto const tensor = net.saved[i % num_layers]->view();
    all_ok =
        all_ok &&
        bs::compress<bs::codec::sign>(
            bs::const_matrix_view<bs::bf16>{net.activation.data(), num_rows, num_cols, num_cols},
            tensor,
            stream)
            .ok() &&
        bs::decompress(tensor, {net.restored.data(), num_rows, num_cols, num_cols}, stream).ok() &&
        bs::release(tensor, stream).ok();
  }
  bool const still_spinning        = cudaStreamQuery(stream) == cudaErrorNotReady && *flag == 0;
  *const_cast<int volatile*>(flag) = 1;
  CHECK(all_ok);
  CHECK(still_spinning);
  require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  require_cuda(cudaMemGetInfo(&free_after, &total), "cudaMemGetInfo");
  CHECK(free_before == free_after);
  CHECK(net.arena.state().in_use[0] == 0);
  CHECK(net.arena.state().conditions == 0);
  cudaFreeHost(flag);
  cudaStreamDestroy(stream);
}

TEST_CASE("arena stream: a kernel that lets the next one start early is waited for", "[arena]") {
  network net{enough_slabs, 0};
  auto const tensor = net.saved[0]->view();
  bool all_ok       = true;
  for (unsigned step = 0; step < 20; ++step) {
    late_fill_kernel<<<num_values / 256, 256>>>(net.activation.data(), step);
    all_ok = all_ok && bs::compress<bs::codec::sign>(
                           bs::const_matrix_view<bs::bf16>{
                               net.activation.data(), num_rows, num_cols, num_cols},
                           tensor,
                           nullptr)
                           .ok();
    late_fill_kernel<<<num_values / 256, 256>>>(net.restored.data(), step + 1000);
    bs::matrix_view<bs::bf16> const target{net.restored.data(), num_rows, num_cols, num_cols};
    if (step % 2 == 0) {
      all_ok = all_ok && bs::consume(tensor, target, nullptr).ok();
    } else {
      all_ok = all_ok && bs::decompress(tensor, target, nullptr).ok();
      late_judge_kernel<<<1, 1>>>(tensor.state, net.silent.data());
      all_ok = all_ok && bs::release(tensor, nullptr).ok();
    }
    judge_kernel<<<num_values / 256, 256>>>(
        net.activation.data(), net.restored.data(), net.arena.view().state, net.silent.data());
  }
  CHECK(all_ok);
  CHECK(net.silent.read() == 0);
  CHECK(net.arena.state().conditions == 0);
  CHECK(net.arena.state().in_use[0] == 0);
  CHECK(net.arena.free_slabs(0) == net.arena.view().num_device_slabs);
}
