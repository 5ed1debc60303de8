// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device fuzzer's comparison misses no wrong byte: the host codec in place of the device.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <tests/fuzz/device_fuzz/fuzz_case.hpp>
#include <tests/fuzz/device_fuzz/fuzz_fill.hpp>
#include <tests/fuzz/device_fuzz/fuzz_image.hpp>
#include <tests/fuzz/device_fuzz/fuzz_tiles.hpp>
#include <tests/support/catch.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format = bs::default_format<bs::bf16>;

/// An image as a case has it, worked on by the host codec in place of the device.
struct host_run {
  static constexpr std::size_t capacity = 1 << 20;
  std::vector<std::byte> up, down;
  fuzz_image image;
  host_chunks chunks{4096, capacity};
  image_matrix source, result;
  std::size_t directory = 0, payload = 0;

  host_run() : up(capacity), down(capacity), image(up.data(), down.data(), capacity) {
    fuzz_case c;
    c.rows = 200, c.cols = 300;
    c.values  = fuzz_values::non_negative;
    c.density = 0.3;
    image.begin();
    source             = image.add_matrix<std::uint16_t>("source", c.rows, c.cols, 317, 3);
    auto* const values = reinterpret_cast<std::uint16_t*>(image.uploaded(source.at));
    fill_values<bs::bf16>(c, 0, values, source.ld);
    bs::const_matrix_view<bs::bf16> const view{values, c.rows, c.cols, source.ld};
    REQUIRE(chunks.compress<format, bs::codec::sign>(view) == "");
    directory = image.add("directory", chunks.num_tiles() * 8);
    payload   = image.add("payload", chunks.bytes());
    result    = image.add_matrix<std::uint16_t>("result", c.rows, c.cols, 320, 0);
    image.close();
    image.expect_result<std::uint16_t>(result, c.rows, [&](std::uint64_t row, std::uint64_t col) {
      return values[row * source.ld + col];
    });
    down                 = up;
    std::uint64_t needed = 0;
    bs::compressed_view<format> const tensor{
        c.rows,
        c.cols,
        reinterpret_cast<bs::tile_descriptor*>(image.downloaded(directory)),
        image.downloaded(payload),
        chunks.bytes()};
    REQUIRE(bs::host::compress<format, bs::codec::sign>(view, tensor, needed).ok());
    bs::matrix_view<bs::bf16> const restored{
        reinterpret_cast<std::uint16_t*>(image.downloaded(result.at)), c.rows, c.cols, result.ld};
    REQUIRE(bs::host::decompress<format>(tensor, restored).ok());
  }
  std::string check() {
    tiles_report const tiles =
        compare_tiles(chunks,
                      image.downloaded(directory),
                      chunks.bytes() / 16,
                      [&](std::uint64_t, bs::tile_descriptor tile) {
                        std::size_t const at = payload + tile.offset_units() * 16;
                        image.accept(at, std::size_t{tile.chunk_units()} * 16);
                        return image.downloaded(at);
                      });
    if (!tiles.fault.empty()) return tiles.fault;
    image.accept(directory, chunks.num_tiles() * 8);
    if (tiles.lost != 0)
      expect_lost<format, bs::bf16>(image, result, false, result.rows, tiles.is_lost);
    return image.fault();
  }
};

}  // namespace

TEST_CASE("device fuzz: the comparison accepts what the host codec makes", "[fuzz]") {
  host_run run;
  CHECK(run.check() == "");
}

TEST_CASE("device fuzz: the comparison finds any byte that is wrong", "[fuzz]") {
  host_run run;
  random_bits random{3};
  std::uint64_t found = 0, tried = 0;
  for (std::size_t at = 0; at < run.image.used_bytes(); at += 1 + random.below(300)) {
    std::byte& byte = run.down[at];
    byte ^= std::byte{1} << random.below(8);
    found += run.check() != "";
    ++tried;
    host_run again;  // check() accepts what it compared
    run.down = again.down;
    std::memcpy(run.image.expected(), again.image.expected(), run.image.used_bytes());
  }
  CHECK(found == tried);
  CHECK(tried > 1000);
}

TEST_CASE("device fuzz: a result that is not written shows, and a lost tile is NaN", "[fuzz]") {
  host_run run;
  std::memcpy(run.image.downloaded(run.result.at), run.image.uploaded(run.result.at), 2);
  CHECK(run.check().find("byte 0 of result") != std::string::npos);
  host_run lost;
  bs::tile_descriptor const tile = lost.chunks.tile(1);
  bs::tile_descriptor const mark{bs::encoding::lost, tile.kept(), 0, 0};
  std::memcpy(lost.image.downloaded(lost.directory + 8), &mark, 8);
  // Its chunk is what compress would not have written.
  lost.image.accept(lost.payload, lost.chunks.bytes());
  CHECK(lost.check() != "");
  for (std::uint64_t r = 0; r < 32; ++r) {
    for (std::uint64_t c = 128; c < 256; ++c) {
      std::uint16_t const nan = bs::bf16::quiet_nan;
      std::memcpy(lost.image.downloaded(lost.result.at + (r * lost.result.ld + c) * 2), &nan, 2);
    }
  }
  CHECK(lost.check() == "");
}
