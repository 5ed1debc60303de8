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

peer_matrices& matrices_of(peer_data const& data) {
  std::string const name = "peers/" + data.name;
  return data.sample.empty()
             ? shared_case<peer_matrices>(name, data.rows, data.cols, data.cols, data.zeros)
             : shared_case<peer_matrices>(name, data.rows, data.cols, data.sample);
}

void run_row(benchmark::State& state,
             operation what,
             peer_data const& data,
             make_peer const& make) {
  try {
    // An error that an earlier row left behind would end the program in the shared code.
    require_peer(cudaDeviceSynchronize(), "before the row");
    auto& dense = matrices_of(data);
    run_peer(state, what, *make(dense, data), dense);
  } catch (std::exception const& error) {
    state.SkipWithError(error.what());
  }
}

}  // namespace

peer_data uniform_data(double zeros) {
  constexpr std::uint64_t rows = 16000, cols = 21504;
  return {shape_and_zeros(rows, cols, zeros), rows, cols, zeros};
}

void add_peer(std::string const& name, peer_data const& data, make_peer make) {
  for (operation const what : both) {
    add_row(std::string{name_of(what)} + "/peer:" + name + "/" + bitsparse::bf16::name + "/" +
                data.name,
            [=](benchmark::State& state) { run_row(state, what, data, make); });
  }
}

}  // namespace bench
