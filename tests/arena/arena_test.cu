// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Tensors in an arena: the host codec's bytes, all encodings, exhaustion, spilling, and every misuse.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <tests/support/arena_fixture.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format    = bs::default_format<bs::bf16>;
using bits_type = format::bits_type;

constexpr std::uint64_t slab_bytes = 32 * 1024;

bool is_nan(bits_type bits) {
  return (bits & 0x7f80) == 0x7f80 && (bits & 0x7f) != 0;
}

/// One matrix in host and device memory, with no NaN of its own, and what the host codec makes of it.
template <class Codec = bs::codec::sign>
struct subject {
  test_matrix<bs::bf16> source;
  device_buffer dense;
  test_tensor<format> expected;
  std::uint64_t chunk_bytes = 0;

  subject(std::uint64_t rows,
          std::uint64_t cols,
          double density,
          std::uint64_t seed,
          value_range range = value_range::non_negative)
      : source(make(rows, cols, {range, density}, seed)),
        dense(source.buffer()),
        expected(rows, cols) {
    (void)bs::host::compress<format, Codec>(source.view(), expected.view(), chunk_bytes);
  }
  static test_matrix<bs::bf16> make(std::uint64_t rows,
                                    std::uint64_t cols,
                                    value_model const& model,
                                    std::uint64_t seed) {
    test_matrix<bs::bf16> matrix{rows, cols};
    auto values = random_values<bits_type>(rows * cols, model, seed);
    for (bits_type& bits : values) bits = is_nan(bits) ? bits_type{0x3f80} : bits;
    matrix.assign(values);
    return matrix;
  }
  bs::status compress(bs::arena_tensor_view<format> tensor) {
    return bs::compress<Codec>(
        bs::const_matrix_view<bs::bf16>{reinterpret_cast<bits_type const*>(dense.data()),
                                        source.rows(),
                                        source.cols(),
                                        source.ld()},
        tensor,
        nullptr);
  }
  struct outcome {
    std::uint64_t exact_tiles = 0, nan_tiles = 0, wrong_tiles = 0;
  };
  outcome restore(bs::arena_tensor_view<format> tensor) {
    return judge([&](auto const& target) { return bs::decompress(tensor, target, nullptr); });
  }
  outcome consume(bs::arena_tensor_view<format> tensor) {
    return judge([&](auto const& target) { return bs::consume(tensor, target, nullptr); });
  }
  /// Reads into a poisoned matrix, and judges each tile: all exact, all NaN, or wrong.
  template <class Read>
  outcome judge(Read read) {
    test_matrix<bs::bf16> restored{source.rows(), source.cols(), 0, 0, 0x11};
    device_buffer target{restored.buffer()};
    outcome result;
    bs::matrix_view<bs::bf16> const view{
        reinterpret_cast<bits_type*>(target.data()), source.rows(), source.cols(), source.ld()};
    if (!read(view).ok()) return result;
    std::memcpy(
        restored.buffer().whole(), target.download().whole(), restored.buffer().whole_bytes());
    if (!restored.surroundings_intact()) return result;
    bs::detail::for_each_tile<format>(source.rows(),
                                      source.cols(),
                                      [&](std::uint64_t,
                                          std::uint64_t row,
                                          std::uint64_t col,
                                          std::uint32_t rows,
                                          std::uint32_t cols) {
                                        std::uint32_t exact = 0, nan = 0;
                                        for (std::uint64_t r = row; r < row + rows; ++r) {
                                          for (std::uint64_t c = col; c < col + cols; ++c) {
                                            exact += restored.at(r, c) == source.at(r, c);
                                            nan += is_nan(restored.at(r, c));
                                          }
                                        }
                                        result.exact_tiles += exact == rows * cols;
                                        result.nan_tiles += nan == rows * cols;
                                        result.wrong_tiles +=
                                            exact != rows * cols && nan != rows * cols;
                                        return true;
                                      });
    return result;
  }
};

/// The directory of a tensor.
std::vector<bs::tile_descriptor> directory_of(bs::arena_tensor_view<format> const& tensor) {
  std::vector<bs::tile_descriptor> directory(bs::num_tiles<format>(tensor.rows, tensor.cols));
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  require_cuda(
      cudaMemcpy(directory.data(), tensor.directory, directory.size() * 8, cudaMemcpyDeviceToHost),
      "cudaMemcpy");
  return directory;
}

/// Compares the chunks that a full tensor has in its slabs with the host codec's.
template <class Codec>
std::uint64_t wrong_chunks(subject<Codec>& s, bs::arena_tensor_view<format> tensor) {
  std::uint64_t wrong  = 0;
  auto const directory = directory_of(tensor);
  std::vector<std::uint32_t> map(tensor.map_slabs);
  require_cuda(cudaMemcpy(map.data(), tensor.slab_map, map.size() * 4, cudaMemcpyDeviceToHost),
               "cudaMemcpy");
  std::uint64_t const slab_units = slab_bytes / 16;
  for (std::uint64_t i = 0; i < directory.size(); ++i) {
    bs::tile_descriptor const want = s.expected.tile(i), got = directory[i];
    if (want.form() != got.form() || want.kept() != got.kept() ||
        want.chunk_units() != got.chunk_units()) {
      ++wrong;
      continue;
    }
    if (got.chunk_units() == 0) continue;
    std::uint64_t const in_slab = got.offset_units() % slab_units;
    std::uint32_t const entry   = map[got.offset_units() / slab_units];
    std::vector<std::byte> chunk(got.chunk_units() * 16);
    std::uint32_t const slab = entry - 1;
    std::byte const* const at =
        slab < tensor.arena.num_device_slabs
            ? tensor.arena.device_slabs + slab * slab_bytes
            : tensor.arena.host_slabs + (slab - tensor.arena.num_device_slabs) * slab_bytes;
    require_cuda(cudaMemcpy(chunk.data(), at + in_slab * 16, chunk.size(), cudaMemcpyDefault),
                 "cudaMemcpy");
    wrong += in_slab + got.chunk_units() > slab_units ||
             std::memcmp(chunk.data(),
                         s.expected.payload().data() + want.offset_units() * 16,
                         chunk.size()) != 0;
  }
  return wrong;
}

}  // namespace

TEST_CASE("arena: chunks equal the host codec's and tensors come back, in device and in host slabs",
          "[arena]") {
  for (double const density : {0.0, 0.02, 0.3, 1.0}) {
    subject s{300, 500, density, 3};
    std::uint64_t const slabs =
        bs::max_slabs(s.chunk_bytes, slab_bytes, bs::max_chunk_bytes<format>());
    for (std::uint64_t const host_slabs : {std::uint64_t{0}, slabs / 2, slabs}) {
      guarded_arena arena{slabs - host_slabs, host_slabs, slab_bytes};
      bs::compressed_tensor<format> tensor{arena.view(), 300, 500};
      REQUIRE(s.compress(tensor.view()).ok());
      CHECK(wrong_chunks(s, tensor.view()) == 0);
      auto const result = s.restore(tensor.view());
      CHECK(result.exact_tiles == s.expected.num_tiles());
      auto const used = arena.state();
      CHECK(used.conditions == 0);
      CHECK(used.in_use[0] + used.in_use[1] == slabs_of(tensor.view()).size());
      CHECK(used.spilled == used.in_use[1]);
      REQUIRE(bs::release(tensor.view(), nullptr).ok());
      CHECK(arena.state().in_use[0] + arena.state().in_use[1] == 0);
      CHECK(arena.free_slabs(0) == slabs - host_slabs);
      CHECK(arena.free_slabs(1) == host_slabs);
      CHECK(arena.guards_intact());
    }
  }
}

TEST_CASE("arena: every encoding of compact comes back bit for bit, and every slab is given back",
          "[arena]") {
  struct {
    value_range range;
    double density;
    bs::encoding form;  // of most tiles
  } const cases[] = {
      {value_range::any, 0.0, bs::encoding::zero},
      {value_range::window3, 0.02, bs::encoding::elias_fano_window3},
      {value_range::window4, 0.1, bs::encoding::elias_fano_window4},
      {value_range::non_negative, 0.1, bs::encoding::elias_fano_sign},
      {value_range::any, 0.1, bs::encoding::elias_fano_raw},
      {value_range::window3, 0.4, bs::encoding::flat_window3},
      {value_range::window4, 0.5, bs::encoding::flat_window4},
      {value_range::non_negative, 0.6, bs::encoding::flat_sign},
      {value_range::any, 0.7, bs::encoding::flat_raw},
      {value_range::any, 1.0, bs::encoding::dense},
  };
  constexpr std::uint64_t rows = 500, cols = 1000;
  std::uint32_t forms = 0;  // as bits
  // Tensors with a chunk that was reserved again, because it straddled two slabs.
  std::uint64_t num_straddled = 0;
  for (auto const& each : cases) {
    subject<bs::codec::compact> s{rows, cols, each.density, 5, each.range};
    std::uint64_t const slabs =
        bs::max_slabs(s.chunk_bytes, slab_bytes, bs::max_chunk_bytes<format>());
    for (std::uint64_t const host_slabs : {std::uint64_t{0}, slabs / 2}) {
      guarded_arena arena{slabs - host_slabs, host_slabs, slab_bytes};
      bs::compressed_tensor<format> tensor{arena.view(), rows, cols};
      for (bool const consumed : {false, true}) {
        REQUIRE(s.compress(tensor.view()).ok());
        CHECK(wrong_chunks(s, tensor.view()) == 0);
        std::uint64_t end_units = 0, num_tiles = 0;
        for (bs::tile_descriptor const tile : directory_of(tensor.view())) {
          forms |= bs::detail::encoding_bit(tile.form());
          num_tiles += tile.form() == each.form;
          end_units = std::max(end_units, tile.offset_units() + tile.chunk_units());
        }
        CHECK(num_tiles * 2 > s.expected.num_tiles());
        num_straddled += end_units * 16 > s.chunk_bytes;
        CHECK(arena.state().in_use[0] + arena.state().in_use[1] == slabs_of(tensor.view()).size());
        CHECK(s.restore(tensor.view()).exact_tiles == s.expected.num_tiles());
        if (consumed) {
          CHECK(s.consume(tensor.view()).exact_tiles == s.expected.num_tiles());
        } else {
          REQUIRE(bs::release(tensor.view(), nullptr).ok());
        }
        CHECK(arena.state().conditions == 0);
        CHECK(arena.state().in_use[0] + arena.state().in_use[1] == 0);
        CHECK(arena.free_slabs(0) == slabs - host_slabs);
        CHECK(arena.free_slabs(1) == host_slabs);
        CHECK(arena.guards_intact());
      }
    }
  }
  CHECK(forms == bs::codec::compact::encodings);
  CHECK(num_straddled > 0);
}

TEST_CASE("arena: what is short by some slabs loses tiles, says so, and its need is enough",
          "[arena]") {
  subject s{300, 500, 0.4, 7};
  std::uint64_t slabs_used = 0;
  {
    guarded_arena arena{64, 0, slab_bytes};
    bs::compressed_tensor<format> tensor{arena.view(), 300, 500};
    REQUIRE(s.compress(tensor.view()).ok());
    slabs_used = arena.state().in_use[0];
    REQUIRE(slabs_used >= 4);
  }
  for (std::uint64_t const slabs :
       {slabs_used - 1, slabs_used / 2, std::uint64_t{1}, std::uint64_t{0}}) {
    for (std::uint64_t const host_slabs : {std::uint64_t{0}, slabs}) {
      guarded_arena arena{slabs - host_slabs, host_slabs, slab_bytes};
      bs::compressed_tensor<format> tensor{arena.view(), 300, 500};
      REQUIRE(s.compress(tensor.view()).ok());
      auto const result = s.restore(tensor.view());
      auto const state  = arena.state();
      CHECK(result.wrong_tiles == 0);
      CHECK(result.nan_tiles > 0);
      CHECK(result.exact_tiles + result.nan_tiles == s.expected.num_tiles());
      auto const expected = static_cast<std::uint32_t>(bs::device_condition::capacity_exceeded) |
                            static_cast<std::uint32_t>(bs::device_condition::lost_tile_read);
      CHECK(state.conditions == expected);
      CHECK(state.skip_step == 1.0f);
      CHECK(state.refused > 0);
      CHECK(arena.guards_intact());

      std::uint32_t const demand = std::max(state.peak_demand, state.demand);  // as report() says
      guarded_arena granted{demand, 0, slab_bytes};
      bs::compressed_tensor<format> again{granted.view(), 300, 500};
      REQUIRE(s.compress(again.view()).ok());
      CHECK(s.restore(again.view()).exact_tiles == s.expected.num_tiles());
      CHECK(granted.state().conditions == 0);

      // The next step finds everything free again.
      REQUIRE(bs::release(tensor.view(), nullptr).ok());
      CHECK(arena.state().demand == 0);
      CHECK(arena.free_slabs(0) + arena.free_slabs(1) == slabs);
    }
  }
}

TEST_CASE("arena: a tensor that holds nothing reads as NaN, and a second release is told",
          "[arena]") {
  subject s{130, 200, 0.5, 9};
  guarded_arena arena{32, 0, slab_bytes};
  bs::compressed_tensor<format> tensor{arena.view(), 130, 200}, other{arena.view(), 130, 200};
  auto const not_full  = static_cast<std::uint32_t>(bs::device_condition::not_full);
  auto const all_tiles = s.expected.num_tiles();
  REQUIRE(s.compress(other.view()).ok());

  CHECK(s.restore(tensor.view()).nan_tiles == all_tiles);  // never filled
  CHECK(arena.state().conditions == not_full);
  REQUIRE(bs::clear(arena.view(), nullptr).ok());

  REQUIRE(s.compress(tensor.view()).ok());
  REQUIRE(bs::release(tensor.view(), nullptr).ok());
  CHECK(arena.state().conditions == 0);
  CHECK(s.restore(tensor.view()).nan_tiles == all_tiles);  // use after release
  CHECK(arena.state().conditions == not_full);
  REQUIRE(bs::clear(arena.view(), nullptr).ok());

  std::uint32_t const in_use = arena.state().in_use[0];
  REQUIRE(bs::release(tensor.view(), nullptr).ok());  // twice
  CHECK(arena.state().conditions == not_full);
  CHECK(arena.state().in_use[0] == in_use);
  CHECK(arena.free_slabs(0) == 32 - in_use);
  REQUIRE(bs::clear(arena.view(), nullptr).ok());

  CHECK(s.restore(other.view()).exact_tiles == all_tiles);  // the other one is untouched
  REQUIRE(bs::reset(arena.view(), nullptr).ok());
  CHECK(arena.free_slabs(0) == 32);
  CHECK(s.restore(other.view()).nan_tiles == all_tiles);  // abandoned
  REQUIRE(s.compress(other.view()).ok());                 // and usable again
  REQUIRE(bs::clear(arena.view(), nullptr).ok());
  CHECK(s.restore(other.view()).exact_tiles == all_tiles);
  CHECK(arena.state().conditions == 0);
  REQUIRE(bs::release(other.view(), nullptr).ok());
  CHECK(arena.free_slabs(0) == 32);
}

TEST_CASE("arena: compressing into a full tensor gives its slabs back first", "[arena]") {
  subject dense{256, 512, 1.0, 1}, sparse{256, 512, 0.05, 2};
  std::uint64_t const slabs =
      bs::max_slabs(dense.chunk_bytes, slab_bytes, bs::max_chunk_bytes<format>());
  guarded_arena arena{slabs, 0, slab_bytes};
  bs::compressed_tensor<format> tensor{arena.view(), 256, 512};
  for (int i = 0; i < 5; ++i) {
    REQUIRE(dense.compress(tensor.view()).ok());
    CHECK(dense.restore(tensor.view()).exact_tiles == dense.expected.num_tiles());
    REQUIRE(sparse.compress(tensor.view()).ok());
    CHECK(sparse.restore(tensor.view()).exact_tiles == sparse.expected.num_tiles());
  }
  CHECK(arena.state().conditions == 0);
  CHECK(arena.state().in_use[0] == slabs_of(tensor.view()).size());
  CHECK(arena.state().demand == arena.state().in_use[0]);
}

TEST_CASE("arena: bad set-ups and arguments are refused by name", "[arena]") {
  bs::arena_view view;
  auto const says = [](bs::status result, char const* part) {
    return !result.ok() && std::string{result.text()}.find(part) != std::string::npos;
  };
  CHECK(says(bs::make_arena(nullptr, 1, nullptr, 0, slab_bytes, view), "device memory is null"));
  CHECK(says(bs::make_arena(&view, 1, nullptr, 0, 48 * 1024, view), "power of two"));
  CHECK(says(bs::make_arena(reinterpret_cast<void*>(256), 1, nullptr, 1, slab_bytes, view),
             "host memory is null"));
  CHECK_THROWS(bs::arena(4, 0, 1000));
  CHECK_THROWS(bs::arena(std::uint64_t{1} << 40));
  guarded_arena arena{4, 0, slab_bytes};
  bs::compressed_tensor<format> tensor{arena.view(), 64, 64};
  subject s{64, 128, 0.5, 1};
  CHECK(says(s.compress(tensor.view()), "rows x columns"));
  CHECK(says(s.compress({}), "state is null"));
  auto bad      = tensor.view();
  bad.map_slabs = 0;
  CHECK(says(bs::release(bad, nullptr), "slab map is shorter"));
}

TEST_CASE("tensor_pool: hands out each tensor once", "[arena]") {
  guarded_arena arena{4, 0, slab_bytes};
  bs::tensor_pool<format> pool{arena.view(), 64, 64, 3};
  bs::arena_tensor_view<format> tensors[4];
  for (int i = 0; i < 3; ++i) REQUIRE(pool.acquire(tensors[i]));
  CHECK(tensors[0].state != tensors[1].state);
  CHECK(tensors[1].state != tensors[2].state);
  CHECK_FALSE(pool.acquire(tensors[3]));
  pool.give_back(tensors[1]);
  CHECK(pool.num_free() == 1);
  REQUIRE(pool.acquire(tensors[3]));
  CHECK(tensors[3].state == tensors[1].state);
}
