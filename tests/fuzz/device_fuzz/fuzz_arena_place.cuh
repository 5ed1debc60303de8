// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A case's tensor in an arena: of enough slabs, of too few, with host slabs, or shared with other
/// threads; and what the arena is to say afterwards.
#pragma once

#include <cuda_runtime_api.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <bitsparse/arena/arena.cuh>
#include <bitsparse/arena/operations.cuh>
#include <tests/fuzz/device_fuzz/fuzz_buffer_place.cuh>
#include <tests/fuzz/device_fuzz/fuzz_gather.cuh>
#include <tests/fuzz/device_fuzz/fuzz_worker.cuh>

namespace bitsparse_test {

template <class Format>
class arena_place {
  using tensor_state                   = bitsparse::arena_tensor_state;
  static constexpr auto slab_bytes     = fuzz_arena::slab_bytes;
  static constexpr std::uint32_t shift = 11;  // units of a slab
  static_assert(slab_bytes == std::uint64_t{bitsparse::unit_bytes} << shift);

 public:
  arena_place(fuzz_worker& worker, fuzz_case const& c)
      : w_(worker), c_(c), arena_(worker.arena_of(c.place)) {}

  bool consumes() const { return c_.ending == fuzz_ending::consume; }
  bool reads_again() const { return c_.ending == fuzz_ending::read_after_release; }

  /// When the host codec has said what is needed.
  void add() {
    std::uint64_t const tiles = w_.chunks.num_tiles();
    metadata_bytes_           = bitsparse::arena_tensor_bytes<Format>(c_.rows, c_.cols, slab_bytes);
    map_slabs_                = bitsparse::detail::map_slabs<Format>(c_.rows, c_.cols, slab_bytes);
    metadata_                 = w_.image.add("metadata", metadata_bytes_);
    expected_                 = w_.image.add("the host's directory", tiles * 8);
    gathered_                 = w_.image.add("gathered chunks", w_.chunks.bytes());
    map_copy_                 = w_.image.add("copy of the slab map", map_slabs_ * 4);
    state_copy_               = w_.image.add("copy of the state", sizeof(tensor_state));
    std::memset(w_.image.uploaded(metadata_), 0, metadata_bytes_);
    if (tiles != 0) std::memcpy(w_.image.uploaded(expected_), w_.chunks.directory(), tiles * 8);
    // All that suffices for certain is the most; none the least.
    std::uint64_t const most =
        bitsparse::max_slabs(w_.chunks.bytes(), slab_bytes, bitsparse::max_chunk_bytes<Format>());
    short_slabs_ = most * c_.part / 256;
  }
  void prepare(cudaStream_t stream) {
    if (c_.place == fuzz_place::arena_short) arena_.make(short_slabs_, 0, stream);
    view_ =
        bitsparse::make_arena_tensor<Format>(w_.device(metadata_), c_.rows, c_.cols, arena_.view());
    require_ok(clear(stream), "clear");
  }
  bitsparse::arena_tensor_view<Format> const& view() const { return view_; }
  bitsparse::status clear(cudaStream_t stream) {
    // Others use the one of all: their conditions would be forgotten.
    return is_private() ? bitsparse::clear(arena_.view(), stream) : bitsparse::status{};
  }
  cudaError_t gather(cudaStream_t stream) {
    auto const at = [&](auto* type, std::size_t byte) {
      return reinterpret_cast<decltype(type)>(w_.device(byte));
    };
    using descriptors = bitsparse::tile_descriptor*;
    return gather_chunks({view_.directory,
                          at(descriptors{}, expected_),
                          static_cast<std::uint32_t>(w_.chunks.num_tiles()),
                          view_.slab_map,
                          view_.map_slabs,
                          view_.state,
                          view_.arena,
                          w_.device(gathered_),
                          at(static_cast<std::uint32_t*>(nullptr), map_copy_),
                          at(static_cast<tensor_state*>(nullptr), state_copy_)},
                         stream);
  }
  template <class Op, class Operands>
  bitsparse::status consume(Operands const& operands, cudaStream_t stream) {
    return bitsparse::consume<Op>(view_, operands, stream);
  }
  /// Ends the tensor's hold of its slabs.
  bitsparse::status end(cudaStream_t stream) {
    if (c_.ending == fuzz_ending::reset) return bitsparse::reset(arena_.view(), stream);
    bitsparse::status result = bitsparse::release(view_, stream);
    if (c_.ending == fuzz_ending::release_twice && result.ok())
      result = bitsparse::release(view_, stream);
    return result;
  }
  void download(cudaStream_t stream) {
    if (is_private()) arena_.download(stream);
  }

  template <class>
  tiles_report compare() {
    std::size_t const directory = metadata_ + sizeof(tensor_state);
    bool straddles              = false;
    tiles_report report         = compare_tiles(
        w_.chunks,
        w_.image.downloaded(directory),
        map_slabs_ << shift,
        [&](std::uint64_t index, bitsparse::tile_descriptor tile) {
          std::size_t const at =
              gathered_ + w_.chunks.tile(index).offset_units() * bitsparse::unit_bytes;
          std::uint64_t const first = tile.offset_units(), last = first + tile.chunk_units() - 1;
          straddles = straddles || first >> shift != last >> shift;
          w_.image.accept(at, std::size_t{tile.chunk_units()} * bitsparse::unit_bytes);
          return w_.image.downloaded(at);
        });
    if (report.fault.empty() && straddles) report.fault = "a chunk lies in two slabs";
    w_.image.accept(directory, w_.chunks.num_tiles() * 8);
    return report;
  }

  std::string check(tiles_report const& tiles, float scale, bool reads_tiles) {
    tensor_state filled;
    std::memcpy(static_cast<void*>(&filled), w_.image.downloaded(state_copy_), sizeof(filled));
    std::string fault = check_filled(filled);
    if (!fault.empty()) return fault;
    w_.image.accept(map_copy_, map_slabs_ * 4);
    w_.image.accept(state_copy_, sizeof(filled));
    // Of the metadata, what release() or reset() leaves.
    tensor_state left;
    std::memset(static_cast<void*>(&left), 0, sizeof(left));
    left.epoch = filled.epoch;
    left.scale = scale;
    if (c_.ending == fuzz_ending::reset) {
      left.cursor = filled.cursor;
      left.phase  = filled.phase;
      std::memcpy(w_.image.expected(map_at()), w_.image.downloaded(map_copy_), map_slabs_ * 4);
    }
    std::memcpy(w_.image.expected(metadata_), &left, sizeof(left));
    return is_private()      ? check_arena(tiles, filled, reads_tiles)
           : tiles.lost == 0 ? std::string{}
                             : "an arena of enough slabs lost tiles";
  }

 private:
  bool is_private() const { return c_.place != fuzz_place::arena_of_all; }
  static void require_ok(bitsparse::status result, char const* what) {
    if (!result.ok()) throw std::runtime_error(std::string{what} + ": " + result.text());
  }
  std::size_t map_at() const {
    return metadata_ + sizeof(tensor_state) + w_.chunks.num_tiles() * 8;
  }

  /// The tensor between compress and what came next.
  std::string check_filled(tensor_state const& filled) {
    if (filled.phase != bitsparse::tensor_phase::full) return "compress left the tensor not full";
    std::uint64_t const units = filled.cursor & ((std::uint64_t{1} << 36) - 1);
    std::uint64_t const slabs = (units + (std::uint64_t{1} << shift) - 1) >> shift;
    if (filled.cursor >> 36 != w_.chunks.num_tiles() + slabs)
      return "not every tile has reserved its chunk, or not every slab is begun";
    if (slabs > map_slabs_) return "more slabs were needed than the map has entries";
    needed_slabs_     = slabs;
    auto const& arena = arena_.view();
    std::vector<bool> is_held(arena.num_slabs());
    for (std::uint64_t i = 0; i < map_slabs_; ++i) {
      std::uint32_t entry;
      std::memcpy(&entry, w_.image.downloaded(map_copy_ + 4 * i), sizeof(entry));
      if (i >= slabs) {
        if (entry != 0) return "the slab map has an entry behind its last slab";
      } else if (entry != bitsparse::arena_view::no_slab) {
        if (entry == 0 || entry > arena.num_slabs())
          return "the slab map names a slab that is none";
        if (is_held[entry - 1]) return "the slab map names a slab twice";
        is_held[entry - 1] = true;
      } else {
        ++refused_;
      }
    }
    return {};
  }

  /// The arena when everything has been given back.
  std::string check_arena(tiles_report const& tiles, tensor_state const& filled, bool reads_tiles) {
    if (!arena_.guards_intact()) return "the arena's surroundings were written";
    using condition  = bitsparse::device_condition;
    auto const state = arena_.state();
    auto const& view = arena_.view();
    for (int kind = 0; kind < 2; ++kind) {
      std::uint32_t const slabs = kind == 0 ? view.num_device_slabs : view.num_host_slabs;
      if (state.in_use[kind] != 0) return "the arena still has slabs in use";
      if (state.available[kind] != static_cast<std::int32_t>(slabs) ||
          state.given[kind] - state.taken[kind] != slabs)
        return "the arena has not got all its slabs back";
      if (state.peak[kind] > slabs) return "the arena's peak is more than its slabs";
    }
    if (state.demand != 0) return "the arena's demand is not 0";
    std::uint32_t const resets = c_.ending == fuzz_ending::reset;
    if (state.epoch != filled.epoch + resets) return "the arena's epoch is wrong";

    std::uint64_t const bytes = w_.chunks.bytes();
    std::uint64_t const most =
        bitsparse::max_slabs(bytes, slab_bytes, bitsparse::max_chunk_bytes<Format>());
    bool const must_lose = view.num_slabs() * slab_bytes < bytes;
    bool const is_enough = view.num_slabs() >= most;
    if (needed_slabs_ > most) return "more slabs were needed than max_slabs() says";
    if (tiles.lost == 0 && must_lose) return "chunks of more bytes than the arena has were kept";
    if (tiles.lost != 0 && is_enough)
      return "tiles were lost although max_slabs() slabs were there";
    if (state.refused != refused_) return "the arena's refused slabs are not those of the map";
    if (tiles.lost != 0 && refused_ == 0) return "tiles were lost and no slab was refused";
    if (state.peak_demand < needed_slabs_ ||
        (refused_ != 0 && state.peak_demand <= view.num_slabs()))
      return "the need that is reported would not suffice";
    if (c_.place == fuzz_place::arena_host && bytes > 2 * slab_bytes && state.spilled == 0)
      return "no host slab was used, or not counted";
    bool const is_empty_now =
        c_.ending == fuzz_ending::release_twice || (reads_again() && reads_tiles);
    std::uint32_t const conditions =
        bits_of_condition(condition::capacity_exceeded, refused_ != 0) |
        bits_of_condition(condition::lost_tile_read, tiles.lost != 0) |
        bits_of_condition(condition::not_full, is_empty_now);
    if (state.conditions != conditions)
      return "conditions " + std::to_string(state.conditions) + ", not " +
             std::to_string(conditions);
    return state.skip_step == (conditions == 0 ? 0.0f : 1.0f) ? "" : "skip_step is wrong";
  }

  fuzz_worker& w_;
  fuzz_case const& c_;
  fuzz_arena& arena_;
  bitsparse::arena_tensor_view<Format> view_;
  std::size_t metadata_ = 0, expected_ = 0, gathered_ = 0, map_copy_ = 0, state_copy_ = 0;
  std::uint64_t metadata_bytes_ = 0, map_slabs_ = 0, short_slabs_ = 0, needed_slabs_ = 0;
  std::uint32_t refused_ = 0;
};

}  // namespace bitsparse_test
