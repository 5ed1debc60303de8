// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What the device operations say of arguments that they refuse: docs/errors.md's sentences. All of
/// it is decided on the host before anything is launched, so no device is needed, and the addresses
/// here belong to no memory.
#include <cstdint>
#include <string>

#include <bitsparse/bitsparse.cuh>
#include <tests/support/catch.hpp>

namespace bs = bitsparse;

namespace {

using format = bs::default_format<bs::bf16>;

std::byte* at(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);
}

constexpr std::uint64_t rows = 64, cols = 256;

struct operands {
  bs::matrix_view<bs::bf16> dense{reinterpret_cast<std::uint16_t*>(at(0x100000)), rows, cols, cols};
  bs::device_tensor_view<format> tensor =
      bs::make_device_tensor<format>(at(0x200000), rows, cols, 0x8000);

  /// What both directions say.
  std::string refused() const {
    bs::status const compressed = bs::compress<bs::codec::fast>(dense, tensor, nullptr);
    bs::status const restored   = bs::decompress(tensor, dense, nullptr);
    if (compressed.code() != bs::status_code::invalid_argument) return "not refused";
    return std::string{compressed.text()} == restored.text() ? compressed.text() : "they disagree";
  }
};

}  // namespace

TEST_CASE("errors: a dense matrix that cannot be one", "[errors]") {
  operands o;
  o.dense.data = nullptr;
  CHECK(o.refused() == "dense matrix: the data pointer is null");
  o.dense.data = reinterpret_cast<std::uint16_t*>(at(0x100001));
  CHECK(o.refused() ==
        "dense matrix: the data pointer is not aligned to its element; it has to be the address of "
        "a value");
  o          = {};
  o.dense.ld = cols - 1;
  CHECK(o.refused() ==
        "dense matrix: the leading dimension is less than the number of columns; it counts values "
        "from row to row");
  o            = {};
  o.dense.rows = rows - 1;
  CHECK(o.refused() == "compressed tensor: its rows x columns are not the dense matrix's");
  o            = {};
  o.dense.data = reinterpret_cast<std::uint16_t*>(at(0x200100));
  CHECK(o.refused() == "dense matrix: it overlaps the compressed tensor's memory");
}

TEST_CASE("errors: a tensor whose memory is missing or crooked", "[errors]") {
  operands o;
  o.tensor = {rows, cols};
  CHECK(o.refused() ==
        "compressed tensor: the state is null; make_device_tensor() says where it lies");
  o.tensor = bs::make_device_tensor<format>(at(0x200010), rows, cols, 0x8000);
  CHECK(o.refused() ==
        "compressed tensor: the state is not aligned to 64 bytes, as memory of cudaMalloc is");
  o                = {};
  o.tensor.payload = o.tensor.payload + 8;
  CHECK(o.refused() ==
        "compressed tensor: the payload is not aligned to 16 bytes; round its address up");
  o                  = {};
  o.tensor.directory = nullptr;
  CHECK(o.refused() == "compressed tensor: the directory is null");
}

TEST_CASE("errors: operands of an op that do not fit each other", "[errors]") {
  operands const o;
  bs::compress_operands<bs::bf16, bs::bf16> forward;
  forward.source  = o.dense;
  forward.emitted = o.dense;
  forward.emitted.data += 8;
  CHECK(
      std::string{bs::compress<bs::codec::fast, bs::relu>(forward, o.tensor, nullptr).text()}.find(
          "dense operands: two of them overlap") == 0);
  bs::decompress_operands<bs::bf16> backward;
  backward.first      = o.dense;
  backward.first.rows = 20;
  CHECK(std::string{bs::decompress<bs::identity>(o.tensor, backward, nullptr).text()} ==
        "row range: it ends within a tile; take a multiple of Format::rows or all that is left");
  backward.first_row = 5;
  CHECK(std::string{bs::decompress<bs::identity>(o.tensor, backward, nullptr).text()} ==
        "row range: it does not begin with a tile: first_row % Format::rows is not 0");
}

TEST_CASE("errors: a tensor without an arena, a slot without memory", "[errors]") {
  operands const o;
  bs::arena_tensor_view<format> tensor;
  CHECK(std::string{bs::compress<bs::codec::fast>(o.dense, tensor, nullptr).text()} ==
        "arena tensor: the state is null or not aligned to 64 bytes");
  tensor.state = reinterpret_cast<bs::arena_tensor_state*>(at(0x300000));
  CHECK(std::string{bs::release(tensor, nullptr).text()} ==
        "arena tensor: its arena has no memory; make the tensor from an arena's view");
  CHECK(std::string{bs::report(o.tensor, nullptr, nullptr).text()} ==
        "report: the slot is null or not aligned to 64 bytes");
}

TEST_CASE("errors: a status is a cudaError_t for a user's own check macro", "[errors]") {
  operands o;
  o.dense.data            = nullptr;
  cudaError_t const error = bs::compress<bs::codec::fast>(o.dense, o.tensor, nullptr);
  CHECK(error == cudaErrorInvalidValue);
}
