// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// docs/integration.md's training loop in plain CUDA: ReLU² layers whose activations live in an
/// arena, a step captured in a graph, and an arena that is at first too small, so that a step is
/// skipped on the device. The weights it ends with are those of dense activations, bit for bit.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <cuda_bf16.h>
#include <bitsparse/bitsparse.cuh>

namespace bs = bitsparse;

namespace {

constexpr int num_tokens = 250, width = 64, hidden = 2048, num_layers = 3, num_steps = 5;

// [check]
void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}
void check(bs::status result) {  // it converts to cudaError_t, but its text says more
  if (result.ok()) return;
  std::fprintf(stderr, "%s\n", result.text());
  std::exit(1);
}
// [/check]

// -------------------------------------------------------------------------------------------------
// What a training program has anyway
// -------------------------------------------------------------------------------------------------

using value = __nv_bfloat16;

/// A matrix as a factor: `row` values from one row to the next, `step` along the sum.
struct factor {
  value const* data;
  int row;
  int step;
};
factor rows_of(value const* data, int width) {
  return {data, width, 1};
}
factor columns_of(value const* data, int width) {
  return {data, 1, width};
}

/// out[r, c] = sum over k of a's row r times b's row c.
__global__ void matmul_kernel(value* out, factor a, factor b, int rows, int cols, int depth) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= rows * cols) return;
  float sum = 0;
  for (int k = 0; k < depth; ++k) {
    sum = fmaf(__bfloat162float(a.data[i / cols * a.row + k * a.step]),
               __bfloat162float(b.data[i % cols * b.row + k * b.step]),
               sum);
  }
  out[i] = __float2bfloat16_rn(sum);
}
template <int Rows, int Cols, int Depth>
void matmul(value* out, factor a, factor b, cudaStream_t stream) {
  matmul_kernel<<<(Rows * Cols + 255) / 256, 256, 0, stream>>>(out, a, b, Rows, Cols, Depth);
}

/// The gradient of the loss, the squared distance from target, and the loss.
__global__ void loss_kernel(value const* y, float target, value* gradient, float* loss) {
  float sum = 0;  // one thread: the same order in every run
  for (int i = 0; i < num_tokens * width; ++i) {
    float const difference = __bfloat162float(y[i]) - target;
    sum += 0.5f * difference * difference;
    gradient[i] = __float2bfloat16_rn(difference);
  }
  *loss = sum;
}

// [update]
// Plain SGD. Where a tile was lost, the gradients hold NaN and *skip is 1: the step is left out, on
// the device, by all layers alike.
__global__ void update_kernel(float* master,
                              __nv_bfloat16* weights,
                              __nv_bfloat16 const* gradient,
                              int count,
                              float rate,
                              float const* skip) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count || *skip != 0) return;
  master[i] -= rate * __bfloat162float(gradient[i]);
  weights[i] = __float2bfloat16_rn(master[i]);
}
// [/update]

/// Uniform numbers from -scale to scale.
__global__ void initialise_kernel(
    float* master, value* values, int count, float scale, unsigned seed) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  unsigned bits = static_cast<unsigned>(i) * 2654435761u ^ seed;
  for (int round = 0; round < 3; ++round) bits = (bits ^ bits >> 15) * 0x2c1b3c6du;
  float const number = (static_cast<float>(bits >> 8) / 8388608.0f - 1) * scale;
  values[i]          = __float2bfloat16_rn(number);
  if (master != nullptr) master[i] = number;
}

template <class T>
T* allocate(std::size_t count) {
  T* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)));
  check(cudaMemset(memory, 0, count * sizeof(T)));
  return memory;
}

struct layer_weights {
  static constexpr int count = hidden * width;
  float* master              = allocate<float>(count);
  value* values              = allocate<value>(count);
  value* gradient            = allocate<value>(count);
};

struct network {
  layer_weights up[num_layers], down[num_layers];
  value* x[num_layers + 1];  // (num_tokens, width): each layer's input, and the output
  value* h        = allocate<value>(num_tokens * hidden);  // the only dense activation
  value* dh       = allocate<value>(num_tokens * hidden);
  value* gradient = allocate<value>(num_tokens * width);
  float* loss     = allocate<float>(1);

  network() {
    for (auto& one : x) one = allocate<value>(num_tokens * width);
    auto const fill = [](float* master, value* values, int count, float scale, unsigned seed) {
      initialise_kernel<<<(count + 255) / 256, 256>>>(master, values, count, scale, seed);
    };
    fill(nullptr, x[0], num_tokens * width, 1.7f, 1);
    for (int l = 0; l < num_layers; ++l) {
      fill(up[l].master, up[l].values, layer_weights::count, 0.2f, 2 + 2 * l);
      fill(down[l].master, down[l].values, layer_weights::count, 0.03f, 3 + 2 * l);
    }
  }
};

// -------------------------------------------------------------------------------------------------
// Activations, dense and compressed
// -------------------------------------------------------------------------------------------------

__global__ void relu_squared_kernel(value* h, value* r) {
  int const i     = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  float const one = fmaxf(__bfloat162float(h[i]), 0.0f);
  r[i]            = __float2bfloat16_rn(one);
  h[i]            = __float2bfloat16_rn(one * one);
}
__global__ void relu_squared_backward_kernel(value const* r, value* gradient, value* squared) {
  int const i     = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  float const one = __bfloat162float(r[i]);
  squared[i]      = __float2bfloat16_rn(one * one);
  gradient[i]     = __float2bfloat16_rn(one > 0 ? 2 * one * __bfloat162float(gradient[i]) : 0.0f);
}

struct dense_activations {
  std::vector<value*> kept;
  float* zero = allocate<float>(1);
  dense_activations() {
    for (int l = 0; l < num_layers; ++l) kept.push_back(allocate<value>(num_tokens * hidden));
  }
  void forward(int layer, value* h, cudaStream_t stream) {
    relu_squared_kernel<<<num_tokens * hidden / 256, 256, 0, stream>>>(h, kept[layer]);
  }
  void backward(int layer, value* gradient, value* squared, cudaStream_t stream) {
    relu_squared_backward_kernel<<<num_tokens * hidden / 256, 256, 0, stream>>>(
        kept[layer], gradient, squared);
  }
  float const* skip() const { return zero; }
};

// [activations]
using format = bs::default_format<bs::bf16>;

struct compressed_activations {
  bs::arena memory;                                   // for all layers together
  std::vector<bs::compressed_tensor<format>> layers;  // 8 bytes per tile each; their chunks: above

  explicit compressed_activations(std::uint64_t num_slabs) : memory(num_slabs, 0, 64 * 1024) {
    for (int l = 0; l < num_layers; ++l) layers.emplace_back(memory.view(), num_tokens, hidden);
    check(cudaDeviceSynchronize());  // set-up ran in the default stream
  }
  // h becomes relu(h)², in place; relu(h) is kept.
  void forward(int layer, __nv_bfloat16* h, cudaStream_t stream) {
    bs::compress_operands<bs::bf16, bs::bf16> operands;
    operands.source  = bs::make_matrix(h, num_tokens, hidden, hidden);
    operands.emitted = bs::make_matrix(h, num_tokens, hidden, hidden);
    check(bs::compress<bs::codec::sign, bs::relu_squared>(operands, layers[layer].view(), stream));
  }
  // The gradient of relu(h)² becomes h's, in place; relu(h)² comes back; the slabs are free again.
  void backward(int layer, __nv_bfloat16* gradient, __nv_bfloat16* squared, cudaStream_t stream) {
    bs::decompress_operands<bs::bf16, bs::bf16, bs::bf16> operands;
    operands.first    = bs::make_matrix(squared, num_tokens, hidden, hidden);
    operands.gradient = bs::make_matrix(gradient, num_tokens, hidden, hidden);
    operands.second   = bs::make_matrix(gradient, num_tokens, hidden, hidden);
    check(bs::consume<bs::square_and_gradient>(layers[layer].view(), operands, stream));
  }
  float const* skip() const { return &memory.view().state->skip_step; }  // in device memory
};
// [/activations]

// -------------------------------------------------------------------------------------------------
// A step
// -------------------------------------------------------------------------------------------------

// [step]
template <class Activations>
void step(network& net, Activations& activations, cudaStream_t stream) {
  constexpr int t = num_tokens, w = width, n = hidden;
  for (int l = 0; l < num_layers; ++l) {  // h = x up^T, next x = relu(h)² down^T
    value *const x = net.x[l], *const up = net.up[l].values, *const down = net.down[l].values;
    matmul<t, n, w>(net.h, rows_of(x, w), rows_of(up, w), stream);
    activations.forward(l, net.h, stream);
    matmul<t, w, n>(net.x[l + 1], rows_of(net.h, n), rows_of(down, n), stream);
  }
  loss_kernel<<<1, 1, 0, stream>>>(net.x[num_layers], 0.5f, net.gradient, net.loss);
  for (int l = num_layers - 1; l >= 0; --l) {  // net.h becomes relu(h)² again
    value *const x = net.x[l], *const up = net.up[l].values, *const down = net.down[l].values;
    matmul<t, n, w>(net.dh, rows_of(net.gradient, w), columns_of(down, n), stream);
    activations.backward(l, net.dh, net.h, stream);
    matmul<w, n, t>(
        net.down[l].gradient, columns_of(net.gradient, w), columns_of(net.h, n), stream);
    matmul<n, w, t>(net.up[l].gradient, columns_of(net.dh, n), columns_of(x, w), stream);
    matmul<t, w, n>(net.gradient, rows_of(net.dh, n), columns_of(up, w), stream);
  }
  for (auto* weights : {net.up, net.down}) {
    for (int l = 0; l < num_layers; ++l) {
      layer_weights const& one = weights[l];
      update_kernel<<<one.count / 256, 256, 0, stream>>>(
          one.master, one.values, one.gradient, one.count, 1e-6f, activations.skip());
    }
  }
}
// [/step]

// [graph]
cudaGraphExec_t capture(network& net,
                        compressed_activations& activations,
                        bs::report_slot<bs::arena_report>* slot,
                        cudaStream_t stream) {
  cudaGraph_t graph        = nullptr;
  cudaGraphExec_t captured = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  step(net, activations, stream);
  check(bs::report(activations.memory.view(), slot, stream));
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&captured, graph, 0));
  check(cudaGraphDestroy(graph));
  return captured;
}
// [/graph]

struct result {
  std::vector<float> losses;
  std::vector<float> weights;
};

void read_loss(network const& net, cudaStream_t stream, result& of) {
  float loss = 0;
  check(cudaMemcpyAsync(&loss, net.loss, sizeof(loss), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  of.losses.push_back(loss);
}
void read_weights(network const& net, result& of) {
  for (auto const* weights : {net.up, net.down}) {
    for (int l = 0; l < num_layers; ++l) {
      std::vector<float> one(layer_weights::count);
      check(cudaMemcpy(
          one.data(), weights[l].master, one.size() * sizeof(float), cudaMemcpyDeviceToHost));
      of.weights.insert(of.weights.end(), one.begin(), one.end());
    }
  }
}

result train_dense(cudaStream_t stream) {
  network net;
  dense_activations activations;
  result trained;
  check(cudaDeviceSynchronize());
  for (int i = 0; i < num_steps; ++i) {
    step(net, activations, stream);
    read_loss(net, stream, trained);
  }
  read_weights(net, trained);
  return trained;
}

/// @param num_skipped how many steps were skipped and done again
result train_compressed(cudaStream_t stream, int& num_skipped) {
  network net;
  result trained;
  bs::report_slot<bs::arena_report>* slot = nullptr;
  check(cudaHostAlloc(&slot, sizeof(*slot), cudaHostAllocDefault));
  std::memset(static_cast<void*>(slot), 0, sizeof(*slot));
  check(cudaDeviceSynchronize());
  // [skip]
  auto activations     = std::make_unique<compressed_activations>(4);  // 256 KiB: too few
  cudaGraphExec_t once = capture(net, *activations, slot, stream);
  for (int i = 0; i < num_steps;) {
    check(cudaGraphLaunch(once, stream));
    read_loss(net, stream, trained);  // this program's own wait for the step; the report needs none
    bs::arena_report report{};
    if (!bs::read_report(slot, report) || report.conditions == 0) {
      ++i;
      continue;
    }
    // Nothing was updated. As many slabs as would have sufficed, some more, and the step again.
    trained.losses.pop_back();
    ++num_skipped;
    check(cudaGraphExecDestroy(once));
    activations.reset();
    activations = std::make_unique<compressed_activations>(bs::planned_slabs(report, 1.1));
    once        = capture(net, *activations, slot, stream);
  }
  // [/skip]
  read_weights(net, trained);
  check(cudaGraphExecDestroy(once));
  check(cudaFreeHost(slot));
  return trained;
}

}  // namespace

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 77;
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int num_skipped         = 0;
  result const dense      = train_dense(stream);
  result const compressed = train_compressed(stream, num_skipped);
  std::printf("loss %.9g -> %.9g dense, %.9g -> %.9g compressed; %d step skipped and repeated\n",
              dense.losses.front(),
              dense.losses.back(),
              compressed.losses.front(),
              compressed.losses.back(),
              num_skipped);
  bool const same = dense.losses == compressed.losses && dense.weights == compressed.weights;
  return same && num_skipped == 1 && dense.losses.back() < dense.losses.front() ? 0 : 1;
}
