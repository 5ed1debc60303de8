// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Compression ratios: on slices of a trained network's activations (tests/data) and on rectified
/// normal numbers. A ratio is dense bytes over chunks plus descriptors.
#include <fstream>
#include <string>

#include <tests/support/catch.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

using f = bs::default_format<bs::bf16>;

struct measured {
  std::string fault;
  double density;
  double ratio;
};

template <class Codec>
measured measure(bt::test_matrix<bs::bf16> const& matrix) {
  auto const report  = bt::round_trip<f, Codec>(matrix);
  std::uint64_t kept = 0;
  for (std::uint64_t r = 0; r < matrix.rows(); ++r) {
    for (std::uint64_t c = 0; c < matrix.cols(); ++c) kept += matrix.at(r, c) != 0;
  }
  double const values = static_cast<double>(matrix.rows() * matrix.cols());
  std::uint64_t const bytes =
      report.chunk_bytes + bs::directory_bytes<f>(matrix.rows(), matrix.cols());
  return {
      report.fault, static_cast<double>(kept) / values, 2 * values / static_cast<double>(bytes)};
}

/// Raw bf16, row-major, 3072 columns.
bt::test_matrix<bs::bf16> load_slice(std::string const& layer) {
  bt::test_matrix<bs::bf16> matrix{128, 3072};
  std::string const path = "tests/data/relu_gpt_layer" + layer + "_128x3072_bf16.bin";
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(matrix.data()),
            static_cast<std::streamsize>(matrix.buffer().bytes()));
  INFO(path << ", read from the source directory");
  REQUIRE(file.gcount() == static_cast<std::streamsize>(matrix.buffer().bytes()));
  REQUIRE(file.get() == std::char_traits<char>::eof());
  return matrix;
}

/// 1 bit of mask per value, 15 per kept value, 1/64 of descriptor, over 16.
double ideal_sign_ratio(double density) {
  return 16 / (1 + 15 * density + 1.0 / 64);
}

}  // namespace

TEST_CASE("compression_ratio: real activations take what the format promises", "[format][ratio]") {
  struct expectation {
    char const* layer;
    double compact;  // measured, less 1 %
  };
  for (expectation const& expected : {expectation{"00", 5.47},
                                      expectation{"03", 16.67},
                                      expectation{"07", 7.51},
                                      expectation{"11", 3.89}}) {
    INFO("layer " << expected.layer);
    auto const matrix   = load_slice(expected.layer);
    measured const sign = measure<bs::codec::sign>(matrix);
    CHECK(sign.fault == "");
    CHECK(sign.ratio / ideal_sign_ratio(sign.density) == Approx(1).margin(0.015));
    measured const compact = measure<bs::codec::compact>(matrix);
    CHECK(compact.fault == "");
    CHECK(compact.ratio >= expected.compact);
    CHECK(measure<bs::codec::fast>(matrix).fault == "");
  }
}

TEST_CASE("compression_ratio: normal numbers, half of them 0, shrink 2.38 times with compact",
          "[format][ratio]") {
  bt::test_matrix<bs::bf16> matrix{512, 3072};
  bt::normal_numbers normal{2026};
  bt::random_bits random{50};
  for (std::uint64_t r = 0; r < matrix.rows(); ++r) {
    for (std::uint64_t c = 0; c < matrix.cols(); ++c) {
      double const magnitude = std::fabs(normal.next());
      matrix.at(r, c) =
          random.next() % 2 == 0 ? bt::bf16_bits(static_cast<float>(magnitude)) : std::uint16_t{0};
    }
  }
  measured const compact = measure<bs::codec::compact>(matrix);
  CHECK(compact.fault == "");
  CHECK(compact.density == Approx(0.5).margin(0.002));
  CHECK(compact.ratio >= 2.38);
}
