// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The rows of a peer.
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>

#include <bench/peers/peer.cuh>
#include <bench/support/device_case.cuh>
#include <bench/support/roofline.cuh>

namespace bench {
namespace {

constexpr std::uint64_t num_rows = 16000, num_cols = 21504;

void run_peer(benchmark::State& state, operation what, peer& subject, peer_matrices& dense) {
  auto const compress   = [&](int i) { subject.compress(i); };
  auto const decompress = [&](int i) { subject.decompress(i); };
  for (int i = 0; i < dense.count(); ++i) {  // warms up, and gives decompress what it reads
    compress(i);
    decompress(i);
  }
  require_peer(cudaDeviceSynchronize(), "warm-up");
  double const copy_rate = dense.copy_bytes_per_ms();
  double const ms        = what == operation::compress ? measure(state, dense, compress)
                                                       : measure(state, dense, decompress);
  dense.forget_restored();
  for (int i = 0; i < dense.count(); ++i) decompress(i);
  double const stored_bytes = subject.stored_bytes();
  require_peer(cudaDeviceSynchronize(), "decompress");
  if (!dense.is_exact()) throw peer_failure("not exact");
  set_counters(state,
               ms,
               useful_bytes(dense.dense_bytes(), 16, dense.density(), true),
               dense.dense_bytes(),
               stored_bytes,
               copy_rate);
}

void run_row(benchmark::State& state, operation what, double zeros, make_peer const& make) {
  try {
    // An error that an earlier row left behind would end the program in the shared code.
    require_peer(cudaDeviceSynchronize(), "before the row");
    auto& dense = shared_case<peer_matrices>(
        "peers/" + shape_and_zeros(num_rows, num_cols, zeros), num_rows, num_cols, num_cols, zeros);
    run_peer(state, what, *make(dense, zeros), dense);
  } catch (std::exception const& error) {
    state.SkipWithError(error.what());
  }
}

}  // namespace

void add_peer(std::string const& name, double zeros, make_peer make) {
  for (operation const what : both) {
    add_row(std::string{name_of(what)} + "/peer:" + name + "/" + bitsparse::bf16::name + "/" +
                shape_and_zeros(num_rows, num_cols, zeros),
            [=](benchmark::State& state) { run_row(state, what, zeros, make); });
  }
}

}  // namespace bench
