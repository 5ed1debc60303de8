// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The host backend: the host codec, timed.
#include <chrono>
#include <cstring>

#include <bench/inspect/backend.hpp>
#include <bitsparse/format/host_codec.hpp>
#include <bitsparse/format/visit_format.hpp>

namespace inspect {
namespace {

namespace bs = bitsparse;

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// What nobody wrote must not look like the zeros that were expected there. Writing it also brings
/// the pages in before the clock runs.
constexpr int poison = 0xa5;

template <class Format, class Codec>
bs::status round_trip(round_trip_request const& request, round_trip_result& result) {
  using element               = typename Format::element;
  using bits_type             = typename Format::bits_type;
  std::uint64_t const payload = bs::max_payload_bytes<Format>(request.rows, request.cols);
  if (payload == bs::size_overflow) {
    return {bs::status_code::unsupported,
            "its dense bytes are more than the 512 GiB that a compressed tensor can address"};
  }
  result.directory.assign(bs::num_tiles<Format>(request.rows, request.cols), bs::tile_descriptor{});
  result.payload  = aligned_buffer{payload};
  result.restored = aligned_buffer{request.dense_bytes};
  std::memset(result.payload.data(), poison, result.payload.size());
  std::memset(result.restored.data(), poison, result.restored.size());

  bs::const_matrix_view<element> const dense{
      reinterpret_cast<bits_type const*>(request.dense), request.rows, request.cols, request.cols};
  bs::compressed_view<Format> const compressed{
      request.rows, request.cols, result.directory.data(), result.payload.data(), payload};
  bs::matrix_view<element> const restored{reinterpret_cast<bits_type*>(result.restored.data()),
                                          request.rows,
                                          request.cols,
                                          request.cols};

  std::uint64_t needed_bytes = 0;
  auto const start           = clock::now();
  bs::status const packed    = bs::host::compress<Format, Codec>(dense, compressed, needed_bytes);
  result.compress_seconds    = seconds_since(start);
  if (!packed.ok()) return packed;
  auto const middle         = clock::now();
  bs::status const unpacked = bs::host::decompress<Format>(compressed, restored);
  result.decompress_seconds = seconds_since(middle);
  return unpacked;
}

}  // namespace

bs::status host_round_trip(round_trip_request const& request, round_trip_result& result) {
  return bs::visit_format(request.element, request.tile_rows, request.tile_cols, [&](auto format) {
    return bs::visit_codec(request.codec, [&](auto codec) {
      return round_trip<decltype(format), decltype(codec)>(request, result);
    });
  });
}

}  // namespace inspect
