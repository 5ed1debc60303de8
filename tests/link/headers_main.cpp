// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The main function of a program made of one translation unit per header: that it links and runs
/// says that every header compiles alone.
int main() {
  return 0;
}
