// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A compiler in C++14 mode is told what to do.
// expect: bitsparse needs C\+\+17: compile with -std=c\+\+17 or newer
// flags: -std=c++14
#include <bitsparse/config.hpp>

int main() {
  return 0;
}
