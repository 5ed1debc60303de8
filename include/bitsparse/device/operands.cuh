// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 3: the dense operands of compress and decompress with a fused op, and their checks.
#pragma once

#include <cstdint>
#include <type_traits>

#include <bitsparse/config.hpp>
#include <bitsparse/device/op.cuh>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/check.hpp>
#include <bitsparse/format/element.hpp>
#include <bitsparse/format/matrix_view.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {

/// No such operand.
struct none {};

/// A result written transposed: value (r, c) at matrix.data[c * matrix.ld + r]; the matrix has the
/// target's columns as rows and its rows as columns.
template <class Element>
struct transposed {};

/// A result written row-major and transposed. FP8 matrix multiplications on Hopper want the operand
/// of the one product so and that of the other so.
template <class Element>
struct both_ways {};

/// A result written both row-major and transposed.
template <class Element>
struct both_ways_view {
  matrix_view<Element> row_major;
  matrix_view<Element> transposed;  // (cols, rows)
};

namespace detail {

/// What a result's template argument says: an element, transposed<element>, both_ways<element> or
/// none.
template <class Result>
struct result_traits {
  using element                       = Result;
  using view                          = matrix_view<Result>;
  static constexpr bool is_row_major  = true;
  static constexpr bool is_transposed = false;
  BITSPARSE_HOST_DEVICE static constexpr view row_major(view const& v) { return v; }
  BITSPARSE_HOST_DEVICE static constexpr view turned(view const&) { return {}; }
};
template <class Element>
struct result_traits<transposed<Element>> {
  using element                       = Element;
  using view                          = matrix_view<Element>;
  static constexpr bool is_row_major  = false;
  static constexpr bool is_transposed = true;
  BITSPARSE_HOST_DEVICE static constexpr view row_major(view const&) { return {}; }
  BITSPARSE_HOST_DEVICE static constexpr view turned(view const& v) { return v; }
};
template <class Element>
struct result_traits<both_ways<Element>> {
  using element                       = Element;
  using view                          = both_ways_view<Element>;
  static constexpr bool is_row_major  = true;
  static constexpr bool is_transposed = true;
  BITSPARSE_HOST_DEVICE static constexpr matrix_view<Element> row_major(view const& v) {
    return v.row_major;
  }
  BITSPARSE_HOST_DEVICE static constexpr matrix_view<Element> turned(view const& v) {
    return v.transposed;
  }
};
template <>
struct result_traits<none> {
  using element = void;
  struct view {};
  static constexpr bool is_row_major  = false;
  static constexpr bool is_transposed = false;
};

template <class Result>
using element_of_result = typename result_traits<Result>::element;

template <class Element>
struct source_traits {
  using view = const_matrix_view<Element>;
};
template <>
struct source_traits<none> {
  struct view {};
};

template <class T>
inline constexpr bool is_present = !std::is_same_v<T, none>;

}  // namespace detail

/// What compress reads and writes besides the tensor.
///
/// Shapes: source and emitted as the tensor.
/// Alignment: each matrix to its element; where a run of 16 bytes of stored values meets 16-byte (or,
///   if it is shorter, its own size) aligned addresses in all of them, the faster path is taken.
/// Aliasing: emitted may be the source itself (same data, leading dimension and element size); else
///   the memory from the first value of one to its last and that of the other do not overlap.
/// Units: scale and emitted_scale are factors in device memory, read when the operation runs, for
///   8-bit floats: what is stored is round(value * *scale), saturating. Null is 1. The tensor keeps
///   a copy of *scale, a normal number: decompress multiplies by the rounded reciprocal of that one,
///   whatever has become of *scale meanwhile.
///   num_rows, in device memory, is the number of valid rows: rows from there on are stored as 0,
///   and neither read nor emitted. Null, or a larger number, is all of them.
/// @tparam Source the source's element; the Op makes the tensor's of it
/// @tparam Emitted the element of the Op's second result, or none
template <class Source, class Emitted = none>
struct compress_operands {
  const_matrix_view<Source> source                      = {};
  typename detail::result_traits<Emitted>::view emitted = {};
  float const* scale                                    = nullptr;
  float const* emitted_scale                            = nullptr;
  std::uint32_t const* num_rows                         = nullptr;
};

/// What decompress reads and writes besides the tensor.
///
/// Shapes: first, second and gradient have as many rows as are wanted, from the tensor's row
///   first_row on, and the tensor's columns (transposed: its columns as rows). first_row is a
///   multiple of Format::rows, and so is the number of rows unless they end with the tensor.
/// Alignment: as compress_operands; transposed results 16 bytes.
/// Aliasing: a row-major result may be the gradient itself (same data, leading dimension and element
///   size); else no two operands overlap, from their first values to their last.
/// Units: first_scale and second_scale are factors in device memory, for results of 8-bit floats:
///   what is written is round(value * *scale), saturating. Null is 1. A result of the op identity and
///   of the tensor's own element has the stored bits as they are, and takes no scale.
///   num_rows, in device memory, is the number of valid rows, counted from the tensor's first:
///   nothing is read or written for rows from there on. Null, or a larger number, is all of them.
/// @tparam First, Second element of the Op's results, row-major; or transposed<element>,
///   both_ways<element>; Second is none for an Op with one result
/// @tparam Gradient bf16, fp16 or fp32; none for an Op that uses none
template <class First, class Gradient = none, class Second = none>
struct decompress_operands {
  typename detail::result_traits<First>::view first       = {};
  typename detail::source_traits<Gradient>::view gradient = {};
  typename detail::result_traits<Second>::view second     = {};
  float const* first_scale                                = nullptr;
  float const* second_scale                               = nullptr;
  std::uint64_t first_row                                 = 0;
  std::uint32_t const* num_rows                           = nullptr;
};

namespace detail {

// -------------------------------------------------------------------------------------------------
// Host checks
// -------------------------------------------------------------------------------------------------

/// A dense operand's memory, whatever its element.
struct memory_span {
  void const* data          = nullptr;
  std::uint64_t bytes       = 0;
  std::uint64_t pitch_bytes = 0;
  bool is_transposed        = false;
  bool is_written           = false;
};

template <class Element>
memory_span span_of(const_matrix_view<Element> m) {
  return {m.data, span_bytes(m), m.ld * sizeof(typename Element::bits_type)};
}
inline bool overlap(memory_span const& a, memory_span const& b) {
  return overlaps(a.data, a.bytes, b.data, b.bytes);
}
/// Whether b is a itself, value for value.
inline bool is_same(memory_span const& a, memory_span const& b) {
  return a.data == b.data && a.bytes == b.bytes && a.pitch_bytes == b.pitch_bytes &&
         !a.is_transposed && !b.is_transposed;
}

/// Whether runs of so many values, at multiples of so many columns, are aligned to their access.
template <class Element>
bool has_aligned_runs(const_matrix_view<Element> m, std::uint32_t values) {
  std::uint64_t const bytes = values * sizeof(typename Element::bits_type);
  std::uint64_t const unit  = bytes < unit_bytes ? bytes : unit_bytes;
  return is_aligned(m.data, unit) && m.ld * sizeof(typename Element::bits_type) % unit == 0;
}

/// The memory of a set of operands, for checks against each other and against the tensor.
struct operand_spans {
  memory_span spans[6] = {};
  int count            = 0;
  bool has_runs        = true;

  template <class Element>
  status add(const_matrix_view<Element> m,
             std::uint64_t rows,
             std::uint64_t cols,
             std::uint32_t run_values,
             char const* wrong_shape) {
    if (status const checked = check_matrix(m); !checked.ok()) return checked;
    if (m.rows != rows || m.cols != cols) return {status_code::invalid_argument, wrong_shape};
    spans[count++] = span_of(m);
    has_runs       = has_runs && has_aligned_runs(m, run_values);
    return {};
  }
  template <class Result>
  status add_result(typename result_traits<Result>::view const& view,
                    std::uint64_t rows,
                    std::uint64_t cols,
                    std::uint32_t run_values,
                    char const* wrong_shape) {
    if constexpr (is_present<Result>) {
      using traits  = result_traits<Result>;
      using element = typename traits::element;
      if constexpr (traits::is_row_major) {
        status const added =
            add<element>(traits::row_major(view), rows, cols, run_values, wrong_shape);
        if (!added.ok()) return added;
        spans[count - 1].is_written = true;
      }
      if constexpr (traits::is_transposed) {
        status const added = add<element>(traits::turned(view),
                                          cols,
                                          rows,
                                          unit_bytes / sizeof(typename element::bits_type),
                                          wrong_shape);
        if (!added.ok()) return added;
        spans[count - 1].is_transposed = true;
        spans[count - 1].is_written    = true;
      }
    }
    return {};
  }
  /// Checks a pointer to a factor or a number of rows: null, or aligned and apart from all results.
  status check_scalar(void const* pointer) const {
    constexpr auto invalid = status_code::invalid_argument;
    if (!is_aligned(pointer, sizeof(float)))
      return {invalid, "scale or number of rows: the pointer is not aligned to 4 bytes"};
    for (int a = 0; a < count && pointer != nullptr; ++a) {
      if (spans[a].is_written && overlaps(spans[a].data, spans[a].bytes, pointer, sizeof(float)))
        return {invalid, "scale or number of rows: it lies in a matrix that is written"};
    }
    return {};
  }
  /// Whether any overlap, except that one may be operand number `in_place` itself.
  bool any_overlap(int in_place) const {
    for (int a = 0; a < count; ++a) {
      for (int b = a + 1; b < count; ++b) {
        bool const allowed = a == in_place && is_same(spans[a], spans[b]);
        if (overlap(spans[a], spans[b]) && !allowed) return true;
      }
    }
    return false;
  }
  bool any_overlap(void const* data, std::uint64_t bytes) const {
    for (int a = 0; a < count; ++a) {
      if (overlaps(spans[a].data, spans[a].bytes, data, bytes)) return true;
    }
    return false;
  }
};

template <class Result>
inline constexpr bool takes_scale = false;
template <>
inline constexpr bool takes_scale<fp8_e4m3> = true;
template <>
inline constexpr bool takes_scale<fp8_e5m2> = true;
template <class Element>
inline constexpr bool takes_scale<transposed<Element>> = takes_scale<Element>;
template <class Element>
inline constexpr bool takes_scale<both_ways<Element>> = takes_scale<Element>;

inline constexpr char const* scale_text =
    "scale: only 8-bit floats are scaled; pass null for the other elements";
inline constexpr char const* no_scale_text =
    "scale: the op identity moves bits of the same element as they are; pass null";
inline constexpr char const* tensor_overlap_text =
    "dense matrix: it overlaps the compressed tensor's memory";
inline constexpr char const* target_shape_text =
    "compressed tensor: its rows x columns are not the dense matrix's";
inline constexpr char const* operands_overlap_text =
    "dense operands: two of them overlap; only a row-major result may be the same matrix as the "
    "source or the gradient";

/// Whether an op's result is the stored bits as they are.
template <class Format, class Op, class Result>
inline constexpr bool keeps_bits =
    is_identity<Op>&& std::is_same_v<element_of_result<Result>, typename Format::element>;

/// Checks the dense operands of compress against a tensor of rows x cols.
template <class Format, class Op, class Source, class Emitted>
status check_dense(compress_operands<Source, Emitted> const& operands,
                   std::uint64_t rows,
                   std::uint64_t cols,
                   operand_spans& spans) {
  static_assert(is_element<Source> && (is_element<Emitted> || !is_present<Emitted>),
                "bitsparse: Source is one of the five elements, Emitted one of them or none");
  constexpr auto invalid      = status_code::invalid_argument;
  constexpr std::uint32_t run = 16 / sizeof(typename Format::bits_type);
  if (status const s = spans.add(operands.source, rows, cols, run, target_shape_text); !s.ok())
    return s;
  if (status const s =
          spans.add_result<Emitted>(operands.emitted,
                                    rows,
                                    cols,
                                    run,
                                    "emitted: its rows x columns are not the compressed tensor's");
      !s.ok())
    return s;
  if (spans.any_overlap(0)) return {invalid, operands_overlap_text};
  if ((operands.scale != nullptr && !takes_scale<typename Format::element>) ||
      (operands.emitted_scale != nullptr && !takes_scale<Emitted>)) {
    return {invalid, scale_text};
  }
  constexpr bool stores_bits = is_identity<Op> && std::is_same_v<Source, typename Format::element>;
  constexpr bool emits_bits  = is_identity<Op> && std::is_same_v<Source, Emitted>;
  if ((stores_bits && operands.scale != nullptr) ||
      (emits_bits && operands.emitted_scale != nullptr)) {
    return {invalid, no_scale_text};
  }
  for (void const* pointer : {static_cast<void const*>(operands.scale),
                              static_cast<void const*>(operands.emitted_scale),
                              static_cast<void const*>(operands.num_rows)}) {
    if (status const s = spans.check_scalar(pointer); !s.ok()) return s;
  }
  return {};
}

/// How many rows the operands of decompress cover.
template <class First, class Gradient, class Second>
std::uint64_t wanted_rows(decompress_operands<First, Gradient, Second> const& operands) {
  using traits = result_traits<First>;
  if constexpr (traits::is_row_major) {
    return traits::row_major(operands.first).rows;
  } else {
    return traits::turned(operands.first).cols;
  }
}

/// Checks the dense operands of decompress against a tensor of rows x cols.
/// @param num_rows how many rows are wanted
template <class Format, class Op, class First, class Gradient, class Second>
status check_dense(decompress_operands<First, Gradient, Second> const& operands,
                   std::uint64_t rows,
                   std::uint64_t cols,
                   std::uint64_t& num_rows,
                   operand_spans& spans) {
  static_assert(is_present<First>, "bitsparse: decompress writes at least its first result");
  static_assert(is_present<Second> == (Op::num_results == 2),
                "bitsparse: the operands have a second result if, and only if, the op has two");
  static_assert(is_present<Gradient> == Op::uses_gradient,
                "bitsparse: the operands have a gradient if, and only if, the op uses one");
  constexpr auto invalid      = status_code::invalid_argument;
  constexpr std::uint32_t run = 16 / sizeof(typename Format::bits_type);
  num_rows                    = wanted_rows(operands);
  if (operands.first_row % Format::rows != 0) {
    return {invalid, "row range: it does not begin with a tile: first_row % Format::rows is not 0"};
  }
  if (operands.first_row > rows || num_rows > rows - operands.first_row) {
    return {invalid, "row range: it goes beyond the compressed tensor's rows"};
  }
  if (num_rows % Format::rows != 0 && operands.first_row + num_rows != rows) {
    return {
        invalid,
        "row range: it ends within a tile; take a multiple of Format::rows or all that is left"};
  }
  if constexpr (is_present<Gradient>) {
    static_assert(is_element<Gradient> && Gradient::value_bits >= 16,
                  "bitsparse: the gradient is bf16, fp16 or fp32");
    if (status const s = spans.add(operands.gradient,
                                   num_rows,
                                   cols,
                                   run,
                                   "gradient: its rows x columns are not the first result's");
        !s.ok())
      return s;
  }
  if (status const s =
          spans.add_result<First>(operands.first, num_rows, cols, run, target_shape_text);
      !s.ok())
    return s;
  if (status const s =
          spans.add_result<Second>(operands.second,
                                   num_rows,
                                   cols,
                                   run,
                                   "second result: its rows x columns are not the first one's");
      !s.ok())
    return s;
  if (spans.any_overlap(is_present<Gradient> ? 0 : -1)) return {invalid, operands_overlap_text};
  if ((operands.first_scale != nullptr && !takes_scale<First>) ||
      (operands.second_scale != nullptr && !takes_scale<Second>)) {
    return {invalid, scale_text};
  }
  if ((keeps_bits<Format, typename results_of<Op>::first, First> &&
       operands.first_scale != nullptr) ||
      (keeps_bits<Format, typename results_of<Op>::second, Second> &&
       operands.second_scale != nullptr)) {
    return {invalid, no_scale_text};
  }
  for (void const* pointer : {static_cast<void const*>(operands.first_scale),
                              static_cast<void const*>(operands.second_scale),
                              static_cast<void const*>(operands.num_rows)}) {
    if (status const s = spans.check_scalar(pointer); !s.ok()) return s;
  }
  return {};
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
