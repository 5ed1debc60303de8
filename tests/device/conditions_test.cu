// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What happens on the device when a payload is too small, and how it is told.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <bitsparse/device/report.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/device_round_trip.cuh>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format    = bs::default_format<bs::bf16>;
using bits_type = format::bits_type;

bool is_nan(bits_type bits) {
  return (bits & 0x7f80) == 0x7f80 && (bits & 0x7f) != 0;
}

test_matrix<bs::bf16> make_source(std::uint64_t rows, std::uint64_t cols) {
  test_matrix<bs::bf16> source{rows, cols};
  auto values = random_values<bits_type>(rows * cols, {value_range::non_negative, 0.3}, 5);
  for (bits_type& bits : values) {  // no NaN of its own: NaN then says "lost"
    if (is_nan(bits)) bits = 0x3f80;
  }
  source.assign(values);
  return source;
}

bs::const_matrix_view<bs::bf16> on_device(device_buffer& buffer,
                                          test_matrix<bs::bf16> const& like) {
  return {reinterpret_cast<bits_type const*>(buffer.data()), like.rows(), like.cols(), like.ld()};
}

}  // namespace

TEST_CASE("compress: a payload too small loses tiles, says so, and touches nothing outside",
          "[device]") {
  auto const source = make_source(300, 500);
  device_buffer dense{source.buffer()};
  test_tensor<format> expected{source.rows(), source.cols()};
  std::uint64_t needed = 0;
  REQUIRE(bs::host::compress<format, bs::codec::sign>(source.view(), expected.view(), needed).ok());
  for (std::uint64_t const bytes :
       {std::uint64_t{0}, std::uint64_t{16}, needed / 2, needed - 16, needed}) {
    device_tensor<format> tensor{source.rows(), source.cols(), bytes};
    REQUIRE(bs::compress<bs::codec::sign>(on_device(dense, source), tensor.view(), nullptr).ok());
    guarded_buffer const& directory = tensor.directory().download();
    tensor.payload().download();
    CHECK(tensor.guards_intact());
    auto const state = tensor.state();
    CHECK(state.cursor_units * 16 == needed);
    if (bytes == needed) {
      CHECK(state.conditions == 0);
      CHECK(state.skip_step == 0.0f);
    } else {
      CHECK(state.conditions ==
            static_cast<std::uint32_t>(bs::device_condition::capacity_exceeded));
      CHECK(state.needed_units * 16 == needed);
      CHECK(state.skip_step == 1.0f);
    }

    // Every tile is exact or, if lost, all NaN; and the loss is told again.
    test_matrix<bs::bf16> restored{source.rows(), source.cols(), 0, 0, 0x11};
    device_buffer target{restored.buffer()};
    bs::matrix_view<bs::bf16> const view{
        reinterpret_cast<bits_type*>(target.data()), source.rows(), source.cols(), source.ld()};
    REQUIRE(bs::decompress(tensor.view(), view, nullptr).ok());
    std::memcpy(
        restored.buffer().whole(), target.download().whole(), restored.buffer().whole_bytes());
    CHECK(restored.surroundings_intact());
    std::uint64_t wrong = 0, lost = 0, index = 0;
    for (std::uint64_t row = 0; row < source.rows(); row += format::rows) {
      for (std::uint64_t col = 0; col < source.cols(); col += format::cols, ++index) {
        bs::tile_descriptor const tile{
            bs::detail::load<std::uint64_t>(directory.data() + 8 * index)};
        bool const is_lost = tile.form() == bs::encoding::lost;
        lost += is_lost;
        wrong += is_lost && (tile.kept() != expected.tile(index).kept() || tile.chunk_units() != 0);
        for (std::uint64_t r = row; r < std::min<std::uint64_t>(row + format::rows, source.rows());
             ++r) {
          for (std::uint64_t c = col;
               c < std::min<std::uint64_t>(col + format::cols, source.cols());
               ++c) {
            wrong += is_lost ? !is_nan(restored.at(r, c)) : restored.at(r, c) != source.at(r, c);
          }
        }
      }
    }
    CHECK(wrong == 0);
    CHECK((lost == 0) == (bytes == needed));
    std::uint32_t const conditions = tensor.state().conditions;
    bool const told =
        (conditions & static_cast<std::uint32_t>(bs::device_condition::lost_tile_read)) != 0;
    CHECK(told == (lost != 0));
  }
}

TEST_CASE("compress: granting the reported need is enough, and the tensor recovers", "[device]") {
  auto const source = make_source(200, 200);
  device_buffer dense{source.buffer()};
  device_tensor<format> small{source.rows(), source.cols(), 64};
  REQUIRE(bs::compress<bs::codec::fast>(on_device(dense, source), small.view(), nullptr).ok());
  std::uint64_t const needed = small.state().needed_units * 16;
  device_tensor<format> granted{source.rows(), source.cols(), needed};
  REQUIRE(bs::compress<bs::codec::fast>(on_device(dense, source), granted.view(), nullptr).ok());
  CHECK(compare_with_host<format, bs::codec::fast>(source, granted) == "");
  CHECK(decompress_and_compare<format>(source, granted, source.ld(), 0) == "");
}

TEST_CASE("report: a poll sees the newest state without waiting, and clear forgets it",
          "[device]") {
  auto const source = make_source(200, 200);
  device_buffer dense{source.buffer()};
  device_tensor<format> tensor{source.rows(), source.cols(), 4096};
  bs::report_slot<bs::tensor_report>* slot = nullptr;
  require_cuda(cudaHostAlloc(reinterpret_cast<void**>(&slot), sizeof(*slot), cudaHostAllocMapped),
               "cudaHostAlloc");
  std::memset(static_cast<void*>(slot), 0, sizeof(*slot));
  bs::tensor_report content{};
  CHECK_FALSE(bs::read_report(slot, content));
  REQUIRE(bs::compress<bs::codec::sign>(on_device(dense, source), tensor.view(), nullptr).ok());
  REQUIRE(bs::report(tensor.view(), slot, nullptr).ok());
  while (!bs::read_report(slot, content)) {
  }
  CHECK(content.conditions == static_cast<std::uint32_t>(bs::device_condition::capacity_exceeded));
  CHECK(content.needed_bytes == content.used_bytes);
  CHECK(content.needed_bytes > 4096);

  REQUIRE(bs::clear(tensor.view(), nullptr).ok());
  REQUIRE(bs::report(tensor.view(), slot, nullptr).ok());
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  REQUIRE(bs::read_report(slot, content));
  CHECK(content.conditions == 0);
  CHECK(content.needed_bytes == 0);
  CHECK(tensor.state().skip_step == 0.0f);
  cudaFreeHost(slot);
}

TEST_CASE("compress and decompress: bad arguments are refused before a launch, by name",
          "[device]") {
  auto const source = make_source(64, 64);
  device_buffer dense{source.buffer()};
  device_tensor<format> tensor{64, 64, 8192};
  auto const good = on_device(dense, source);
  auto const says = [](bs::status result, char const* part) {
    return !result.ok() && std::string{result.text()}.find(part) != std::string::npos;
  };
  auto view = tensor.view();
  auto bad  = good;
  bad.data  = nullptr;
  CHECK(says(bs::compress<bs::codec::sign>(bad, view, nullptr), "data pointer is null"));
  bad    = good;
  bad.ld = 63;
  CHECK(says(bs::compress<bs::codec::sign>(bad, view, nullptr), "leading dimension"));
  bad      = good;
  bad.data = reinterpret_cast<bits_type const*>(dense.data() + 1);
  CHECK(says(bs::compress<bs::codec::sign>(bad, view, nullptr), "not aligned to its element"));
  bad      = good;
  bad.rows = 63;
  CHECK(says(bs::compress<bs::codec::sign>(bad, view, nullptr), "rows x columns"));
  auto odd    = view;
  odd.payload = view.payload + 8;
  CHECK(says(bs::compress<bs::codec::sign>(good, odd, nullptr), "payload is not aligned"));
  odd       = view;
  odd.state = nullptr;
  CHECK(says(bs::compress<bs::codec::sign>(good, odd, nullptr), "state is null"));
  odd         = view;
  odd.payload = dense.data();
  CHECK(says(bs::compress<bs::codec::sign>(good, odd, nullptr), "overlaps"));
  odd           = view;
  odd.directory = nullptr;
  CHECK(says(bs::decompress(odd, {reinterpret_cast<bits_type*>(dense.data()), 64, 64, 64}, nullptr),
             "directory is null"));
  CHECK(tensor.payload().download().is_poison(0, 8192));
  cudaError_t const converted = bs::compress<bs::codec::sign>(good, odd, nullptr);
  CHECK(converted == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);  // nothing was left in the thread's error slot
}
