// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Fused ops on tensors in an arena: scales, tensors that hold nothing, and a captured graph whose
/// number of rows, scale and values change between replays.
#include <cmath>
#include <cstdint>
#include <string>

#include <bitsparse/arena/compressed_tensor.cuh>
#include <bitsparse/arena/operations.cuh>
#include <tests/support/arena_fixture.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/device_ops.cuh>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format = bs::default_format<bs::fp8_e4m3>;

constexpr std::uint64_t num_rows = 200, num_cols = 1000, slab_bytes = 32 * 1024;

/// A ReLU² layer's activation in e4m3: h to the square, and back to the square and h's gradient.
struct layer {
  explicit layer(bs::arena_view const& arena)
      : tensor(arena, num_rows, num_cols),
        h(num_rows * num_cols * 2),
        square(num_rows * num_cols * 2),
        gradient(num_rows * num_cols * 2) {}

  bs::status forward(cudaStream_t stream) {
    bs::compress_operands<bs::bf16, bs::bf16> operands;
    operands.source   = matrix(h);
    operands.emitted  = matrix(square);
    operands.scale    = scale.data();
    operands.num_rows = rows.data();
    return bs::compress<bs::codec::sign, bs::relu_squared>(operands, tensor.view(), stream);
  }
  bs::status backward(cudaStream_t stream) {
    bs::decompress_operands<bs::bf16, bs::bf16, bs::bf16> operands;
    operands.first    = matrix(square);
    operands.gradient = matrix(gradient);
    operands.second   = matrix(gradient);
    operands.num_rows = rows.data();
    return bs::consume<bs::square_and_gradient>(tensor.view(), operands, stream);
  }
  static bs::matrix_view<bs::bf16> matrix(device_buffer& of) {
    return {device_data<bs::bf16>(of), num_rows, num_cols, num_cols};
  }

  bs::compressed_tensor<format> tensor;
  device_buffer h, square, gradient;
  device_array<float> scale{1};
  device_array<std::uint32_t> rows{1};
};

void upload(device_buffer& to, test_matrix<bs::bf16> const& from) {
  std::memcpy(to.host().data(), from.buffer().data(), from.buffer().bytes());
  to.upload();
}

/// What backward() leaves, computed on the host.
/// @return the fault, or nothing
std::string step_fault(layer& subject,
                       test_matrix<bs::bf16> const& h,
                       test_matrix<bs::bf16> const& gradient,
                       float scale,
                       std::uint64_t valid) {
  auto const* const square =
      reinterpret_cast<std::uint16_t const*>(subject.square.download().data());
  auto const* const got =
      reinterpret_cast<std::uint16_t const*>(subject.gradient.download().data());
  for (std::uint64_t r = 0; r < valid; ++r) {
    for (std::uint64_t c = 0; c < num_cols; ++c) {
      float const x    = number_of<bs::bf16>(h.at(r, c));
      float const relu = std::isnan(x) ? x : x <= 0 ? 0.0f : x;
      float const stored =
          number_of<bs::fp8_e4m3>(bits_of<bs::fp8_e4m3>(relu * scale)) * (1.0f / scale);
      float const g   = number_of<bs::bf16>(gradient.at(r, c));
      auto const want = bits_of<bs::bf16>(stored <= 0 ? 0.0f : 2 * stored * g);
      if (!is_same_value<bs::bf16>(square[r * num_cols + c], bits_of<bs::bf16>(stored * stored)) ||
          !is_same_value<bs::bf16>(got[r * num_cols + c], want))
        return "(" + std::to_string(r) + ", " + std::to_string(c) + ")";
    }
  }
  if (std::memcmp(got + valid * num_cols,
                  &gradient.at(valid == num_rows ? 0 : valid, 0),
                  (num_rows - valid) * num_cols * 2) != 0)
    return "a gradient beyond the valid rows was written";
  return {};
}

template <class T>
void set(device_array<T> const& array, T value) {
  require_cuda(cudaMemcpy(array.data(), &value, sizeof(value), cudaMemcpyHostToDevice),
               "cudaMemcpy");
}

}  // namespace

TEST_CASE("arena: a graph with fused ops while rows, scale and values change", "[arena][op]") {
  guarded_arena arena{40, 0, slab_bytes};
  layer subject{arena.view()};
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t step;
  require_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
  require_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin");
  REQUIRE(subject.forward(stream).ok());
  REQUIRE(subject.backward(stream).ok());
  require_cuda(cudaStreamEndCapture(stream, &graph), "end");
  require_cuda(cudaGraphInstantiate(&step, graph, 0), "cudaGraphInstantiate");
  for (std::uint32_t replay = 0; replay < 12; ++replay) {
    float const scale         = replay % 3 == 0 ? 16.0f : replay % 3 == 1 ? 0.7f : 100.0f;
    std::uint32_t const valid = replay % 4 == 3 ? 0 : num_rows - replay * 13 % num_rows;
    auto const h        = random_numbers<bs::bf16>(num_rows, num_cols, 0.2f * replay - 1, replay);
    auto const gradient = random_numbers<bs::bf16>(num_rows, num_cols, 0, 100 + replay);
    upload(subject.h, h);
    upload(subject.gradient, gradient);
    set(subject.scale, scale);
    set(subject.rows, valid);
    require_cuda(cudaGraphLaunch(step, stream), "cudaGraphLaunch");
    require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    CAPTURE(replay, scale, valid);
    CHECK(step_fault(subject, h, gradient, scale, valid) == "");
    CHECK(arena.state().conditions == 0);
    CHECK(arena.state().in_use[0] == 0);
  }
  cudaGraphExecDestroy(step);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_CASE("arena: a tensor that holds nothing is NaN in every result of an op", "[arena][op]") {
  guarded_arena arena{40, 0, slab_bytes};
  layer subject{arena.view()};
  set(subject.rows, static_cast<std::uint32_t>(num_rows));
  set(subject.scale, 1.0f);
  REQUIRE(subject.backward(nullptr).ok());
  std::uint64_t numbers = 0;
  for (device_buffer* const of : {&subject.square, &subject.gradient}) {
    auto const* const bits = reinterpret_cast<std::uint16_t const*>(of->download().data());
    CHECK(of->host().guards_intact());
    for (std::uint64_t i = 0; i < num_rows * num_cols; ++i)
      numbers += !std::isnan(number_of<bs::bf16>(bits[i]));
  }
  CHECK(numbers == 0);
  CHECK(arena.state().conditions == static_cast<std::uint32_t>(bs::device_condition::not_full));
}

TEST_CASE("arena: consume takes whole tensors, and no operand in the arena", "[arena][op]") {
  guarded_arena arena{40, 0, slab_bytes};
  layer subject{arena.view()};
  REQUIRE(subject.forward(nullptr).ok());
  bs::decompress_operands<bs::bf16> part;
  part.first = {device_data<bs::bf16>(subject.square), 32, num_cols, num_cols};
  CHECK(std::string{bs::consume<bs::square>(subject.tensor.view(), part, nullptr).text()}.find(
            "whole tensors") != std::string::npos);
  part.first.data = reinterpret_cast<std::uint16_t*>(arena.view().device_slabs);
  CHECK(std::string{bs::decompress<bs::square>(subject.tensor.view(), part, nullptr).text()} ==
        bs::detail::tensor_overlap_text);
  REQUIRE(bs::release(subject.tensor.view(), nullptr).ok());
}
