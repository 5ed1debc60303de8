// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// From run-time arguments to bitsparse's templates.
#include "operations.hpp"

#include <cuda_runtime_api.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <bitsparse/bitsparse.cuh>

namespace bitsparse_torch {
namespace {

namespace bs = bitsparse;

template <class T>
struct type {
  using value = T;
};

// -------------------------------------------------------------------------------------------------
// Run-time arguments as types
// -------------------------------------------------------------------------------------------------

template <class Function>
auto visit(element_kind element, Function function) {
  switch (element) {
    case element_kind::fp16:
      return function(type<bs::fp16>{});
    case element_kind::fp32:
      return function(type<bs::fp32>{});
    default:
      return function(type<bs::bf16>{});
  }
}
template <class Function>
auto visit(codec_kind codec, Function function) {
  switch (codec) {
    case codec_kind::fast:
      return function(type<bs::codec::fast>{});
    case codec_kind::compact:
      return function(type<bs::codec::compact>{});
    default:
      return function(type<bs::codec::sign>{});
  }
}

bs::arena_view view_of(arena_memory const& memory) {
  bs::arena_view arena;
  bs::status const made = bs::make_arena(memory.device,
                                         memory.num_device_slabs,
                                         memory.host,
                                         memory.num_host_slabs,
                                         memory.slab_bytes,
                                         arena);
  return made.ok() ? arena : bs::arena_view{};  // one without memory: every operation refuses it
}
template <class Element>
auto view_of(compressed_matrix const& tensor) {
  return bs::make_arena_tensor<bs::default_format<Element>>(
      tensor.metadata, tensor.rows, tensor.cols, view_of(tensor.arena));
}
template <class Element>
bs::matrix_view<Element> view_of(dense_matrix const& matrix) {
  return {
      static_cast<typename Element::bits_type*>(matrix.data), matrix.rows, matrix.cols, matrix.ld};
}

/// Waits for what was delivered to a slot on this stream.
template <class Report>
bs::status await(bs::status delivered,
                 bs::report_slot<Report> const* slot,
                 Report& content,
                 cudaStream_t stream) {
  if (!delivered.ok()) return delivered;
  cudaError_t const error = cudaStreamSynchronize(stream);
  if (error != cudaSuccess) {
    return {bs::status_code::cuda_error, "report: the stream has failed", error};
  }
  if (bs::read_report(slot, content)) return {};
  return {bs::status_code::cuda_error, "report: it was not delivered"};
}

// -------------------------------------------------------------------------------------------------
// Operations of one element
// -------------------------------------------------------------------------------------------------

template <class Element, class Codec, class Op>
bs::status compress_in_place(dense_matrix const& values,
                             compressed_matrix const& target,
                             cudaStream_t stream) {
  bs::compress_operands<Element, Element> operands;
  operands.source  = view_of<Element>(values);
  operands.emitted = view_of<Element>(values);
  return bs::compress<Codec, Op>(operands, view_of<Element>(target), stream);
}

template <class Element, class Op>
bs::status restore(compressed_matrix const& source,
                   std::uint64_t first_row,
                   dense_matrix const& values,
                   cudaStream_t stream) {
  bs::decompress_operands<Element> operands;
  operands.first     = view_of<Element>(values);
  operands.first_row = first_row;
  return bs::decompress<Op>(view_of<Element>(source), operands, stream);
}

template <class Element, class Gradient, class Value>
bs::status restore_gradient(compressed_matrix const& source,
                            std::uint64_t first_row,
                            dense_matrix const& gradient,
                            dense_matrix const& values,
                            cudaStream_t stream) {
  if (values.data == nullptr) {
    bs::decompress_operands<Element, Element> operands;
    operands.first     = view_of<Element>(gradient);
    operands.gradient  = view_of<Element>(gradient);
    operands.first_row = first_row;
    return bs::decompress<Gradient>(view_of<Element>(source), operands, stream);
  }
  bs::decompress_operands<Element, Element, Element> operands;
  operands.first     = view_of<Element>(values);
  operands.gradient  = view_of<Element>(gradient);
  operands.second    = view_of<Element>(gradient);
  operands.first_row = first_row;
  return bs::decompress<bs::both<Value, Gradient>>(view_of<Element>(source), operands, stream);
}

}  // namespace

// -------------------------------------------------------------------------------------------------
// Arena
// -------------------------------------------------------------------------------------------------

std::uint64_t arena_state_bytes() {
  return sizeof(bs::arena_state);
}
std::uint64_t skip_step_offset() {
  return offsetof(bs::arena_state, skip_step);
}
std::uint64_t arena_bytes(std::uint64_t num_device_slabs,
                          std::uint64_t num_host_slabs,
                          std::uint64_t slab_bytes) {
  return bs::arena_bytes(num_device_slabs, num_host_slabs, slab_bytes);
}

bs::status check_arena(arena_memory const& arena) {
  bs::arena_view made;
  return bs::make_arena(arena.device,
                        arena.num_device_slabs,
                        arena.host,
                        arena.num_host_slabs,
                        arena.slab_bytes,
                        made);
}
bs::status reset(arena_memory const& arena, cudaStream_t stream) {
  return bs::reset(view_of(arena), stream);
}
bs::status clear(arena_memory const& arena, cudaStream_t stream) {
  return bs::clear(view_of(arena), stream);
}

std::size_t report_slot_bytes() {
  return sizeof(bs::report_slot<bs::arena_report>);
}
bs::status report(arena_memory const& arena,
                  void* memory,
                  std::array<std::int64_t, 8>& content,
                  cudaStream_t stream) {
  auto* const slot = static_cast<bs::report_slot<bs::arena_report>*>(memory);
  bs::arena_report r{};
  bs::status const read = await(bs::report(view_of(arena), slot, stream), slot, r, stream);
  content               = {r.device_slabs_in_use,
                           r.host_slabs_in_use,
                           r.peak_device_slabs,
                           r.peak_host_slabs,
                           r.needed_slabs,
                           r.spilled_slabs,
                           r.refused_slabs,
                           r.conditions};
  return read;
}

std::uint64_t planned_slabs(element_kind element,
                            codec_kind codec,
                            std::uint64_t rows,
                            std::uint64_t cols,
                            double density,
                            std::uint64_t slab_bytes) {
  return visit(element, [&](auto e) {
    return visit(codec, [&](auto c) {
      using format = bs::default_format<typename decltype(e)::value>;
      using chosen = typename decltype(c)::value;
      return bs::planned_slabs<format, chosen>(rows, cols, density, slab_bytes);
    });
  });
}

// -------------------------------------------------------------------------------------------------
// Compressed tensors
// -------------------------------------------------------------------------------------------------

std::uint64_t metadata_bytes(element_kind element,
                             std::uint64_t rows,
                             std::uint64_t cols,
                             std::uint64_t slab_bytes) {
  return visit(element, [&](auto e) {
    using format = bs::default_format<typename decltype(e)::value>;
    return bs::arena_tensor_bytes<format>(rows, cols, slab_bytes);
  });
}

bs::status compress(dense_matrix const& source,
                    forward_kind op,
                    codec_kind codec,
                    compressed_matrix const& target,
                    cudaStream_t stream) {
  return visit(target.element, [&](auto e) {
    return visit(codec, [&](auto c) {
      using element = typename decltype(e)::value;
      using chosen  = typename decltype(c)::value;
      switch (op) {
        case forward_kind::relu:
          return compress_in_place<element, chosen, bs::relu>(source, target, stream);
        case forward_kind::relu_squared:
          return compress_in_place<element, chosen, bs::relu_squared>(source, target, stream);
        case forward_kind::square_of_relu:
          return compress_in_place<element, chosen, bs::square_of_relu>(source, target, stream);
        default:
          return bs::compress<chosen>(bs::const_matrix_view<element>(view_of<element>(source)),
                                      view_of<element>(target),
                                      stream);
      }
    });
  });
}

bs::status decompress(compressed_matrix const& source,
                      value_kind op,
                      std::uint64_t first_row,
                      dense_matrix const& values,
                      cudaStream_t stream) {
  return visit(source.element, [&](auto e) {
    using element = typename decltype(e)::value;
    switch (op) {
      case value_kind::square:
        return restore<element, bs::square>(source, first_row, values, stream);
      case value_kind::square_root:
        return restore<element, bs::square_root>(source, first_row, values, stream);
      default:
        return restore<element, bs::identity>(source, first_row, values, stream);
    }
  });
}

bs::status decompress(compressed_matrix const& source,
                      gradient_kind op,
                      std::uint64_t first_row,
                      dense_matrix const& gradient,
                      dense_matrix const& values,
                      cudaStream_t stream) {
  return visit(source.element, [&](auto e) {
    using element = typename decltype(e)::value;
    switch (op) {
      case gradient_kind::relu_squared:
        return restore_gradient<element, bs::relu_squared_gradient, bs::square>(
            source, first_row, gradient, values, stream);
      case gradient_kind::root:
        return restore_gradient<element, bs::root_gradient, bs::identity>(
            source, first_row, gradient, values, stream);
      default:
        return restore_gradient<element, bs::relu_gradient, bs::identity>(
            source, first_row, gradient, values, stream);
    }
  });
}

bs::status release(compressed_matrix const& tensor, cudaStream_t stream) {
  return visit(tensor.element, [&](auto e) {
    return bs::release(view_of<typename decltype(e)::value>(tensor), stream);
  });
}

std::size_t statistics_slot_bytes() {
  return sizeof(bs::report_slot<bs::tensor_statistics>);
}
bs::status report(compressed_matrix const& tensor,
                  void* memory,
                  std::array<std::int64_t, 20>& content,
                  cudaStream_t stream) {
  auto* const slot = static_cast<bs::report_slot<bs::tensor_statistics>*>(memory);
  bs::tensor_statistics s{};
  bs::status const read = visit(tensor.element, [&](auto e) {
    auto const view = view_of<typename decltype(e)::value>(tensor);
    return await(bs::report(view, slot, stream), slot, s, stream);
  });
  content               = {static_cast<std::int64_t>(s.kept),
                           static_cast<std::int64_t>(s.chunk_bytes),
                           static_cast<std::int64_t>(s.slabs),
                           s.is_full};
  static_assert(4 + bs::num_encodings <= std::tuple_size_v<std::array<std::int64_t, 20>>);
  std::copy(s.tiles, s.tiles + bs::num_encodings, content.begin() + 4);
  return read;
}

}  // namespace bitsparse_torch
