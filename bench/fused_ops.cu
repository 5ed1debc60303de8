// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What do fused ops cost, beside plain kernels that do the same on dense matrices?
///
/// Names: forward|backward/<op>/<stored element>/16000x21504/zeros:<share>/<codec or dense>. The
/// dense rows are plain element-wise kernels that keep r as a dense matrix: what a layer does without
/// bitsparse. Forward reads x and emits the activation into another matrix; backward writes the
/// gradient over the incoming one and, for both ops, the activation into another matrix. Rows named
/// .../turned are what 8-bit products need: from e4m3 and bf16 gradients the activation, transposed, and
/// the gradient both ways, all in e4m3; the dense one is the kernel that ffn_training's dense mode has.
/// Counters: fraction, the bytes of all dense operands and, for the compressed ones, the ideal bits of
/// the encodings chosen, over the copy rate and the time; copy_GBps; ratio.
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>

#include <bench/ffn_training/fp8_element_wise.cuh>
#include <bench/support/device.cuh>
#include <bench/support/device_case.cuh>
#include <bench/support/roofline.cuh>
#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>

namespace {

namespace bs = bitsparse;

using bench::require;
using bench::require_cuda;

constexpr std::uint64_t num_rows = 16000, num_cols = 21504, num_values = num_rows * num_cols;
constexpr int count = 4;  // of each matrix: far more than L2 holds

/// Normal numbers of the given mean, as bf16.
__global__ void fill_normal_kernel(std::uint16_t* values,
                                   float mean,
                                   float deviation,
                                   std::uint64_t seed) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < num_values;
       i += stride) {
    std::uint64_t mixed = (i + seed) * 0x9e3779b97f4a7c15u;  // SplitMix64
    mixed               = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed               = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    mixed ^= mixed >> 31;
    float const u = (static_cast<std::uint32_t>(mixed) + 1.0f) * 0x1p-32f;
    float const v = static_cast<float>(mixed >> 32) * 0x1p-32f;
    float const z = sqrtf(-2 * logf(fminf(u, 1.0f))) * cosf(6.2831853f * v);  // Box and Muller
    values[i]     = bs::from_float<bs::bf16>(mean + deviation * z);
  }
}

using run_of_8 = bs::value_run<bs::bf16, 8>;

/// One 16-byte vector per thread: reads x, keeps r, emits the activation.
template <class Op>
__global__ void dense_forward_kernel(std::uint16_t const* x,
                                     std::uint16_t* r,
                                     std::uint16_t* emitted) {
  std::uint64_t const i = (blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x) * 8;
  if (i >= num_values) return;
  run_of_8 in, kept, out;
  float numbers[8], seconds[8];
  in.load(x + i);
  in.to_floats(numbers);
  for (int j = 0; j < 8; ++j) {
    auto const made = Op::apply(numbers[j]);
    numbers[j]      = made.stored;
    seconds[j]      = made.emitted;
  }
  kept.from_floats(numbers);
  kept.store(r + i);
  if (emitted == nullptr) return;
  out.from_floats(seconds);
  out.store(emitted + i);
}
/// One 16-byte vector per thread: reads r and the gradient, writes over that, and the activation.
template <class Op>
__global__ void dense_backward_kernel(std::uint16_t const* r,
                                      std::uint16_t* gradient,
                                      std::uint16_t* first) {
  std::uint64_t const i = (blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x) * 8;
  if (i >= num_values) return;
  run_of_8 kept, in, out;
  float numbers[8], gradients[8];
  kept.load(r + i);
  in.load(gradient + i);
  kept.to_floats(numbers);
  in.to_floats(gradients);
  for (int j = 0; j < 8; ++j) {
    auto const made = Op::apply(numbers[j], gradients[j]);
    numbers[j]      = made.first;
    gradients[j]    = Op::num_results == 2 ? made.second : made.first;
  }
  in.from_floats(gradients);
  in.store(gradient + i);
  if (Op::num_results == 1) return;
  out.from_floats(numbers);
  out.store(first + i);
}

/// The dense matrices of a row, and the tensors of one format.
template <class Element, class Format = bs::default_format<Element>>
class subject_of {
 public:
  using format = Format;

  explicit subject_of(double zeros)
      : dense(num_rows, num_cols, num_cols, 0.5), result(num_values * 2), turned(num_values) {
    // The mean at which so large a share of normal numbers is negative.
    float const mean = zeros == 0.5 ? 0.0f : zeros == 0.8 ? -0.8416212f : -1.2815516f;
    for (int i = 0; i < count; ++i) {
      fill_normal_kernel<<<4096, 256>>>(dense.dense(i), mean, 1, std::uint64_t(i) << 40);
      fill_normal_kernel<<<4096, 256>>>(dense.restored(i), 0, 1e-3f, std::uint64_t(i + 9) << 40);
      std::uint64_t const payload = bs::max_payload_bytes<format>(num_rows, num_cols);
      memory_.emplace_back(bs::device_tensor_bytes<format>(num_rows, num_cols, payload));
      tensors.push_back(bs::make_device_tensor<format>(
          memory_[i].template as<void>(), num_rows, num_cols, payload));
      require_cuda(cudaMemset(tensors[i].state, 0, sizeof(bs::tensor_state)), "cudaMemset");
    }
    float const factor = 64;
    require_cuda(cudaMemcpy(scale.as<float>(), &factor, sizeof(factor), cudaMemcpyHostToDevice),
                 "cudaMemcpy");
  }
  template <class E>
  bs::matrix_view<E> matrix(void* data) const {
    return {static_cast<typename E::bits_type*>(data), num_rows, num_cols, num_cols};
  }
  bs::matrix_view<bs::bf16> source(int i) const { return matrix<bs::bf16>(dense.dense(i)); }
  bs::matrix_view<bs::bf16> gradient(int i) const { return matrix<bs::bf16>(dense.restored(i)); }

  bench::dense_matrices<bs::bf16> dense;  // x, and gradients
  bench::device_memory result;            // what is emitted
  bench::device_memory turned;            // a transposed gradient in e4m3
  bench::device_memory scale{sizeof(float)};
  std::vector<bs::device_tensor_view<format>> tensors;

 private:
  std::vector<bench::device_memory> memory_;
};

/// Times work(i) and sets the counters. @param dense_bytes of all dense operands of one call
template <class Subject, class Work>
void run(benchmark::State& state, Subject& subject, double dense_bytes, double ideal, Work work) {
  double const copy_rate = subject.dense.copy_bytes_per_ms();
  for (int i = 0; i < count; ++i) {
    fill_normal_kernel<<<4096, 256>>>(
        subject.dense.restored(i), 0, 1e-3f, std::uint64_t(i + 9) << 40);
  }
  double const ms = bench::measure(state, subject.dense, work);
  bench::set_counters(state, ms, dense_bytes + ideal, dense_bytes, 0, copy_rate);
  require_cuda(cudaGetLastError(), "the kernels");
}

/// Ideal bytes of the encodings in the first tensor.
template <class Subject>
double ideal_bytes(Subject const& subject) {
  using format = typename Subject::format;
  std::vector<bs::tile_descriptor> directory(bs::num_tiles<format>(num_rows, num_cols));
  require_cuda(cudaMemcpy(directory.data(),
                          subject.tensors[0].directory,
                          directory.size() * sizeof(directory[0]),
                          cudaMemcpyDeviceToHost),
               "cudaMemcpy");
  double bits = 0;
  for (auto const tile : directory) bits += bench::ideal_bits<format>(tile);
  return bits / 8;
}

/// @tparam Emitted element that the activation is emitted as, or none
template <class Element, class Codec, class Op, class Emitted>
void run_forward(benchmark::State& state, subject_of<Element>& subject) {
  double emitted_bytes = 0;
  if constexpr (bs::detail::is_present<Emitted>) emitted_bytes = Emitted::value_bits / 8;
  auto const work = [&](int i) {
    bs::compress_operands<bs::bf16, Emitted> operands;
    operands.source = subject.source(i);
    if constexpr (bs::detail::is_present<Emitted>)
      operands.emitted = subject.template matrix<Emitted>(subject.result.template as<void>());
    if constexpr (Element::value_bits == 8) {
      operands.scale = subject.scale.template as<float>();
      if (emitted_bytes != 0) operands.emitted_scale = operands.scale;
    }
    require(bs::compress<Codec, Op>(operands, subject.tensors[i], nullptr));
  };
  for (int i = 0; i < count; ++i) work(i);
  run(state, subject, (2 + emitted_bytes) * num_values, ideal_bytes(subject), work);
}

template <class Element, class Codec, class ForwardOp, class Op>
void run_backward(benchmark::State& state, subject_of<Element>& subject) {
  using second = std::conditional_t<Op::num_results == 2, bs::bf16, bs::none>;
  for (int i = 0; i < count; ++i) {
    bs::compress_operands<bs::bf16> operands;
    operands.source = subject.source(i);
    if constexpr (Element::value_bits == 8) operands.scale = subject.scale.template as<float>();
    require(bs::compress<Codec, ForwardOp>(operands, subject.tensors[i], nullptr));
  }
  auto const work = [&](int i) {
    bs::decompress_operands<bs::bf16, bs::bf16, second> operands;
    operands.gradient = subject.gradient(i);
    if constexpr (Op::num_results == 2) {
      operands.first  = subject.template matrix<bs::bf16>(subject.result.template as<void>());
      operands.second = subject.gradient(i);
    } else {
      operands.first = subject.gradient(i);
    }
    require(bs::decompress<Op>(subject.tensors[i], operands, nullptr));
  };
  run(state, subject, (Op::num_results == 2 ? 6.0 : 4.0) * num_values, ideal_bytes(subject), work);
}

/// Columns of 64 bytes, which are written faster than the default tile's 32.
using subject_of_turned = subject_of<bs::fp8_e4m3, bs::tile_format<bs::fp8_e4m3, 64, 128>>;

/// Where results in e4m3 go: the activation, transposed, and the gradient both ways.
struct turned_results {
  std::uint8_t *activation, *gradient, *turned_gradient;

  explicit turned_results(subject_of_turned const& subject)
      : activation(subject.result.as<std::uint8_t>()),
        gradient(activation + num_values),
        turned_gradient(subject.turned.as<std::uint8_t>()) {}
};

template <class Codec, class ForwardOp, class Op>
void run_turned(benchmark::State& state, double zeros) {
  auto& subject =
      bench::shared_case<subject_of_turned>("e4m3 turned/" + std::to_string(zeros), zeros);
  for (int i = 0; i < count; ++i) {
    bs::compress_operands<bs::bf16> operands;
    operands.source = subject.source(i);
    operands.scale  = subject.scale.as<float>();
    require(bs::compress<Codec, ForwardOp>(operands, subject.tensors[i], nullptr));
  }
  turned_results const results(subject);
  auto const work = [&](int i) {
    bs::decompress_operands<bs::transposed<bs::fp8_e4m3>, bs::bf16, bs::both_ways<bs::fp8_e4m3>>
        operands;
    operands.gradient          = subject.gradient(i);
    operands.first             = {results.activation, num_cols, num_rows, num_rows};
    operands.second.row_major  = {results.gradient, num_rows, num_cols, num_cols};
    operands.second.transposed = {results.turned_gradient, num_cols, num_rows, num_rows};
    operands.first_scale = operands.second_scale = subject.scale.as<float>();
    require(bs::decompress<Op>(subject.tensors[i], operands, nullptr));
  };
  run(state, subject, 5.0 * num_values, ideal_bytes(subject), work);
}
void run_dense_turned(benchmark::State& state) {
  auto& subject = bench::shared_case<subject_of_turned>("e4m3 turned/" + std::to_string(0.5), 0.5);
  turned_results const results(subject);
  run(state, subject, 6.0 * num_values, 0, [&](int i) {
    ffn::turned_backward_params params{};
    params.stored   = reinterpret_cast<ffn::e4m3 const*>(subject.dense.dense(i));  // any bits do
    params.gradient = reinterpret_cast<ffn::bf16 const*>(subject.gradient(i).data);
    params.turned_activation = reinterpret_cast<ffn::e4m3*>(results.activation);
    params.gradient_at_h     = {reinterpret_cast<ffn::e4m3*>(results.gradient),
                                reinterpret_cast<ffn::e4m3*>(results.turned_gradient)};
    params.stored_scale = params.activation_scale = params.gradient_scale =
        subject.scale.as<float>();
    params.rows = num_rows;
    params.cols = num_cols;
    ffn::turned_backward<ffn::squared_turned>(params, nullptr);
  });
}

constexpr unsigned dense_blocks = (num_values / 8 + 255) / 256;

template <class Op>
void run_dense_forward(benchmark::State& state, bool emits) {
  auto& subject = bench::shared_case<subject_of<bs::bf16>>("bf16/0.50", 0.5);
  // r goes where the other rows keep gradients, which run() fills anew.
  run(state, subject, (emits ? 6.0 : 4.0) * num_values, 0, [&](int i) {
    dense_forward_kernel<Op>
        <<<dense_blocks, 256>>>(subject.dense.dense(i),
                                subject.dense.restored(i),
                                emits ? subject.result.as<std::uint16_t>() : nullptr);
  });
}
template <class Op>
void run_dense_backward(benchmark::State& state) {
  auto& subject = bench::shared_case<subject_of<bs::bf16>>("bf16/0.50", 0.5);
  run(state, subject, (Op::num_results == 2 ? 8.0 : 6.0) * num_values, 0, [&](int i) {
    dense_backward_kernel<Op><<<dense_blocks, 256>>>(
        subject.dense.dense(i), subject.dense.restored(i), subject.result.as<std::uint16_t>());
  });
}

template <class Element, class Codec>
void add_rows(double zeros) {
  using emitted  = std::conditional_t<Element::value_bits == 8, Element, bs::bf16>;
  auto const add = [&](char const* what, auto run_row) {
    std::string const name = std::string{what} + "/" + Element::name + "/" +
                             bench::shape_and_zeros(num_rows, num_cols, zeros) + "/" + Codec::name;
    std::string const case_name = std::string{Element::name} + "/" + std::to_string(zeros);
    bench::add_row(name, [=](benchmark::State& state) {
      run_row(state, bench::shared_case<subject_of<Element>>(case_name, zeros));
    });
  };
  add("forward/relu", run_forward<Element, Codec, bs::relu, emitted>);
  add("forward/relu_squared", run_forward<Element, Codec, bs::relu_squared, emitted>);
  add("forward/relu_not_emitted", run_forward<Element, Codec, bs::relu, bs::none>);
  add("backward/value_and_relu_gradient",
      run_backward<Element, Codec, bs::relu, bs::value_and_relu_gradient>);
  add("backward/square_and_gradient",
      run_backward<Element, Codec, bs::relu, bs::square_and_gradient>);
  add("backward/relu_squared_gradient",
      run_backward<Element, Codec, bs::relu, bs::relu_squared_gradient>);
}

}  // namespace

int main(int argc, char** argv) {
  auto const add_dense = [](char const* what, auto run_row) {
    bench::add_row(std::string{what} + "/bf16/16000x21504/dense", run_row);
  };
  add_dense("forward/relu", [](auto& state) { run_dense_forward<bs::relu>(state, false); });
  add_dense("forward/relu_squared",
            [](auto& state) { run_dense_forward<bs::relu_squared>(state, true); });
  add_dense("backward/relu_gradient", run_dense_backward<bs::relu_gradient>);
  add_dense("backward/square_and_gradient", run_dense_backward<bs::square_and_gradient>);
  bench::add_row("backward/square_and_gradient/turned/e4m3/16000x21504/dense", run_dense_turned);
  for (double const zeros : {0.5, 0.8, 0.9}) {
    add_rows<bs::bf16, bs::codec::sign>(zeros);
    add_rows<bs::bf16, bs::codec::compact>(zeros);
    add_rows<bs::fp8_e4m3, bs::codec::sign>(zeros);
    bench::add_row("backward/square_and_gradient/turned/e4m3/" +
                       bench::shape_and_zeros(num_rows, num_cols, zeros) + "/sign",
                   [=](benchmark::State& state) {
                     run_turned<bs::codec::sign, bs::relu, bs::square_and_gradient>(state, zeros);
                   });
  }
  return bench::run_rows(argc, argv);
}
