// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Each bit in turn of what a tensor knows about itself, flipped behind the library's back. Promised are,
/// for a flip in
///
/// - a chunk: its tile alone changes: to NaN with corrupt_tile raised, or to other values. A value's own
///   bits hold no redundancy, so that a change of them is not noticed;
/// - a descriptor: its tile alone changes: to NaN with a condition raised, to what another chunk of the
///   tensor holds, or not at all;
/// - the state of a tensor in a plain buffer: decompress gives the right values, since it reads none of
///   it but the scale of scaled elements. The conditions are what the flip makes of them;
/// - the phase or the epoch of a tensor in an arena: NaN in all values and not_full. The cursor, the
///   scale of elements that are not scaled, the padding: the right values;
/// - the slab map: the tiles of that slab alone change: to NaN with corrupt_tile raised, or to what
///   another slab of the same arena holds. An entry that is not used changes nothing;
/// - and for all of them: nothing is read or written outside the arena or the buffer and the results'
///   values, nothing of the tensor or the arena but conditions is written by decompress, and it ends.
///
/// release() trusts the state and the map: it may give back fewer slabs, or others, than the tensor had,
/// and the counters may be wrong, until reset() makes all of it good again. It ends and writes nothing
/// outside. Where the map names more slabs of a kind than can have been taken it gives none back and
/// raises corrupt_tile.
///
/// Corrupt Elias-Fano chunks are in a test case tagged [collides], as in corrupt_test.cu.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <tests/support/catch.hpp>
#include <tests/support/corruption.cuh>
#include <tests/support/encoded_tiles.hpp>
#include <tests/support/thinning.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

/// Flips each bit of the chunks of a tensor with one tile of each encoding that `wanted` says.
template <class Format, class Wanted>
std::string flip_chunks(Wanted wanted) {
  plain_fixture<Format, bs::codec::compact> plain{one_tile_of_each<Format>()};
  reader<bs::device_tensor_view<Format>, Format> read{plain.tensor.view(), plain.source};
  std::uint64_t flipped = 0;
  for (std::uint64_t tile = 0; tile < num_encoded_tiles<Format>; ++tile) {
    bs::tile_descriptor const coded = plain.tile(tile);
    if (coded.form() != encoding_of_tile<Format>(tile))
      return "a tile has not the encoding it is for";
    if (!wanted(coded.form())) continue;
    std::byte* const chunk = plain.tensor.view().payload + coded.offset_units() * 16;
    for (std::size_t bit = 0; bit < coded.chunk_units() * std::size_t{128};
         bit += thinning(), ++flipped) {
      flip(chunk, bit);
      plain.forget();
      std::string const fault =
          read.fault([=](std::uint64_t changed) { return changed == tile; },
                     std::string{bs::name_of(coded.form())} + ", bit " + std::to_string(bit));
      if (!fault.empty()) return fault;
      flip(chunk, bit);
    }
  }
  device_buffer& payload = plain.tensor.payload();
  std::vector<std::byte> const before(payload.host().data(),
                                      payload.host().data() + payload.bytes());
  payload.download();
  plain.tensor.directory().download();
  if (std::memcmp(before.data(), payload.host().data(), before.size()) != 0)
    return "decompress wrote into a chunk";
  if (!plain.tensor.guards_intact()) return "the tensor's surroundings were written";
  return flipped != 0 ? "" : "no bit was flipped";
}

/// Several slabs in an arena: tiles that are dense, and some with zeros.
template <class Format>
test_matrix<typename Format::element> several_slabs() {
  test_matrix<typename Format::element> matrix{3 * Format::rows, 4 * Format::cols};
  using bits_type = typename Format::bits_type;
  matrix.assign(random_values<bits_type>(
      matrix.rows() * matrix.cols(), {value_range::any, 0.97, Format::cols, 0.95}, 3));
  return matrix;
}

using arena_format = bs::default_format<bs::bf16>;
using arena_case   = arena_fixture<arena_format, bs::codec::sign>;
using arena_reader = reader<bs::arena_tensor_view<arena_format>, arena_format>;

}  // namespace

TEST_CASE("corrupt chunk: a flipped bit changes its tile alone, whatever the encoding",
          "[device]") {
  auto const is_other = [](bs::encoding e) { return !bs::detail::is_elias_fano(e); };
  CHECK(flip_chunks<bs::tile_format<bs::bf16, 16, 32>>(is_other) == "");
  CHECK(flip_chunks<bs::tile_format<bs::fp8_e4m3, 16, 32>>(is_other) == "");
}

TEST_CASE("corrupt chunk: a flipped bit of an Elias-Fano chunk changes its tile alone",
          "[device][collides]") {
  auto const is_elias_fano = [](bs::encoding e) { return bs::detail::is_elias_fano(e); };
  CHECK(flip_chunks<bs::tile_format<bs::bf16, 16, 32>>(is_elias_fano) == "");
  CHECK(flip_chunks<bs::tile_format<bs::fp8_e4m3, 16, 32>>(is_elias_fano) == "");
}

TEST_CASE("corrupt directory: a flipped bit of a descriptor changes its tile alone",
          "[device][collides]") {
  using format = bs::tile_format<bs::bf16, 16, 32>;
  plain_fixture<format, bs::codec::compact> plain{one_tile_of_each<format>()};
  reader<bs::device_tensor_view<format>, format> read{plain.tensor.view(), plain.source};
  std::uint64_t silent = 0;
  for (std::size_t bit = 0; bit < num_encoded_tiles<format> * 64; bit += thinning()) {
    flip(plain.tensor.directory().data(), bit);
    plain.forget();
    REQUIRE(read.fault([=](std::uint64_t tile) { return tile == bit / 64; },
                       "directory, bit " + std::to_string(bit)) == "");
    silent += !read.is_exact() && !plain.conditions_raised();
    flip(plain.tensor.directory().data(), bit);
  }
  CHECK(silent * 10 <= num_encoded_tiles<format> * 64);
}

TEST_CASE("corrupt state of a plain buffer: decompress gives the right values", "[device]") {
  using format = bs::tile_format<bs::bf16, 16, 32>;
  plain_fixture<format, bs::codec::compact> plain{one_tile_of_each<format>()};
  reader<bs::device_tensor_view<format>, format> read{plain.tensor.view(), plain.source};
  auto* const state = reinterpret_cast<std::byte*>(plain.tensor.view().state);
  for (std::size_t bit = 0; bit < sizeof(bs::tensor_state) * 8; bit += thinning()) {
    flip(state, bit);
    REQUIRE(read.fault([](std::uint64_t) { return false; }, "state, bit " + std::to_string(bit)) ==
            "");
    flip(state, bit);
  }
}

TEST_CASE("corrupt arena tensor: state, directory and map, bit by bit, decompressed",
          "[arena][collides]") {
  arena_case one{several_slabs<arena_format>(), 8, 8};
  arena_reader read{one.view, one.source};
  std::uint64_t const state_bits = sizeof(bs::arena_tensor_state) * 8;
  std::uint64_t const tiles    = bs::num_tiles<arena_format>(one.source.rows(), one.source.cols());
  std::uint64_t const map_from = state_bits + tiles * 64;
  std::uint64_t const all_bits = map_from + one.view.map_slabs * 32;
  std::uint64_t const slab_units = corruption_slab_bytes / 16;
  std::uint64_t last_slab        = 0;  // where a chunk lies may differ from run to run
  for (std::uint64_t tile = 0; tile < tiles; ++tile)
    last_slab = std::max(last_slab, one.tile(tile).offset_units() / slab_units);
  REQUIRE(last_slab >= 2);
  std::uint64_t not_full = 0, of_phase_or_epoch = 0;
  for (std::size_t bit = 0; bit < all_bits; bit += thinning()) {
    flip(one.metadata.data(), bit);
    one.forget();
    bool const is_phase_or_epoch = bit / 32 == 2 || bit / 32 == 3;
    auto const may_differ        = [&](std::uint64_t tile) {
      if (bit < state_bits) return is_phase_or_epoch;
      if (bit < map_from) return tile == (bit - state_bits) / 64;
      bs::tile_descriptor const coded = one.tile(tile);
      return coded.chunk_units() != 0 && coded.offset_units() / slab_units == (bit - map_from) / 32;
    };
    REQUIRE(read.fault(may_differ, "metadata, bit " + std::to_string(bit)) == "");
    if (bit < state_bits) {
      std::uint32_t const wanted =
          is_phase_or_epoch ? static_cast<std::uint32_t>(bs::device_condition::not_full) : 0;
      REQUIRE(one.conditions() == wanted);
      REQUIRE(read.is_all_nan() == is_phase_or_epoch);
      not_full += read.is_all_nan();
      of_phase_or_epoch += is_phase_or_epoch;
    }
    flip(one.metadata.data(), bit);
  }
  CHECK(not_full == of_phase_or_epoch);
  CHECK(of_phase_or_epoch >= 64 / thinning());
  guarded_buffer const& after = one.metadata.download();
  CHECK(after.guards_intact());
  CHECK(one.arena.guards_intact());
  one.forget();
  CHECK(read.fault([](std::uint64_t) { return false; }, "flipped back") == "");
  CHECK(one.conditions() == 0);
}

TEST_CASE("corrupt arena tensor: state and map, bit by bit, released; reset() makes all good again",
          "[arena]") {
  arena_case one{several_slabs<arena_format>(), 8, 0};
  std::uint64_t const tiles  = bs::num_tiles<arena_format>(one.source.rows(), one.source.cols());
  std::size_t const map_from = sizeof(bs::arena_tensor_state) + tiles * 8;
  auto const try_bit         = [&](std::size_t bit) -> std::string {
    flip(one.metadata.data(), bit);
    if (!bs::release(one.view, nullptr).ok()) return "release";
    wait_or_end("release, metadata bit " + std::to_string(bit));
    std::string const fault = one.recovery_fault();
    return fault.empty() ? fault : "bit " + std::to_string(bit) + ": " + fault;
  };
  for (std::size_t bit = 0; bit < sizeof(bs::arena_tensor_state) * 8; bit += thinning())
    REQUIRE(try_bit(bit) == "");
  for (std::size_t bit = 0; bit < one.view.map_slabs * std::size_t{32}; bit += thinning())
    REQUIRE(try_bit(map_from * 8 + bit) == "");
}

TEST_CASE("corrupt slab map: release keeps the slabs where an entry names one that is free",
          "[arena][corrupt]") {
  arena_case one{several_slabs<arena_format>(), 8, 8};
  std::uint32_t entry = 9;  // host slab 0, which is free
  require_cuda(cudaMemcpy(one.view.slab_map, &entry, sizeof(entry), cudaMemcpyHostToDevice),
               "flip");
  REQUIRE(bs::release(one.view, nullptr).ok());
  wait_or_end("release, an entry of the map names a host slab");
  bs::arena_state state;
  require_cuda(cudaMemcpy(&state, one.view.arena.state, sizeof(state), cudaMemcpyDeviceToHost),
               "state");
  CHECK((state.conditions & static_cast<std::uint32_t>(bs::device_condition::corrupt_tile)) != 0);
  CHECK(one.recovery_fault() == "");
}
