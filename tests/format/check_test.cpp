// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Wrong arguments: each is refused with a text that names it, before anything is written.
#include <string>

#include <tests/support/catch.hpp>
#include <tests/support/round_trip.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

using f = bs::tile_format<bs::bf16, 16, 16>;

/// Two operands that fit together, to be spoilt one field at a time.
struct operands {
  bt::test_matrix<bs::bf16> matrix{20, 20, 24};
  bt::test_tensor<f> storage{20, 20};
  bs::matrix_view<bs::bf16> dense = matrix.view();
  bs::compressed_view<f> tensor   = storage.view();

  operands() { matrix.set_zero(), matrix.at(3, 3) = 5; }

  /// The code and text that both directions give; a fault of the check itself comes as a text.
  std::string refused() {
    std::uint64_t needed_bytes = 99;
    bs::status const compressed =
        bs::host::compress<f, bs::codec::sign>(dense, tensor, needed_bytes);
    bs::status const decompressed = bs::host::decompress<f>(tensor, dense);
    if (compressed.code() != decompressed.code() ||
        std::string{compressed.text()} != decompressed.text()) {
      return "compress and decompress disagree";
    }
    if (needed_bytes != 0) return "needed_bytes is not 0";
    if (!storage.guards_intact() || !matrix.surroundings_intact() ||
        !storage.directory().is_poison(0, storage.directory().bytes()) ||
        !storage.payload().is_poison(0, storage.payload().bytes())) {
      return "something was written";
    }
    bool const invalid = compressed.code() == bs::status_code::invalid_argument;
    return (invalid ? "invalid: " : "other: ") + std::string{compressed.text()};
  }
};

}  // namespace

TEST_CASE("check: a leading dimension below the columns is refused", "[format]") {
  operands o;
  o.dense.ld = 19;
  CHECK(
      o.refused() ==
      "invalid: dense matrix: the leading dimension is less than the number of columns; it counts "
      "values from row to row");
}

TEST_CASE("check: a null or misaligned dense pointer is refused", "[format]") {
  operands o;
  o.dense.data = nullptr;
  CHECK(o.refused() == "invalid: dense matrix: the data pointer is null");
  o.dense.data = reinterpret_cast<std::uint16_t*>(o.matrix.buffer().data() + 1);
  CHECK(o.refused() ==
        "invalid: dense matrix: the data pointer is not aligned to its element; it has to be the "
        "address of a value");
}

TEST_CASE("check: a matrix larger than the address space is refused", "[format]") {
  operands o;
  o.dense.ld = std::uint64_t{1} << 60;
  CHECK(o.refused() ==
        "invalid: dense matrix: rows x leading dimension is more than the address space");
  o.dense.ld = ~std::uint64_t{0};
  CHECK(o.refused() ==
        "invalid: dense matrix: rows x leading dimension is more than the address space");
}

TEST_CASE("check: shapes that differ are refused", "[format]") {
  operands o;
  o.tensor.rows = 21;
  CHECK(o.refused() == "invalid: compressed tensor: its rows x columns are not the dense matrix's");
  o.tensor.rows = 20;
  o.tensor.cols = 19;
  CHECK(o.refused() == "invalid: compressed tensor: its rows x columns are not the dense matrix's");
}

TEST_CASE("check: more dense bytes than offsets address are unsupported", "[format]") {
  operands o;
  o.dense.rows = o.tensor.rows = (std::uint64_t{1} << 36) + 1;
  CHECK(o.refused() ==
        "other: compressed tensor: its dense bytes are more than the 512 GiB that offsets address; "
        "split it by rows");
}

TEST_CASE("check: a null or misaligned directory is refused", "[format]") {
  operands o;
  o.tensor.directory = nullptr;
  CHECK(o.refused() == "invalid: compressed tensor: the directory is null");
  o.tensor.directory = reinterpret_cast<bs::tile_descriptor*>(o.storage.directory().data() + 4);
  CHECK(o.refused() == "invalid: compressed tensor: the directory is not aligned to 8 bytes");
}

TEST_CASE("check: a null payload with a size, or a misaligned one, is refused", "[format]") {
  operands o;
  o.tensor.payload = nullptr;
  CHECK(o.refused() == "invalid: compressed tensor: the payload is null but its size is not 0");
  o.tensor.payload = o.storage.payload().data() + 8;
  CHECK(o.refused() ==
        "invalid: compressed tensor: the payload is not aligned to 16 bytes; round its address up");
}

TEST_CASE("check: overlapping memory is refused", "[format]") {
  operands o;
  o.tensor.directory = reinterpret_cast<bs::tile_descriptor*>(o.storage.payload().data() +
                                                              o.storage.payload().bytes() - 8);
  CHECK(o.refused() == "invalid: compressed tensor: the directory and the payload overlap");
  o.tensor.directory = reinterpret_cast<bs::tile_descriptor*>(o.storage.payload().data() - 8);
  CHECK(o.refused() == "invalid: compressed tensor: the directory and the payload overlap");
  o.tensor     = o.storage.view();
  o.dense.data = reinterpret_cast<std::uint16_t*>(o.storage.payload().data() +
                                                  o.storage.payload().bytes() - 2);
  CHECK(o.refused() == "invalid: dense matrix: it overlaps the compressed tensor's memory");
  o.dense.data = reinterpret_cast<std::uint16_t*>(o.storage.directory().data() +
                                                  o.storage.directory().bytes() - 2);
  CHECK(o.refused() == "invalid: dense matrix: it overlaps the compressed tensor's memory");
}

TEST_CASE("check: memory that only touches does not overlap", "[format]") {
  unsigned char bytes[4];
  CHECK_FALSE(bs::detail::overlaps(bytes, 2, bytes + 2, 2));
  CHECK_FALSE(bs::detail::overlaps(bytes + 2, 2, bytes, 2));
  CHECK(bs::detail::overlaps(bytes, 3, bytes + 2, 2));
  CHECK(bs::detail::overlaps(bytes + 2, 2, bytes, 3));
  CHECK(bs::detail::overlaps(bytes, 4, bytes + 1, 1));
  CHECK_FALSE(bs::detail::overlaps(bytes, 0, bytes, 4));
}

TEST_CASE("check: an empty matrix needs no memory at all", "[format]") {
  for (auto const& [rows, cols] : {std::pair{0u, 0u}, std::pair{0u, 7u}, std::pair{7u, 0u}}) {
    bs::compressed_view<f> const tensor{rows, cols, nullptr, nullptr, 0};
    std::uint64_t needed_bytes = 1;
    CHECK(bs::host::compress<f, bs::codec::sign>({nullptr, rows, cols, cols}, tensor, needed_bytes)
              .ok());
    CHECK(needed_bytes == 0);
    CHECK(bs::host::decompress<f>(tensor, {nullptr, rows, cols, cols}).ok());
  }
}
