// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Catch2's implementation, where it is a single header.
#define CATCH_CONFIG_RUNNER
#include <tests/support/catch.hpp>
#include <tests/support/run_tests.hpp>

int bitsparse_test::run_tests(int argc, char* argv[]) {
  return Catch::Session().run(argc, argv);
}
