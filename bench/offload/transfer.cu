// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Dense bytes per second to the host and back, compression and decompression included: bitsparse,
/// the copy engine with dense matrices, and what one does without an arena: compress, read the size,
/// copy so many bytes.
#include <functional>

#include <bench/offload/common.hpp>

namespace offload_bench {

namespace {

using format    = bs::default_format<bs::bf16>;
using bits_type = format::bits_type;

constexpr std::uint64_t rows = 2048, cols = 21504, values = rows * cols;
constexpr std::uint64_t dense_bytes = values * sizeof(bits_type);
constexpr int num_tensors           = 24;
constexpr int num_buffers           = 3;  // tensors that may be on the device at a time

constexpr std::uint64_t tensor_slabs() {
  return bs::planned_slabs<format, bs::codec::fast>(rows, cols, 0.55) + 1;
}

/// What every method works with: one dense matrix, which stands for that of every layer, and where
/// matrices come back to.
struct workplace {
  device_memory dense{dense_bytes}, restored{dense_bytes};
  side_stream stream, out{true}, in{true};
  event_timer timer;
  device_memory sums{2 * sizeof(unsigned long long)};

  bs::const_matrix_view<bs::bf16> source() const {
    return {dense.as<bits_type>(), rows, cols, cols};
  }
  bs::matrix_view<bs::bf16> target() const { return {restored.as<bits_type>(), rows, cols, cols}; }
  /// Whether what came back last is the matrix, bit for bit; poisons it for the next time.
  bool is_restored() {
    auto* const sum = sums.as<unsigned long long>();
    require_cuda(cudaMemset(sum, 0, sums.bytes()), "cudaMemset");
    checksum_kernel<<<1024, 256>>>(dense.as<bits_type>(), values, sum);
    checksum_kernel<<<1024, 256>>>(restored.as<bits_type>(), values, sum + 1);
    unsigned long long read[2];
    require_cuda(cudaMemcpy(read, sum, sizeof(read), cudaMemcpyDeviceToHost), "cudaMemcpy");
    require_cuda(cudaMemset(restored.as<void>(), 0xa5, dense_bytes), "cudaMemset");
    return read[0] == read[1];
  }
};

/// Every method: tensors go to the host one after the other, and come back last in first out.
struct method {
  std::string name;
  std::function<void()> to_host, to_device;
  std::vector<double> ms[2];
};

void measure(std::vector<method>& methods, workplace& place, int rounds, int& failures) {
  for (int round = -1; round < rounds; ++round) {
    for (method& one : methods) {
      double const out = place.timer.milliseconds(one.to_host, place.stream);
      double const in  = place.timer.milliseconds(one.to_device, place.stream);
      if (!place.is_restored()) {
        std::printf("%s: what came back is wrong\n", one.name.c_str());
        ++failures;
      }
      if (round < 0) continue;
      one.ms[0].push_back(out);
      one.ms[1].push_back(in);
    }
  }
}

// -------------------------------------------------------------------------------------------------
// Dense
// -------------------------------------------------------------------------------------------------

struct dense_method {
  workplace& place;
  pinned_memory host{dense_bytes * num_tensors};

  void to_host() {
    for (int i = 0; i < num_tensors; ++i) {
      require_cuda(cudaMemcpyAsync(host.data() + i * dense_bytes,
                                   place.dense.as<void>(),
                                   dense_bytes,
                                   cudaMemcpyDeviceToHost,
                                   place.stream),
                   "cudaMemcpyAsync");
    }
  }
  void to_device() {
    for (int i = num_tensors - 1; i >= 0; --i) {
      require_cuda(cudaMemcpyAsync(place.restored.as<void>(),
                                   host.data() + i * dense_bytes,
                                   dense_bytes,
                                   cudaMemcpyHostToDevice,
                                   place.stream),
                   "cudaMemcpyAsync");
    }
  }
};

// -------------------------------------------------------------------------------------------------
// bitsparse
// -------------------------------------------------------------------------------------------------

template <class Codec>
struct arena_method {
  workplace& place;
  bs::arena arena{num_buffers * tensor_slabs() + 256, num_tensors* tensor_slabs() + 16};
  bs::offloader mover;
  std::vector<bs::compressed_tensor<format>> tensors;
  std::vector<bs::transfer> moved{num_tensors};

  explicit arena_method(workplace& at) : place(at) {
    for (int i = 0; i < num_tensors; ++i) tensors.emplace_back(arena.view(), rows, cols);
  }
  void to_host() {
    for (int i = 0; i < num_tensors; ++i) {
      if (i >= num_buffers) require(moved[i - num_buffers].wait(place.stream), "wait");
      require(bs::compress<Codec>(place.source(), tensors[i].view(), place.stream), "compress");
      require(mover.offload(tensors[i].view(), moved[i], place.stream), "offload");
    }
    for (auto const& one : moved) require(one.wait(place.stream), "wait");
  }
  void to_device() {
    for (int i = num_tensors - 1; i >= 0; --i) {
      int const ahead = i - num_buffers + 1;
      for (int next = i == num_tensors - 1 ? i : ahead; next >= std::max(ahead, 0); --next) {
        require(mover.prefetch(tensors[next].view(), moved[next], place.stream), "prefetch");
      }
      require(moved[i].wait(place.stream), "wait");
      require(bs::consume(tensors[i].view(), place.target(), place.stream), "consume");
    }
  }
};

// -------------------------------------------------------------------------------------------------
// Compress, read the size, copy
// -------------------------------------------------------------------------------------------------

struct sized_method {
  static constexpr std::uint64_t payload_bytes = tensor_slabs() * bs::default_slab_bytes;
  static constexpr std::uint64_t front_bytes   = bs::device_tensor_bytes<format>(rows, cols, 0);

  workplace& place;
  std::vector<device_memory> buffers;
  pinned_memory host{num_tensors * payload_bytes};
  pinned_memory directories{num_tensors * front_bytes}, size{sizeof(bs::tensor_state)};
  std::vector<std::uint64_t> used = std::vector<std::uint64_t>(num_tensors);
  order_event compressed[num_buffers], copied[num_buffers];

  explicit sized_method(workplace& at) : place(at) {
    for (int i = 0; i < num_buffers; ++i) {
      buffers.emplace_back(bs::device_tensor_bytes<format>(rows, cols, payload_bytes));
      require_cuda(cudaMemset(buffers[i].as<void>(), 0, sizeof(bs::tensor_state)), "cudaMemset");
    }
  }
  bs::device_tensor_view<format> tensor(int i) const {
    return bs::make_device_tensor<format>(
        buffers[i % num_buffers].as<void>(), rows, cols, payload_bytes);
  }
  /// Copies front and payload of a tensor, to or from its place on the host.
  void copy(int i, cudaMemcpyKind kind, cudaStream_t stream) {
    std::byte* const places[][2] = {
        {buffers[i % num_buffers].as<std::byte>(), directories.data() + i * front_bytes},
        {tensor(i).payload, host.data() + i * payload_bytes}};
    std::uint64_t const bytes[] = {front_bytes, used[i]};
    int const to                = kind == cudaMemcpyDeviceToHost ? 1 : 0;
    for (int part = 0; part < 2; ++part) {
      require_cuda(
          cudaMemcpyAsync(places[part][to], places[part][1 - to], bytes[part], kind, stream),
          "cudaMemcpyAsync");
    }
  }
  void to_host() {
    for (int i = 0; i < num_tensors; ++i) {
      if (i >= num_buffers) copied[i % num_buffers].wait(place.stream);
      require(bs::compress<bs::codec::sign>(place.source(), tensor(i), place.stream), "compress");
      require_cuda(cudaMemcpyAsync(size.data(),
                                   tensor(i).state,
                                   sizeof(bs::tensor_state),
                                   cudaMemcpyDeviceToHost,
                                   place.stream),
                   "cudaMemcpyAsync");
      require_cuda(cudaStreamSynchronize(place.stream), "the size");  // the host has to know it
      used[i] =
          reinterpret_cast<bs::tensor_state const*>(size.data())->cursor_units * bs::unit_bytes;
      copy(i, cudaMemcpyDeviceToHost, place.out);
      copied[i % num_buffers].record(place.out);
    }
    for (auto const& one : copied) one.wait(place.stream);
  }
  void to_device() {
    for (auto const& one : compressed) one.record(place.stream);
    for (int i = num_tensors - 1; i >= 0; --i) {
      compressed[i % num_buffers].wait(place.in);
      copy(i, cudaMemcpyHostToDevice, place.in);
      copied[i % num_buffers].record(place.in);
      copied[i % num_buffers].wait(place.stream);
      require(bs::decompress(tensor(i), place.target(), place.stream), "decompress");
      compressed[i % num_buffers].record(place.stream);
    }
  }
};

/// Bytes of one tensor's chunks.
template <class Codec>
std::uint64_t chunk_bytes(arena_method<Codec>& method) {
  require(bs::clear(method.arena.view(), nullptr), "clear");
  method.to_host();
  auto const report = report_of(method.arena.view());
  method.to_device();
  require_cuda(cudaDeviceSynchronize(), "chunk_bytes");
  return report.bytes_to_host / num_tensors;
}

json_object describe(method const& one, double zeros, double ratio, method const& engine) {
  json_object result;
  result.add("name", one.name).add("zeros", zeros).add("ratio", ratio);
  char const* const names[] = {"to_host", "to_device"};
  std::printf("%.2f  %-14s ratio %6.2f", zeros, one.name.c_str(), ratio);
  for (int way = 0; way < 2; ++way) {
    auto const ms       = ffn::summarize(one.ms[way]);
    double const rate   = num_tensors * dense_bytes / ms.median / 1e6;
    double const gained = ffn::summarize(engine.ms[way]).median / ms.median;
    std::printf("  %s %7.1f GB/s = %5.2f x dense, %.3f of the ratio",
                names[way],
                rate,
                gained,
                gained / ratio);
    result.add(std::string(names[way]) + "_dense_gb_per_s", rate)
        .add(std::string(names[way]) + "_ms", one.ms[way])
        .add(std::string(names[way]) + "_times_dense", gained);
  }
  std::printf("\n");
  return result;
}

}  // namespace

json_object measure_transfer(options const& chosen, int& failures) {
  std::printf("transfer of %d tensors of %llu MiB, dense GB/s, compression included\n",
              num_tensors,
              static_cast<unsigned long long>(dense_bytes >> 20));
  workplace place;
  dense_method dense{place};
  arena_method<bs::codec::fast> fast{place};
  arena_method<bs::codec::sign> sign{place};
  arena_method<bs::codec::compact> compact{place};
  sized_method sized{place};
  std::vector<json_object> results;
  for (double const zeros : {0.5, 0.8, 0.9, 0.95}) {
    bench::fill_activations<bs::bf16>(place.dense.as<bits_type>(), values, zeros, 3);
    std::vector<method> methods;
    auto const add = [&](char const* name, auto& one) {
      methods.push_back({name, [&one] { one.to_host(); }, [&one] { one.to_device(); }, {}});
    };
    add("dense", dense);
    add("fast", fast);
    add("sign", sign);
    add("compact", compact);
    add("size_and_copy", sized);
    measure(methods, place, chosen.rounds, failures);
    auto const ratio = [](auto& one) {
      return static_cast<double>(dense_bytes) / static_cast<double>(chunk_bytes(one));
    };
    double const ratios[] = {1, ratio(fast), ratio(sign), ratio(compact), ratio(sign)};
    for (std::size_t i = 0; i < methods.size(); ++i) {
      results.push_back(describe(methods[i], zeros, ratios[i], methods[0]));
    }
  }
  return json_object()
      .add("tensors", num_tensors)
      .add("rows", rows)
      .add("cols", cols)
      .add("results", results);
}

}  // namespace offload_bench
