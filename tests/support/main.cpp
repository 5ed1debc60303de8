// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The tests' main function.
#include <tests/support/run_tests.hpp>

int main(int argc, char* argv[]) {
  return bitsparse_test::run_tests(argc, argv);
}
