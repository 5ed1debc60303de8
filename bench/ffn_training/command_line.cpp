// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The command line of ffn_training.
#include <bench/ffn_training/command_line.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>

namespace ffn {
namespace {

std::vector<std::string> split(std::string const& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t const end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool to_number(std::string const& text, double low, double high, double& number) {
  char* end = nullptr;
  number    = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && number >= low && number <= high;
}
template <class Integer>
bool to_integer(std::string const& text, Integer low, Integer high, Integer& number) {
  double value = 0;
  if (!to_number(text, static_cast<double>(low), static_cast<double>(high), value)) return false;
  number = static_cast<Integer>(value);
  return std::floor(value) == value;
}

bool set_preset(std::string const& name, options& parsed) {
  struct preset {
    char const* name;
    ffn_shape shape;
  };
  constexpr auto act     = activation::relu_squared;
  preset const presets[] = {{"paper", {8, 4096, 21504, 16000, 4, act}},
                            {"nanogpt", {12, 768, 3072, 65536, 4, act}},
                            {"nemotron", {2, 4096, 21504, 8192, 2, act}},
                            {"check", {4, 512, 2048, 1024, 2, act}},
                            {"language", {6, 512, 2048, 4096, 2, act}}};
  for (auto const& candidate : presets) {
    if (name != candidate.name) continue;
    auto const chosen = parsed.shape.act;
    parsed.preset     = name;
    parsed.shape      = candidate.shape;
    parsed.shape.act  = chosen;
    return true;
  }
  return false;
}

using setter = std::function<bool(std::string const&, options&)>;

bool add_layer_counts(std::string const& text, options& parsed) {
  for (auto const& part : split(text)) {
    int count = 0;
    if (!to_integer(part, 0, 1000, count)) return false;
    parsed.compressed_layers.push_back(count);
  }
  return !parsed.compressed_layers.empty();
}

/// The options that take a value, but for the preset, which comes before all others.
std::map<std::string, setter> const& setters() {
  constexpr std::uint64_t many                   = std::uint64_t{1} << 40;
  using text                                     = std::string const&;
  static std::map<std::string, setter> const all = {
      {"--layers", [](text t, options& o) { return to_integer(t, 1, 1000, o.shape.layers); }},
      {"--width",
       [](text t, options& o) { return to_integer(t, std::uint64_t{1}, many, o.shape.width); }},
      {"--hidden",
       [](text t, options& o) { return to_integer(t, std::uint64_t{1}, many, o.shape.hidden); }},
      {"--tokens",
       [](text t, options& o) { return to_integer(t, std::uint64_t{1}, many, o.shape.tokens); }},
      {"--ranges", [](text t, options& o) { return to_integer(t, 1, 1000, o.shape.ranges); }},
      {"--activation",
       [](text t, options& o) {
         o.shape.act = t == "relu" ? activation::relu : activation::relu_squared;
         return t == "relu" || t == "relu2";
       }},
      {"--element",
       [](text t, options& o) {
         o.element = t == "e4m3" ? element_choice::e4m3 : element_choice::bf16;
         return t == "e4m3" || t == "bf16";
       }},
      {"--zeros", [](text t, options& o) { return to_number(t, 0.001, 0.999, o.zeros); }},
      {"--modes",
       [](text t, options& o) {
         o.modes = split(t);
         return !o.modes.empty();
       }},
      {"--compressed-layers", add_layer_counts},
      {"--slabs",
       [](text t, options& o) {
         return to_integer(t, std::uint64_t{1}, std::uint64_t{1} << 29, o.slabs);
       }},
      {"--headroom", [](text t, options& o) { return to_number(t, 1, 10, o.headroom); }},
      {"--rounds", [](text t, options& o) { return to_integer(t, 2, 100000, o.rounds); }},
      {"--warm-up", [](text t, options& o) { return to_integer(t, 0, 1000, o.warm_up); }},
      {"--graph",
       [](text t, options& o) {
         o.times_eager = t != "only";
         o.times_graph = t != "off";
         return t == "both" || t == "only" || t == "off";
       }},
      {"--sgd", [](text t, options& o) { return to_number(t, 0, 1e6, o.learning_rate); }},
      {"--gradients",
       [](text t, options& o) {
         o.gradients_in_fp32 = t == "fp32";
         return t == "fp32" || t == "bf16";
       }},
      {"--steps", [](text t, options& o) { return to_integer(t, 1, 100000, o.steps); }},
      {"--train",
       [](text t, options& o) {
         o.what      = task::train;
         o.text_file = t;
         return !t.empty();
       }},
      {"--json",
       [](text t, options& o) {
         o.json_file = t;
         return !t.empty();
       }},
  };
  return all;
}

bool set_flag(std::string const& name, options& parsed) {
  if (name == "--help") {
    parsed.what = task::help;
  } else if (name == "--check") {
    parsed.what = task::check;
  } else if (name == "--soak") {
    parsed.what = task::soak;
  } else if (name == "--no-products") {
    parsed.multiplies = false;
  } else if (name == "--no-verify") {
    parsed.verify = false;
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string parse_command_line(std::vector<std::string> const& arguments, options& parsed) {
  auto const has = [&](char const* name) {
    return std::find(arguments.begin(), arguments.end(), name) != arguments.end();
  };
  bool const is_small = has("--check") || has("--soak");
  set_preset(is_small ? "check" : has("--train") ? "language" : "paper", parsed);
  if (is_small) parsed.zeros = 0.8;  // so that the input's constant part changes the density
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == "--preset" && !set_preset(arguments[i + 1], parsed)) {
      return "--preset is paper, nanogpt, nemotron, check or language";
    }
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string const& name = arguments[i];
    if (set_flag(name, parsed)) continue;
    auto const known = setters().find(name);
    if (known == setters().end() && name != "--preset") return name + " is no option; see --help";
    if (++i == arguments.size()) return name + " takes a value";
    if (name != "--preset" && !known->second(arguments[i], parsed)) {
      return name + " cannot be " + arguments[i];
    }
  }
  for (int const count : parsed.compressed_layers) {
    if (count > parsed.shape.layers) return "--compressed-layers is more than there are layers";
  }
  if (parsed.element == element_choice::e4m3) {
    if (parsed.what == task::train) return "--train is of bf16 alone";
    if (parsed.learning_rate > 0)
      return "--sgd is of bf16 alone: no other weights are kept in e4m3";
  }
  if (parsed.steps == 0) parsed.steps = parsed.what == task::soak ? 30000 : 300;
  return parsed.shape.problem();
}

char const* help_text() {
  return R"(ffn_training: one training step of L layers x <- x + W2 act(W1 rmsnorm(x)) on cuBLASLt,
where only the way differs in which the activations are kept for the backward pass.

  ffn_training [options]             measure all modes, interleaved, against the dense one
  ffn_training --check [options]     gradients equal to the dense mode's, bit for bit; small
  ffn_training --soak [options]      many replayed steps of changing density over arenas that spill;
                                     every 100th compared with dense, memory watched; small
  ffn_training --train FILE          a byte-level language model, trained densely and compressed

  --preset paper|nanogpt|nemotron|check|language
                                     shapes, changed by --layers --width --hidden --tokens --ranges
  --activation relu2|relu
  --element bf16|e4m3                of the multiplications' operands (default bf16)
  --zeros SHARE                      of the activations that are 0 (default 0.5)
  --modes LIST                       of dense, dense_again, dense_epilogue, dense_epilogue_bits
                                     (relu), recomputation, fast, sign, compact (default: all; e4m3
                                     has no dense_epilogue)
  --compressed-layers LIST           compress so many of the first layers, one mode each
  --slabs N                          of the arena (default: what one step needed)
  --headroom FACTOR                  on what one step needed (default 1.02)
  --rounds N, --warm-up N            timed and untimed rounds of all modes (default 20, 2)
  --graph both|only|off              time the step as a CUDA graph, too; only; or not
  --sgd RATE                         update the weights in the step (default: gradients are dropped)
  --gradients bf16|fp32              element of the weight gradients (default bf16)
  --no-products                      time the step with copies of the products in place of them, so
                                     that the modes differ by their element-wise work alone
  --no-verify                        skip the comparison of all modes' gradients before measuring
  --steps N                          of --train (default 300), of --soak (default 30000)
  --json FILE
)";
}

}  // namespace ffn
