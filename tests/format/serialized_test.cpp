// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The serialised form: its bytes, the writer's errors, and each error of the reader by name.
#include <string>

#include <tests/support/catch.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/serialized_bytes.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

constexpr char const* payload_too_large =
    "compressed tensor: the payload is larger than the chunks; set payload_bytes to the bytes that "
    "they need";

using f = bs::tile_format<bs::bf16, 16, 16>;

/// 16 x 16 values, one of them 1.
bt::test_matrix<bs::bf16> one_value() {
  bt::test_matrix<bs::bf16> matrix{16, 16};
  matrix.set_zero();
  matrix.at(2, 1) = 0x3f80;
  return matrix;
}

bt::test_matrix<bs::bf16> random_matrix(std::uint64_t rows, std::uint64_t cols) {
  bt::test_matrix<bs::bf16> matrix{rows, cols, cols + 1, 1};
  matrix.assign(bt::random_values<std::uint16_t>(
      rows * cols, {bt::value_range::window3, 0.5, 16, 0.7}, rows + cols));
  return matrix;
}

/// What open_serialized says of changed bytes; with `sealed`, both checksums fit the change.
std::string opened(bt::byte_string bytes, bool sealed = true) {
  if (sealed) bt::reseal(bytes);
  bs::const_compressed_view<f> tensor;
  bs::status const status = bs::host::open_serialized<f>(bytes.data(), bytes.size(), tensor);
  if (!status.ok() && tensor.directory != nullptr) return "a view into rejected bytes";
  return status.text();
}

/// Overwrites a field of the header or of the directory.
template <class T>
bt::byte_string with(bt::byte_string bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
}

}  // namespace

TEST_CASE("serialized: the bytes are those that the format says", "[format][serialized]") {
  auto const matrix           = one_value();
  bt::byte_string const bytes = bt::serialize<f, bs::codec::sign>(matrix.view());
  std::vector<std::uint64_t> const expected{
      0x0a1a0a0d50534289u,  // "\x89BSP\r\n\x1a\n"
      0x0000020100000001u,  // version 1, bf16, codec sign
      0x0000001000000010u,  // 16 x 16 tiles
      16,
      16,
      3,                    // units of payload
      0xda2e36cf019de6beu,  // content checksum, computed apart
      0x9ca116c3ab06727bu,  // header checksum, computed apart
      0x0000000004000003u,  // flat/raw, 1 kept, 3 units at 0
      0,                    // padding
      0x0000000000003f80u,  // the value, mask word 0
      0x0000000000000002u,  // mask words 1 and 2
      0,
      0,
      0,
      0,
  };
  REQUIRE(bytes.size() == expected.size() * 8);
  CHECK(std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0);
  CHECK(opened(bytes, false) == "ok");
}

TEST_CASE("serialized: the checksum is what its description says", "[format][serialized]") {
  auto const values = bt::random_values<std::uint64_t>(100, {}, 1);
  auto const* bytes = reinterpret_cast<std::byte const*>(values.data());
  for (std::size_t const size : {0u, 8u, 16u, 800u}) {
    CHECK(bs::checksum(bytes, size) == bt::reference_checksum(bytes, size));
  }
}

TEST_CASE("serialized: the header and the values come back, for every element and codec",
          "[format][serialized]") {
  using formats = bs::type_list<bs::default_format<bs::bf16>,
                                bs::default_format<bs::fp16>,
                                bs::default_format<bs::fp32>,
                                bs::default_format<bs::fp8_e4m3>,
                                bs::default_format<bs::fp8_e5m2>>;
  bt::for_each_type(formats{}, [&](auto format) {
    using any                = decltype(format);
    using bits_type          = typename any::bits_type;
    std::uint64_t const rows = any::rows + 5, cols = any::cols + 7;
    bt::test_matrix<typename any::element> matrix{rows, cols, cols + 2};
    matrix.assign(
        bt::random_values<bits_type>(rows * cols, {bt::value_range::non_negative, 0.3}, 6));
    std::string fault;
    bt::for_each_type(bs::supported_codecs{}, [&](auto codec) {
      using codec_type            = decltype(codec);
      bt::byte_string const bytes = bt::serialize<any, codec_type>(matrix.view());
      bs::serialized_info info{};
      bs::status const read = bs::host::read_header(bytes.data(), bytes.size(), info);
      if (!read.ok()) fault = read.text();
      if (info.element != any::element::id || info.codec != codec_type::id ||
          info.tile_rows != any::rows || info.tile_cols != any::cols || info.rows != rows ||
          info.cols != cols || info.payload_bytes != bytes.size() - 64 - 32) {
        fault = "the header is wrong";
      }
      bt::test_matrix<typename any::element> restored{rows, cols, cols, 3};
      bs::status const done = bs::visit_format(
          info.element, info.tile_rows, info.tile_cols, [&](auto found) -> bs::status {
            if constexpr (std::is_same_v<decltype(found), any>) {
              bs::const_compressed_view<any> tensor;
              bs::status const status =
                  bs::host::open_serialized<any>(bytes.data(), bytes.size(), tensor);
              if (!status.ok()) return status;
              return bs::host::decompress<any>(tensor, restored.view());
            }
            return {bs::status_code::unsupported, "visit_format found another format"};
          });
      if (!done.ok()) fault = done.text();
      if (restored.mismatches(matrix) != 0) fault = "values differ";
      if (!restored.surroundings_intact()) fault = "decompress wrote outside";
    });
    INFO(bt::format_name<any>());
    CHECK(fault == "");
  });
}

TEST_CASE("serialized: empty matrices are a header alone", "[format][serialized]") {
  for (auto const& [rows, cols] : {std::pair{0u, 0u}, std::pair{0u, 9u}, std::pair{9u, 0u}}) {
    bt::byte_string const bytes = bt::serialize<f, bs::codec::compact>({nullptr, rows, cols, cols});
    CHECK(bytes.size() == 64);
    CHECK(opened(bytes, false) == "ok");
  }
}

TEST_CASE("serialized: the bytes do not depend on where the chunks lie", "[format][serialized]") {
  auto const matrix              = random_matrix(40, 50);
  bt::byte_string const expected = bt::serialize<f, bs::codec::compact>(matrix.view());
  bt::test_tensor<f> tensor{40, 50};
  std::uint64_t used_bytes = 0;
  REQUIRE(bs::host::compress<f, bs::codec::compact>(matrix.view(), tensor.view(), used_bytes).ok());
  // The same chunks in reverse order, with a gap of one unit before each.
  std::uint64_t const tiles = tensor.num_tiles();
  bt::test_tensor<f> scattered{40, 50, used_bytes + 16 * tiles};
  std::uint64_t next = 0;
  for (std::uint64_t i = tiles; i-- > 0;) {
    bs::tile_descriptor const tile = tensor.tile(i);
    if (tile.form() == bs::encoding::zero) {
      scattered.tile(i) = tile;
      continue;
    }
    ++next;
    std::memcpy(scattered.payload().data() + next * 16,
                tensor.payload().data() + tile.offset_units() * 16,
                tile.chunk_units() * std::size_t{16});
    scattered.tile(i) = {tile.form(), tile.kept(), tile.chunk_units(), next};
    next += tile.chunk_units();
  }
  bt::guarded_buffer target{expected.size(), 3};  // no alignment is asked of it
  std::uint64_t written_bytes = 0;
  REQUIRE(bs::host::serialize<f, bs::codec::compact>(bs::const_compressed_view<f>{scattered.view()},
                                                     target.data(),
                                                     target.bytes(),
                                                     written_bytes)
              .ok());
  CHECK(written_bytes == expected.size());
  CHECK(std::memcmp(target.data(), expected.data(), expected.size()) == 0);
  CHECK(target.guards_intact());
  CHECK(bs::host::validate<f, bs::codec::compact>(bs::const_compressed_view<f>{scattered.view()})
            .code() == bs::status_code::corrupt);  // chunks out of order
}

TEST_CASE("serialized: a target too small is refused with the need", "[format][serialized]") {
  auto const matrix              = random_matrix(18, 20);
  bt::byte_string const expected = bt::serialize<f, bs::codec::sign>(matrix.view());
  bt::test_tensor<f> tensor{18, 20};
  std::uint64_t bytes = 0;
  REQUIRE(bs::host::compress<f, bs::codec::sign>(matrix.view(), tensor.view(), bytes).ok());
  bs::const_compressed_view<f> const source{tensor.view()};
  bt::guarded_buffer target{expected.size()};
  std::uint64_t faults = 0;
  for (std::uint64_t size = 0; size < expected.size(); ++size) {
    bs::status const status =
        bs::host::serialize<f, bs::codec::sign>(source, target.data(), size, bytes);
    faults += status.code() != bs::status_code::capacity_exceeded || bytes != expected.size();
  }
  CHECK(faults == 0);
  CHECK(target.is_poison(0, target.bytes()));
  CHECK(target.guards_intact());
  CHECK(bs::host::serialize<f, bs::codec::sign>(source, nullptr, expected.size(), bytes).code() ==
        bs::status_code::capacity_exceeded);
  CHECK(bytes == expected.size());
  CHECK(bs::host::serialize<f, bs::codec::sign>(source, target.data(), target.bytes(), bytes).ok());
  CHECK(std::memcmp(target.data(), expected.data(), expected.size()) == 0);
}

TEST_CASE("serialized: the writer refuses lost tiles and chunks outside the payload",
          "[format][serialized]") {
  auto const matrix = random_matrix(16, 40);
  bt::test_tensor<f> tensor{16, 40};
  std::uint64_t bytes = 0;
  REQUIRE(bs::host::compress<f, bs::codec::sign>(matrix.view(), tensor.view(), bytes).ok());
  bt::guarded_buffer target{4096};
  bs::compressed_view<f> small = tensor.view();
  small.payload_bytes          = bytes - 1;
  bs::status status            = bs::host::serialize<f, bs::codec::sign>(
      bs::const_compressed_view<f>{small}, target.data(), target.bytes(), bytes);
  CHECK(std::string{status.text()} == "directory: a chunk lies outside the payload");
  small.payload_bytes = 0;
  CHECK(bs::host::compress<f, bs::codec::sign>(matrix.view(), small, bytes).code() ==
        bs::status_code::capacity_exceeded);
  status = bs::host::serialize<f, bs::codec::sign>(
      bs::const_compressed_view<f>{small}, target.data(), target.bytes(), bytes);
  CHECK(status.code() == bs::status_code::tile_lost);
  CHECK(bs::host::validate<f, bs::codec::sign>(bs::const_compressed_view<f>{small}).code() ==
        bs::status_code::tile_lost);
  small.directory = nullptr;
  status          = bs::host::serialize<f, bs::codec::sign>(
      bs::const_compressed_view<f>{small}, target.data(), target.bytes(), bytes);
  CHECK(std::string{status.text()} == "compressed tensor: the directory is null");
  CHECK(target.is_poison(0, target.bytes()));
}

TEST_CASE("serialized: the writer refuses descriptors that no encoder writes",
          "[format][serialized]") {
  bt::guarded_buffer target{4096};
  std::uint64_t const words[] = {5,                            // zero, but 5 units
                                 std::uint64_t{10} << 25 | 5,  // an encoding that is not assigned
                                 std::uint64_t{14} << 25 | 1};
  for (std::uint64_t const word : words) {
    bt::test_tensor<f> tensor{16, 16, 160};
    tensor.tile(0)              = bs::tile_descriptor{word};
    std::uint64_t bytes         = 0;
    bs::status const serialized = bs::host::serialize<f, bs::codec::sign>(
        bs::const_compressed_view<f>{tensor.view()}, target.data(), target.bytes(), bytes);
    CHECK(serialized.code() == bs::status_code::corrupt);
    CHECK(target.is_poison(0, target.bytes()));
  }
}

TEST_CASE(
    "serialized: the writer refuses a tensor of another codec, and a target inside the tensor",
    "[format][serialized]") {
  auto const matrix = random_matrix(16, 40);
  bt::test_tensor<f> tensor{16, 40};
  std::uint64_t bytes = 0, written = 0;
  REQUIRE(bs::host::compress<f, bs::codec::compact>(matrix.view(), tensor.view(), bytes).ok());
  bt::guarded_buffer target{4096};
  bs::const_compressed_view<f> const view{tensor.view()};
  CHECK(bs::host::serialize<f, bs::codec::fast>(view, target.data(), 4096, written).code() ==
        bs::status_code::corrupt);
  CHECK(target.is_poison(0, 4096));
  REQUIRE(bs::host::serialize<f, bs::codec::compact>(view, target.data(), 4096, written).ok());
  bs::status const inside = bs::host::serialize<f, bs::codec::compact>(
      view, tensor.payload().data(), tensor.payload().bytes(), written);
  CHECK((inside.code() == bs::status_code::invalid_argument ||
         inside.code() == bs::status_code::capacity_exceeded));
  CHECK(tensor.guards_intact());
}

TEST_CASE("serialized: an all-zero tensor needs no payload", "[format][serialized]") {
  bt::test_matrix<bs::bf16> const zeros = [] {
    bt::test_matrix<bs::bf16> matrix{16, 40};
    matrix.set_zero();
    return matrix;
  }();
  std::vector<bs::tile_descriptor> directory(bs::num_tiles<f>(16, 40));
  bs::compressed_view<f> const view{16, 40, directory.data(), nullptr, 0};
  std::uint64_t bytes = 1, written = 0;
  REQUIRE(bs::host::compress<f, bs::codec::sign>(zeros.view(), view, bytes).ok());
  CHECK(bytes == 0);
  CHECK(bs::host::validate<f, bs::codec::sign>(bs::const_compressed_view<f>{view}).ok());
  bt::guarded_buffer target{512};
  CHECK(bs::host::serialize<f, bs::codec::sign>(
            bs::const_compressed_view<f>{view}, target.data(), 512, written)
            .ok());
  CHECK(written == bs::serialized_bytes<f>(16, 40, 0));
}

TEST_CASE("serialized: each error of the header has its text", "[format][serialized]") {
  auto const matrix          = one_value();
  bt::byte_string const good = bt::serialize<f, bs::codec::sign>(matrix.view());
  std::string const prefix   = "serialized tensor: ";
  bs::const_compressed_view<f> tensor;
  CHECK(std::string{bs::host::open_serialized<f>(nullptr, 500, tensor).text()} ==
        prefix + "shorter than its 64-byte header");
  CHECK(opened({good.begin(), good.begin() + 63}) == prefix + "shorter than its 64-byte header");
  CHECK(opened(with(good, 0, '\x88')) ==
        prefix + "it does not start with bitsparse's magic number");
  CHECK(opened(with(good, 8, 2u)) == prefix + "a format version that this library does not read");
  CHECK(opened(with(good, 24, 17u), false) == prefix + "the header's checksum does not match");
  CHECK(opened(with(good, 56, 17u), false) == prefix + "the header's checksum does not match");
  CHECK(opened(with(good, 14, '\1')) == prefix + "the header's reserved bytes are not 0");
  for (char const element : {'\0', '\6', '\xff'}) {
    CHECK(opened(with(good, 12, element)) == prefix + "an element number that is not assigned");
  }
  for (char const codec : {'\0', '\4', '\xff'}) {
    CHECK(opened(with(good, 13, codec)) == prefix + "a codec number that is not assigned");
  }
  CHECK(opened(with(good, 40, bs::max_tensor_units + 1)) ==
        prefix + "a payload larger than offsets can address");
  CHECK(opened(with(good, 12, '\2')) == prefix + "it has another element or tile than asked for");
  CHECK(opened(with(good, 16, 17u)) == prefix + "it has another element or tile than asked for");
  CHECK(opened(with(good, 20, 17u)) == prefix + "it has another element or tile than asked for");
  for (std::uint64_t const size : {std::uint64_t{33}, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    CHECK(opened(with(good, 24, size)) == prefix + "its size is not the one its header gives");
    CHECK(opened(with(good, 32, size)) == prefix + "its size is not the one its header gives");
  }
  CHECK(opened(with(good, 40, std::uint64_t{2})) ==
        prefix + "its size is not the one its header gives");
  CHECK(opened(with(good, 100, '\1'), false) == prefix + "the content's checksum does not match");
  CHECK(opened(with(good, 72, '\1')) == prefix + "the directory's padding is not 0");

  bt::guarded_buffer misaligned{good.size(), 8};
  std::memcpy(misaligned.data(), good.data(), good.size());
  CHECK(std::string{bs::host::open_serialized<f>(misaligned.data(), good.size(), tensor).text()} ==
        prefix + "not aligned to 16 bytes");
  bs::serialized_info info{};
  CHECK(bs::host::read_header(misaligned.data(), good.size(), info).ok());  // no alignment asked
}

TEST_CASE("serialized: each error of directory and chunks has its text", "[format][serialized]") {
  auto const matrix          = one_value();
  bt::byte_string const good = bt::serialize<f, bs::codec::sign>(matrix.view());
  auto const described =
      [&](bs::encoding e, std::uint32_t kept, std::uint32_t units, std::uint64_t offset) {
        return opened(with(good, 64, bs::tile_descriptor{e, kept, units, offset}.word()));
      };
  using e = bs::encoding;
  CHECK(described(e::flat_raw, 1, 3, 0) == "ok");
  CHECK(described(e::flat_raw, 1, 3, 1) ==
        "directory: a chunk does not start where the one before it ends");
  CHECK(described(e::flat_raw, 1, 4, 0) == "directory: a chunk lies outside the payload");
  CHECK(described(e::zero, 0, 0, 0) == payload_too_large);
  CHECK(described(e::zero, 0, 3, 0) == "directory: a zero tile's descriptor is not 0");
  CHECK(described(e::zero, 2, 0, 0) == "directory: a zero tile's descriptor is not 0");
  CHECK(described(e::lost, 1, 0, 0) ==
        "directory: a lost tile cannot be serialised: its values are gone");
  CHECK(described(e{10}, 1, 3, 0) == "directory: an encoding that this element does not have");
  CHECK(described(e{14}, 1, 0, 0) == "directory: an encoding that this element does not have");
  CHECK(described(e::dense, 1, 3, 0) ==
        "chunk: a dense tile's size is not that of its valid values");
  CHECK(described(e::flat_raw, 2, 3, 0) ==
        "chunk: its mask does not have as many bits set as values kept");
  std::string const too_many   = "directory: a tile keeps more values than its encoding can";
  std::string const wrong_size = "chunk: its size is not the one its encoding and values need";
  CHECK(described(e::flat_raw, 257, 3, 0) == too_many);
  CHECK(described(e::flat_raw, 16384, 3, 0) == too_many);
  CHECK(described(e::elias_fano_sign, 57, 3, 0) == too_many);
  CHECK(described(e::flat_raw, 1, 2, 0) == wrong_size);
  CHECK(described(e::flat_sign, 1, 3, 0) ==
        "directory: not the encoding that the codec chooses for these values");
  CHECK(described(e::elias_fano_raw, 1, 3, 0) == wrong_size);
  CHECK(described(e::elias_fano_sign, 16, 3, 0) ==
        "chunk: its mask does not have as many bits set as values kept");

  std::string const not_canonical = "chunk: not the bytes that the codec writes for these values";
  CHECK(opened(with(good, 80 + 2, '\1')) == not_canonical);   // between value and mask
  CHECK(opened(with(good, 80 + 36, '\1')) == not_canonical);  // behind the mask
  CHECK(opened(with(good, 80 + 47, '\1')) == not_canonical);
  CHECK(opened(with(good, 80, std::uint16_t{0})) ==  // a kept value that is 0
        "directory: not the encoding that the codec chooses for these values");
  CHECK(opened(with(good, 80, std::uint16_t{0x8000})) == "ok");  // another value

  // The value's column is 1; of the 16 columns only one is left.
  bt::byte_string const compact = bt::serialize<f, bs::codec::compact>(matrix.view());
  REQUIRE(opened(compact) == "ok");
  CHECK(opened(with(good, 32, std::uint64_t{1})) == "chunk: it keeps a value outside the matrix");
  CHECK(opened(with(compact, 32, std::uint64_t{1})) ==
        "chunk: it keeps a value outside the matrix");
}

TEST_CASE("serialized: validate refuses a payload with room to spare", "[format][serialized]") {
  auto const matrix = random_matrix(20, 20);
  bt::test_tensor<f> tensor{20, 20};
  std::uint64_t bytes = 0;
  REQUIRE(bs::host::compress<f, bs::codec::sign>(matrix.view(), tensor.view(), bytes).ok());
  bs::compressed_view<f> exact = tensor.view();
  CHECK_FALSE(bs::host::validate<f, bs::codec::sign>(bs::const_compressed_view<f>{exact}).ok());
  exact.payload_bytes = bytes;
  CHECK(bs::host::validate<f, bs::codec::sign>(bs::const_compressed_view<f>{exact}).ok());
}
