// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Bytes per second over the link: movers of 1 to 8 blocks against the copy engine, to the host, to
/// the device, and both at once.
#include <bench/offload/common.hpp>

namespace offload_bench {

namespace {

using format = bs::default_format<bs::bf16>;

constexpr std::uint64_t rows = 8192, cols = 65536;  // 1 GiB dense; chunks of about 640 MiB
constexpr std::uint64_t num_slabs = 3000;

/// Two full tensors: `outbound` on the device, `inbound` on the host, or the other way round.
struct tensors {
  bs::arena arena{num_slabs, num_slabs};
  bs::compressed_tensor<format> first{arena.view(), rows, cols}, second{arena.view(), rows, cols};
  side_stream out{true}, in{true};
  event_timer out_timer, in_timer;

  tensors() {
    device_memory dense(rows * cols * 2);
    auto* const values = dense.as<std::uint16_t>();
    bench::fill_activations<bs::bf16>(values, rows * cols, 0.5, 1);
    for (auto* const tensor : {&first, &second}) {
      require(
          bs::compress<bs::codec::sign>(
              bs::const_matrix_view<bs::bf16>{values, rows, cols, cols}, tensor->view(), nullptr),
          "compress");
    }
    require(bs::offload(second.view(), 8, nullptr), "offload");
    require_cuda(cudaDeviceSynchronize(), "offload");
  }
  std::uint64_t moved_bytes(int to) {
    auto const report = report_of(arena.view());
    return to == 1 ? report.bytes_to_host : report.bytes_to_device;
  }
};

struct rates {
  double to_host = 0, to_device = 0, both_to_host = 0, both_to_device = 0;  // GB/s
};

/// GB/s of work that moves so many bytes, alone or both ways at once.
template <class Out, class In>
rates measure(tensors& set, std::uint64_t bytes, int rounds, Out out, In in) {
  std::vector<double> ms[4];
  auto const gb = static_cast<double>(bytes) / 1e6;
  for (int round = -1; round < rounds; ++round) {
    // Afterwards both tensors have changed places; the next one is the mirror of it.
    double const alone_out = set.out_timer.milliseconds([&] { out(set.out, 0); }, set.out);
    double const alone_in  = set.in_timer.milliseconds([&] { in(set.in, 0); }, set.in);
    cudaEvent_t start[2], stop[2];
    for (int i = 0; i < 2; ++i) {
      require_cuda(cudaEventCreate(&start[i]), "cudaEventCreate");
      require_cuda(cudaEventCreate(&stop[i]), "cudaEventCreate");
    }
    require_cuda(cudaEventRecord(start[0], set.out), "cudaEventRecord");
    require_cuda(cudaStreamWaitEvent(set.in, start[0], 0), "cudaStreamWaitEvent");
    require_cuda(cudaEventRecord(start[1], set.in), "cudaEventRecord");
    out(set.out, 1);
    in(set.in, 1);
    require_cuda(cudaEventRecord(stop[0], set.out), "cudaEventRecord");
    require_cuda(cudaEventRecord(stop[1], set.in), "cudaEventRecord");
    require_cuda(cudaDeviceSynchronize(), "both");
    float both[2];
    for (int i = 0; i < 2; ++i) {
      require_cuda(cudaEventElapsedTime(&both[i], start[i], stop[i]), "cudaEventElapsedTime");
      cudaEventDestroy(start[i]);
      cudaEventDestroy(stop[i]);
    }
    if (round < 0) continue;
    double const elapsed[] = {alone_out, alone_in, both[0], both[1]};
    for (int i = 0; i < 4; ++i) ms[i].push_back(elapsed[i]);
  }
  auto const rate = [&](int i) { return gb / ffn::summarize(ms[i]).median; };
  return {rate(0), rate(1), rate(2), rate(3)};
}

json_object describe(char const* name, int blocks, rates const& of, rates const& engine) {
  std::printf("%-12s %2d  %7.2f (%.3f) %7.2f (%.3f)   %7.2f (%.3f) %7.2f (%.3f)\n",
              name,
              blocks,
              of.to_host,
              of.to_host / engine.to_host,
              of.to_device,
              of.to_device / engine.to_device,
              of.both_to_host,
              of.both_to_host / engine.both_to_host,
              of.both_to_device,
              of.both_to_device / engine.both_to_device);
  return json_object()
      .add("name", name)
      .add("blocks", blocks)
      .add("to_host_gb_per_s", of.to_host)
      .add("to_device_gb_per_s", of.to_device)
      .add("both_to_host_gb_per_s", of.both_to_host)
      .add("both_to_device_gb_per_s", of.both_to_device);
}

}  // namespace

json_object measure_link(options const& chosen, int& failures) {
  tensors set;
  require(bs::clear(set.arena.view(), nullptr), "clear");
  require(bs::offload(set.first.view(), 8, nullptr), "offload");
  std::uint64_t const bytes = set.moved_bytes(1);
  require(bs::prefetch(set.first.view(), 8, nullptr), "prefetch");
  std::printf(
      "link, %llu MiB of chunks: GB/s (of the copy engine's) to host, to device, both at once\n",
      static_cast<unsigned long long>(bytes >> 20));

  std::vector<json_object> rows_of;
  rates engine;
  {
    device_memory device_out(bytes), device_in(bytes);
    pinned_memory host_out(bytes), host_in(bytes);
    engine = measure(
        set,
        bytes,
        chosen.rounds,
        [&](cudaStream_t stream, int) {
          require_cuda(cudaMemcpyAsync(host_out.data(),
                                       device_out.as<std::byte>(),
                                       bytes,
                                       cudaMemcpyDeviceToHost,
                                       stream),
                       "cudaMemcpyAsync");
        },
        [&](cudaStream_t stream, int) {
          require_cuda(
              cudaMemcpyAsync(
                  device_in.as<std::byte>(), host_in.data(), bytes, cudaMemcpyHostToDevice, stream),
              "cudaMemcpyAsync");
        });
    rows_of.push_back(describe("copy engine", 0, engine, engine));
  }
  for (int const blocks : {1, 2, 4, 8}) {
    // Alone: `first` goes out, then `second` comes in. Both: `second` goes out, `first` comes in.
    rates const ours = measure(
        set,
        bytes,
        chosen.rounds,
        [&](cudaStream_t stream, int both) {
          auto const& tensor = both != 0 ? set.second : set.first;
          require(bs::offload(tensor.view(), blocks, stream), "offload");
        },
        [&](cudaStream_t stream, int both) {
          auto const& tensor = both != 0 ? set.first : set.second;
          require(bs::prefetch(tensor.view(), blocks, stream), "prefetch");
        });
    rows_of.push_back(describe("bitsparse", blocks, ours, engine));
  }
  auto const report = report_of(set.arena.view());
  if (report.unmoved_slabs != 0 || report.conditions != 0) ++failures;
  return json_object().add("bytes", bytes).add("rows", rows_of);
}

}  // namespace offload_bench
