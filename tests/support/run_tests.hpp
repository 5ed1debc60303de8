// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What the tests' main functions call, so that they need not compile Catch2.
#pragma once

namespace bitsparse_test {

/// Runs the tests that the command line chooses. Returns the exit status.
int run_tests(int argc, char* argv[]);

}  // namespace bitsparse_test
