// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What a large matrix product and the transfers beside it take from each other.
#include <chrono>
#include <functional>
#include <thread>

#include <bench/offload/common.hpp>
#include <bench/offload/products.hpp>

namespace offload_bench {

namespace {

using format = bs::default_format<bs::bf16>;

constexpr std::uint64_t rows = 8192, cols = 32768, values = rows * cols;
constexpr int num_products = 12;

/// Work that keeps the link busy in one direction or both, for longer than the products take.
struct traffic {
  std::string name;
  std::function<void()> start;           // enqueues it on streams of its own
  std::function<std::uint64_t()> bytes;  // that it moved
  std::vector<double> product_ms, gb_per_s;
};

struct workplace {
  static constexpr std::uint64_t num_slabs = 1600;
  products gemm{21504, 16000, 4096};  // an FFN's first one: hidden, tokens, width
  side_stream stream, out{true}, in{true};
  bs::arena arena{3 * num_slabs, 3 * num_slabs};
  bs::compressed_tensor<format> first{arena.view(), rows, cols}, second{arena.view(), rows, cols};
  device_memory dense{values * 2};
  pinned_memory host{values * 2};
  device_memory back{values * 2};
  cudaEvent_t begun, start, stop, traffic_stop[2];

  workplace() {
    for (auto* const event : {&begun, &start, &stop, &traffic_stop[0], &traffic_stop[1]}) {
      require_cuda(cudaEventCreate(event), "cudaEventCreate");
    }
    auto* const data = dense.as<std::uint16_t>();
    bench::fill_activations<bs::bf16>(data, values, 0.5, 5);
    for (auto* const tensor : {&first, &second}) {
      require(bs::compress<bs::codec::sign>(
                  bs::const_matrix_view<bs::bf16>{data, rows, cols, cols}, tensor->view(), nullptr),
              "compress");
    }
    require(bs::offload(second.view(), 8, nullptr), "offload");
    require_cuda(cudaDeviceSynchronize(), "compress");
  }
  std::uint64_t moved() const {
    auto const report = report_of(arena.view());
    return report.bytes_to_host + report.bytes_to_device;
  }

  /// Runs products beside traffic; the traffic starts with the second product.
  void run(traffic& one, bool has_products) {
    std::uint64_t const before = one.bytes();
    float product = 0, out_ms = 0, in_ms = 0;
    std::this_thread::sleep_for(
        std::chrono::milliseconds(25));  // all begin at the same temperature
    if (has_products) gemm.run(stream);
    require_cuda(cudaEventRecord(begun, stream), "cudaEventRecord");
    require_cuda(cudaStreamWaitEvent(out, begun, 0), "cudaStreamWaitEvent");
    require_cuda(cudaStreamWaitEvent(in, begun, 0), "cudaStreamWaitEvent");
    require_cuda(cudaEventRecord(start, stream), "cudaEventRecord");
    for (int i = 0; i < num_products && has_products; ++i) {
      if (i == 1) one.start();
      gemm.run(stream);
    }
    require_cuda(cudaEventRecord(stop, stream), "cudaEventRecord");
    if (!has_products) one.start();
    require_cuda(cudaEventRecord(traffic_stop[0], out), "cudaEventRecord");
    require_cuda(cudaEventRecord(traffic_stop[1], in), "cudaEventRecord");
    require_cuda(cudaDeviceSynchronize(), "product");
    require_cuda(cudaEventElapsedTime(&product, start, stop), "cudaEventElapsedTime");
    require_cuda(cudaEventElapsedTime(&out_ms, begun, traffic_stop[0]), "cudaEventElapsedTime");
    require_cuda(cudaEventElapsedTime(&in_ms, begun, traffic_stop[1]), "cudaEventElapsedTime");
    one.product_ms.push_back(product / num_products);
    one.gb_per_s.push_back(static_cast<double>(one.bytes() - before) / std::max(out_ms, in_ms) /
                           1e6);
  }
};

}  // namespace

json_object measure_product(options const& chosen, int& failures) {
  workplace place;
  std::uint64_t copied = 0;
  auto const copy      = [&](bool to_host, cudaStream_t stream, std::uint64_t bytes) {
    require_cuda(
        cudaMemcpyAsync(to_host ? static_cast<void*>(place.host.data()) : place.back.as<void>(),
                        to_host ? place.dense.as<void>() : static_cast<void*>(place.host.data()),
                        bytes,
                        to_host ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice,
                        stream),
        "cudaMemcpyAsync");
    copied += bytes;
  };
  auto const moved            = [&] { return place.moved(); };
  auto const engine           = [&] { return copied; };
  constexpr std::uint64_t all = values * 2;  // 512 MiB: 10 ms
  std::vector<traffic> kinds;
  kinds.push_back({"none", [] {}, [] { return std::uint64_t{0}; }, {}, {}});
  kinds.push_back({"copy engine, to host",
                   [&] {
                     for (int i = 0; i < 5; ++i) copy(true, place.out, all);
                   },
                   engine,
                   {},
                   {}});
  kinds.push_back({"copy engine, to device",
                   [&] {
                     for (int i = 0; i < 5; ++i) copy(false, place.in, all);
                   },
                   engine,
                   {},
                   {}});
  for (int const blocks : {2, 4, 8}) {
    // 316 MiB each way: the tensors change places and come back.
    kinds.push_back({"offload, " + std::to_string(blocks) + " blocks",
                     [&place, blocks] {
                       for (int i = 0; i < 4; ++i) {
                         require(bs::offload(place.first.view(), blocks, place.out), "offload");
                         require(bs::prefetch(place.first.view(), blocks, place.out), "prefetch");
                       }
                     },
                     moved,
                     {},
                     {}});
  }
  kinds.push_back({"both ways, 8 blocks",
                   [&place] {
                     for (int i = 0; i < 3; ++i) {
                       require(bs::offload(place.first.view(), 8, place.out), "offload");
                       require(bs::prefetch(place.second.view(), 8, place.in), "prefetch");
                       require(bs::prefetch(place.first.view(), 8, place.out), "prefetch");
                       require(bs::offload(place.second.view(), 8, place.in), "offload");
                     }
                   },
                   moved,
                   {},
                   {}});
  std::vector<traffic> alone = kinds;
  for (int round = -1; round < chosen.rounds; ++round) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      place.run(kinds[i], true);
      if (i != 0) place.run(alone[i], false);
      if (round >= 0) continue;
      for (auto* const one : {&kinds[i], &alone[i]}) {
        one->product_ms.clear();
        one->gb_per_s.clear();
      }
    }
  }
  if (report_of(place.arena.view()).conditions != 0) ++failures;
  std::printf("product 16000 x 4096 x 21504 beside traffic\n");
  std::vector<json_object> results;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    auto const loss     = ffn::summarize(ffn::ratios(kinds[i].product_ms, kinds[0].product_ms));
    double const ms     = ffn::summarize(kinds[i].product_ms).median;
    double const beside = ffn::summarize(kinds[i].gb_per_s).median;
    double const lonely = i == 0 ? 0 : ffn::summarize(alone[i].gb_per_s).median;
    std::printf("%-26s %7.3f ms  x %.4f +- %.4f   link GB/s beside it %6.2f, alone %6.2f\n",
                kinds[i].name.c_str(),
                ms,
                loss.mean,
                loss.interval,
                beside,
                lonely);
    results.push_back(json_object()
                          .add("traffic", kinds[i].name)
                          .add("product_ms", ms)
                          .add("times_alone", loss.mean)
                          .add("interval", loss.interval)
                          .add("gb_per_s_beside_it", beside)
                          .add("gb_per_s_alone", lonely));
  }
  return json_object().add("products", num_products).add("results", results);
}

}  // namespace offload_bench
