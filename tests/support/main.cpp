// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The tests' main function.
#define CATCH_CONFIG_RUNNER
#include <tests/support/catch.hpp>

int main(int argc, char* argv[]) {
  return Catch::Session().run(argc, argv);
}
