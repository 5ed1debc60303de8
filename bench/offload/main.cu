// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What offloading compressed activations costs and brings: offload [--json FILE] [--part NAME]
/// [--rounds N]; the parts are link, transfer, product and step.
#include <bench/offload/common.hpp>

namespace ob = offload_bench;

namespace {

struct part {
  char const* name;
  ob::json_object (*measure)(ob::options const&, int&);
};
constexpr part parts[] = {{"link", ob::measure_link},
                          {"transfer", ob::measure_transfer},
                          {"product", ob::measure_product},
                          {"step", ob::measure_step}};

bool parse(int count, char** words, ob::options& chosen) {
  for (int i = 1; i < count; ++i) {
    std::string const word = words[i];
    if (i + 1 == count) return false;
    std::string const value = words[++i];
    if (word == "--json") {
      chosen.json_file = value;
    } else if (word == "--part") {
      chosen.part = value;
    } else if (word == "--rounds") {
      chosen.rounds = std::atoi(value.c_str());
    } else {
      return false;
    }
  }
  bool is_known = chosen.part.empty();
  for (part const& one : parts) is_known = is_known || chosen.part == one.name;
  return is_known && chosen.rounds > 0;
}

}  // namespace

int main(int count, char** words) {
  ob::options chosen;
  if (!parse(count, words, chosen)) {
    std::fprintf(stderr,
                 "usage: offload [--json FILE] [--part link|transfer|product|step] [--rounds N]\n");
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "offload: there is no CUDA device\n");
    return 77;
  }
  cudaDeviceProp properties{};
  ob::require_cuda(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  int failures = 0;
  ob::json_object result;
  result.add("device", properties.name).add("rounds", chosen.rounds);
  for (part const& one : parts) {
    if (chosen.part.empty() || chosen.part == one.name) {
      result.add(one.name, one.measure(chosen, failures));
    }
  }
  result.add("failures", failures);
  if (!result.write(chosen.json_file)) {
    std::fprintf(stderr, "%s: cannot be written\n", chosen.json_file.c_str());
    return 1;
  }
  if (failures != 0) std::fprintf(stderr, "FAILED: %d results are wrong\n", failures);
  return failures == 0 ? 0 : 1;
}
