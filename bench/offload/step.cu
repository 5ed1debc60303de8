// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A training step whose activations go to the host in forward and come back in backward, all but the
/// last layer's, which backward begins with; the link takes from half of to four times what the
/// computation takes. No offload, dense asynchronous offload, and bitsparse.
#include <bench/offload/common.hpp>
#include <bench/offload/products.hpp>

namespace offload_bench {

namespace {

constexpr std::uint64_t dense_bytes = 96ull << 20;  // of a layer: 1.8 ms on the link
constexpr std::uint64_t cols        = 8192;
constexpr int num_buffers           = 3;  // dense ones, or the slabs of so many layers

/// Shares of values that are kept, by layer.
struct density_set {
  char const* name;
  std::vector<double> kept;
};

std::vector<density_set> density_sets() {
  auto const uniform = [](double kept) { return std::vector<double>(24, kept); };
  return {// Source: per-layer densities of ReLU outputs in public work on zero-value compression,
          // rounded. All layers have the same size here.
          {"AlexNet, rounded", {.5, .8, .4, .6, .7, .7, .3, .6}},
          {"VGG-16, rounded",
           {.5, .2, .3, .2, .1, .2, .2, .2, .1, .2, .2, .1, .1, .1, .2, .2, .1, .15}},
          {"50 % zeros", uniform(.5)},
          {"80 % zeros", uniform(.2)},
          {"95 % zeros", uniform(.05)}};
}

/// A layer's activation: the magnitudes, of which the smallest are cut off as a ReLU does. Rows are
/// not alike: tile rows of 32 take turns in being 0.75 to 1.25 as dense as the layer.
template <class Bits>
__global__ void activation_kernel(
    Bits* values, std::uint64_t count, Bits const* magnitudes, double kept, std::uint64_t seed) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += stride) {
    std::uint64_t mixed = (i + seed) * 0x9e3779b97f4a7c15u;
    mixed               = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed               = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    mixed ^= mixed >> 31;
    double const here = kept * (0.75 + 0.125 * static_cast<double>(i / (32 * cols) % 5));
    values[i] = static_cast<std::uint32_t>(mixed) < static_cast<std::uint32_t>(here * 4294967295.0)
                    ? magnitudes[mixed >> 48]
                    : Bits{0};
  }
}

/// What all modes share: the computation, a matrix to work in, and the sums that are the result.
template <class Element>
struct network {
  using bits_type                       = typename Element::bits_type;
  static constexpr std::uint64_t values = dense_bytes / sizeof(bits_type);
  static constexpr std::uint64_t rows   = values / cols;

  products work{8192, 8192, 8192};
  device_memory magnitudes{bench::num_magnitudes * sizeof(bits_type)};
  device_memory sums;
  std::vector<double> kept;
  double products_per_layer = 1;  // in forward; twice as many in backward
  double product_ms         = 0;
  side_stream stream;

  explicit network(std::size_t max_layers) : sums(max_layers * sizeof(unsigned long long)) {
    auto table = bench::make_activations<Element>(bench::num_magnitudes, 0, 1);
    for (auto& bits : table) bits = bits == 0 ? bits_type{1} : bits;
    require_cuda(
        cudaMemcpy(magnitudes.as<void>(), table.data(), magnitudes.bytes(), cudaMemcpyHostToDevice),
        "cudaMemcpy");
    event_timer timer;
    std::vector<double> times;
    for (int i = 0; i < 40; ++i) {
      times.push_back(timer.milliseconds([&] { work.run(stream); }, stream));
    }
    product_ms = ffn::summarize({times.begin() + 20, times.end()}).median;
  }
  int num_layers() const { return static_cast<int>(kept.size()); }
  bs::matrix_view<Element> matrix(void* data) const {
    return {static_cast<bits_type*>(data), rows, cols, cols};
  }

  /// The products of all layers up to this one, less those that were there already: a fraction of a
  /// product per layer adds up over the layers.
  void compute(int done, int factor) {
    auto const until = [&](int layers) {
      return static_cast<int>(layers * factor * products_per_layer + 0.5);
    };
    for (int i = until(done); i < until(done + 1); ++i) work.run(stream);
  }
  void forward(int layer, void* activation) {
    compute(layer, 1);
    activation_kernel<<<1056, 512, 0, stream>>>(static_cast<bits_type*>(activation),
                                                values,
                                                magnitudes.as<bits_type>(),
                                                kept[layer],
                                                std::uint64_t(layer) << 32);
  }
  void backward(int layer, void const* activation) {
    checksum_kernel<<<1056, 512, 0, stream>>>(
        static_cast<bits_type const*>(activation), values, sums.as<unsigned long long>() + layer);
    compute(num_layers() - 1 - layer, 2);
  }
  void clear_sums() {
    require_cuda(cudaMemsetAsync(sums.as<void>(), 0, sums.bytes(), stream), "cudaMemsetAsync");
  }
  std::vector<unsigned long long> read_sums() const {
    std::vector<unsigned long long> result(kept.size());
    require_cuda(
        cudaMemcpy(
            result.data(), sums.as<void>(), result.size() * sizeof(result[0]), cudaMemcpyDefault),
        "cudaMemcpy");
    return result;
  }
};

// -------------------------------------------------------------------------------------------------
// Modes
// -------------------------------------------------------------------------------------------------

/// Where activations are between forward and backward.
template <class Element>
struct mode {
  virtual ~mode()                          = default;
  virtual void forward(network<Element>&)  = 0;
  virtual void backward(network<Element>&) = 0;
};

template <class Element>
struct no_offload : mode<Element> {
  std::vector<device_memory> saved;
  explicit no_offload(std::size_t max_layers) {
    for (std::size_t i = 0; i < max_layers; ++i) saved.emplace_back(dense_bytes);
  }
  void forward(network<Element>& net) override {
    for (int layer = 0; layer < net.num_layers(); ++layer) {
      net.forward(layer, saved[layer].template as<void>());
    }
  }
  void backward(network<Element>& net) override {
    for (int layer = net.num_layers() - 1; layer >= 0; --layer) {
      net.backward(layer, saved[layer].template as<void>());
    }
  }
};

/// Source: vDNN's way (Rhu et al., MICRO 2016): copies beside the computation, on streams of their own.
template <class Element>
struct dense_offload : mode<Element> {
  std::vector<device_memory> buffers;
  pinned_memory host;
  side_stream out{true}, in{true};
  order_event ready[num_buffers], copied[num_buffers];

  explicit dense_offload(std::size_t max_layers) : host(max_layers * dense_bytes) {
    for (int i = 0; i < num_buffers; ++i) buffers.emplace_back(dense_bytes);
  }
  void copy(int layer, cudaStream_t side, cudaStream_t after, bool to_host) {
    int const i        = layer % num_buffers;
    void* const place  = host.data() + layer * dense_bytes;
    void* const buffer = buffers[i].template as<void>();
    ready[i].record(after);
    ready[i].wait(side);
    require_cuda(cudaMemcpyAsync(to_host ? place : buffer,
                                 to_host ? buffer : place,
                                 dense_bytes,
                                 to_host ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice,
                                 side),
                 "cudaMemcpyAsync");
    copied[i].record(side);
  }
  void forward(network<Element>& net) override {
    for (int layer = 0; layer < net.num_layers(); ++layer) {
      copied[layer % num_buffers].wait(net.stream);
      net.forward(layer, buffers[layer % num_buffers].template as<void>());
      if (layer + 1 < net.num_layers()) copy(layer, out, net.stream, true);
    }
  }
  void backward(network<Element>& net) override {
    int const last = net.num_layers() - 1;
    for (int layer = last - 1; layer > last - num_buffers; --layer) fetch(net, layer);
    for (int layer = last; layer >= 0; --layer) {
      if (layer != last) copied[layer % num_buffers].wait(net.stream);
      net.backward(layer, buffers[layer % num_buffers].template as<void>());
      if (layer >= num_buffers) fetch(net, layer - num_buffers);
    }
  }
  void fetch(network<Element>& net, int layer) {
    copied[layer % num_buffers].wait(in);  // until what the buffer held is on the host
    copy(layer, in, net.stream, false);
  }
};

template <class Element, class Codec>
struct compressed_offload : mode<Element> {
  using format                               = bs::default_format<Element>;
  using bits                                 = typename Element::bits_type;
  static constexpr std::uint64_t layer_slabs = dense_bytes / bs::default_slab_bytes * 17 / 16 + 2;

  bs::arena arena;
  bs::offloader mover;
  std::vector<bs::compressed_tensor<format>> saved;
  std::vector<bs::transfer> moved;
  device_memory work{dense_bytes};

  explicit compressed_offload(std::size_t max_layers)
      : arena(num_buffers * layer_slabs + 160, max_layers * layer_slabs + 16), moved(max_layers) {
    for (std::size_t i = 0; i < max_layers; ++i) {
      saved.emplace_back(arena.view(), network<Element>::rows, cols);
    }
  }
  void forward(network<Element>& net) override {
    auto const view = net.matrix(work.as<void>());
    for (int layer = 0; layer < net.num_layers(); ++layer) {
      net.forward(layer, work.as<void>());
      if (layer >= num_buffers) require(moved[layer - num_buffers].wait(net.stream), "wait");
      require(bs::compress<Codec>(
                  bs::const_matrix_view<Element>{view.data, view.rows, view.cols, view.ld},
                  saved[layer].view(),
                  net.stream),
              "compress");
      if (layer + 1 == net.num_layers()) break;
      require(mover.offload(saved[layer].view(), moved[layer], net.stream), "offload");
    }
  }
  void prefetch(network<Element>& net, int layer) {
    if (layer >= 0)
      require(mover.prefetch(saved[layer].view(), moved[layer], net.stream), "prefetch");
  }
  void backward(network<Element>& net) override {
    int const last = net.num_layers() - 1;
    for (int layer = last - 1; layer > last - num_buffers; --layer) prefetch(net, layer);
    for (int layer = last; layer >= 0; --layer) {
      if (layer != last) require(moved[layer].wait(net.stream), "wait");
      require(bs::consume(saved[layer].view(), net.matrix(work.as<void>()), net.stream), "consume");
      prefetch(net, layer - num_buffers);
      net.backward(layer, work.as<void>());
    }
  }
};

// -------------------------------------------------------------------------------------------------
// Measurement
// -------------------------------------------------------------------------------------------------

template <class Element>
struct entrant {
  std::string name;
  std::unique_ptr<mode<Element>> way;
  bs::arena_view arena;
  std::vector<double> forward_ms, backward_ms, step_ms;
  double link_bytes = 0;  // one way, in a step
};

template <class Element>
class step_measurement {
 public:
  step_measurement(int rounds, int& failures) : rounds_(rounds), failures_(failures) {
    std::size_t layers = 0;
    for (auto const& set : density_sets()) layers = std::max(layers, set.kept.size());
    net_ = std::make_unique<network<Element>>(layers);
    entrants_.push_back(
        {"no_offload", std::make_unique<no_offload<Element>>(layers), {}, {}, {}, {}});
    entrants_.push_back(
        {"dense", std::make_unique<dense_offload<Element>>(layers), {}, {}, {}, {}});
    add<bs::codec::sign>("sign", layers);
    add<bs::codec::compact>("compact", layers);
    for (auto& event : timings_) require_cuda(cudaEventCreate(&event), "cudaEventCreate");
  }

  json_object run(char const* element, double engine_gb_per_s) {
    std::vector<json_object> results;
    std::printf(
        "step, %s: layers of %llu MiB, a product takes %.3f ms; link / computation, time "
        "(of the ideal), gain over dense\n",
        element,
        static_cast<unsigned long long>(dense_bytes >> 20),
        net_->product_ms);
    double const dense_ms = static_cast<double>(dense_bytes) / engine_gb_per_s / 1e6;
    for (auto const& set : density_sets()) {
      net_->kept = set.kept;
      for (double const intensity : {0.5, 1.0, 1.32, 1.61, 2.0, 4.0}) {
        net_->products_per_layer = dense_ms / intensity / net_->product_ms / 1.5;
        measure();
        for (auto& one : entrants_) {
          results.push_back(describe(one, set.name, intensity, engine_gb_per_s));
        }
      }
    }
    return json_object()
        .add("layer_bytes", dense_bytes)
        .add("copy_engine_gb_per_s", engine_gb_per_s)
        .add("results", results);
  }

 private:
  template <class Codec>
  void add(char const* name, std::size_t layers) {
    auto way         = std::make_unique<compressed_offload<Element, Codec>>(layers);
    auto const arena = way->arena.view();
    entrants_.push_back({name, std::move(way), arena, {}, {}, {}});
  }
  void measure() {
    std::vector<unsigned long long> expected;
    for (auto& one : entrants_) one.forward_ms = one.backward_ms = one.step_ms = {};
    for (int round = -1; round < rounds_; ++round) {
      for (auto& one : entrants_) {
        if (one.arena.state != nullptr) require(bs::clear(one.arena, nullptr), "clear");
        net_->clear_sums();
        require_cuda(cudaDeviceSynchronize(), "clear");
        require_cuda(cudaEventRecord(timings_[0], net_->stream), "cudaEventRecord");
        one.way->forward(*net_);
        require_cuda(cudaEventRecord(timings_[1], net_->stream), "cudaEventRecord");
        one.way->backward(*net_);
        require_cuda(cudaEventRecord(timings_[2], net_->stream), "cudaEventRecord");
        require_cuda(cudaDeviceSynchronize(), one.name.c_str());
        check(one, expected);
        if (round < 0) continue;
        float forward = 0, backward = 0;
        require_cuda(cudaEventElapsedTime(&forward, timings_[0], timings_[1]), "elapsed");
        require_cuda(cudaEventElapsedTime(&backward, timings_[1], timings_[2]), "elapsed");
        one.forward_ms.push_back(forward);
        one.backward_ms.push_back(backward);
        one.step_ms.push_back(forward + backward);
      }
    }
  }
  void check(entrant<Element>& one, std::vector<unsigned long long>& expected) {
    auto const sums = net_->read_sums();
    if (expected.empty()) expected = sums;
    bool is_right = sums == expected;
    one.link_bytes =
        one.name == "dense" ? static_cast<double>(dense_bytes) * net_->num_layers() : 0;
    if (one.arena.state != nullptr) {
      auto const report = report_of(one.arena);
      one.link_bytes    = static_cast<double>(report.bytes_to_host);
      is_right          = is_right && report.conditions == 0 && report.unmoved_slabs == 0 &&
                 report.spilled_slabs == 0 && report.bytes_to_host == report.bytes_to_device;
    }
    if (is_right) return;
    std::printf("%s: the step's result is wrong\n", one.name.c_str());
    ++failures_;
  }
  json_object describe(entrant<Element> const& one,
                       char const* set,
                       double intensity,
                       double engine_gb_per_s) {
    auto const& none      = entrants_[0];
    auto const& dense     = entrants_[1];
    double const link_ms  = one.link_bytes / engine_gb_per_s / 1e6;
    double const ideal_ms = std::max(ffn::summarize(none.forward_ms).median, link_ms) +
                            std::max(ffn::summarize(none.backward_ms).median, link_ms);
    double const ms = ffn::summarize(one.step_ms).median;
    auto const gain = ffn::summarize(ffn::ratios(dense.step_ms, one.step_ms));
    std::printf("%-18s %4.2f  %-10s %8.3f ms (%.3f)  x %.3f +- %.3f\n",
                set,
                intensity,
                one.name.c_str(),
                ms,
                ms / ideal_ms,
                gain.mean,
                gain.interval);
    return json_object()
        .add("densities", set)
        .add("layers", net_->num_layers())
        .add("link_over_computation", intensity)
        .add("mode", one.name)
        .add("step_ms", ms)
        .add("forward_ms", ffn::summarize(one.forward_ms).median)
        .add("backward_ms", ffn::summarize(one.backward_ms).median)
        .add("link_bytes_each_way", one.link_bytes)
        .add("ideal_ms", ideal_ms)
        .add("times_ideal", ms / ideal_ms)
        .add("dense_over_this", gain.mean)
        .add("interval", gain.interval);
  }

  int rounds_;
  int& failures_;
  std::unique_ptr<network<Element>> net_;
  std::vector<entrant<Element>> entrants_;
  cudaEvent_t timings_[3]{};
};

/// GB/s of the copy engine, the mean of both ways.
double engine_rate() {
  constexpr std::uint64_t bytes = 512ull << 20;
  device_memory device(bytes);
  pinned_memory host(bytes);
  side_stream stream;
  event_timer timer;
  std::vector<double> ms;
  for (int i = 0; i < 10; ++i) {
    ms.push_back(timer.milliseconds(
        [&] {
          require_cuda(cudaMemcpyAsync(
                           host.data(), device.as<void>(), bytes, cudaMemcpyDeviceToHost, stream),
                       "cudaMemcpyAsync");
          require_cuda(cudaMemcpyAsync(
                           device.as<void>(), host.data(), bytes, cudaMemcpyHostToDevice, stream),
                       "cudaMemcpyAsync");
        },
        stream));
  }
  return 2 * static_cast<double>(bytes) / ffn::summarize(ms).median / 1e6;
}

}  // namespace

json_object measure_step(options const& chosen, int& failures) {
  double const rate = engine_rate();
  json_object result;
  result.add("bf16", step_measurement<bs::bf16>(chosen.rounds, failures).run("bf16", rate));
  result.add("fp32", step_measurement<bs::fp32>(chosen.rounds, failures).run("fp32", rate));
  return result;
}

}  // namespace offload_bench
