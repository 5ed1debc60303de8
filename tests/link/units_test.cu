// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The library's kernels in two translation units of a program, and in two shared objects that it loads,
/// of which one has codec sign and code for sm_90 alone, the other codec fast and PTX for sm_80.
///
/// Weak symbols are shared between objects that are loaded with RTLD_GLOBAL, or that a program is linked
/// with: the one that was loaded first gives its functions to all. Kernels and the static CUDA runtime
/// stay each object's own. So a function that takes a kernel, of a type that both objects have, must not
/// be shared: it would hand the one object's kernel to the other one's runtime, which does not know it.
#include <dlfcn.h>
#include <unistd.h>
#include <climits>
#include <string>
#include <thread>

#include <tests/link/unit_round_trip.cuh>
#include <tests/support/catch.hpp>

char const* second_unit_fault(std::uint64_t seed);

namespace {

std::string text(char const* fault) {
  return fault == nullptr ? "" : fault;
}

/// The folder of this program, where the build puts the shared objects.
std::string folder() {
  char path[PATH_MAX] = {};
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0) return ".";
  std::string const all = path;
  return all.substr(0, all.rfind('/'));
}

/// A shared object; it stays loaded, since a CUDA runtime does not like to go before the program does.
class plugin {
 public:
  plugin(std::string const& name, int flags) {
    void* const object = dlopen((folder() + "/" + name + ".so").c_str(), RTLD_NOW | flags);
    if (object == nullptr) {
      error_ = dlerror();
      return;
    }
    round_trip_   = reinterpret_cast<round_trip_type*>(dlsym(object, "plugin_round_trip"));
    code_version_ = reinterpret_cast<code_version_type*>(dlsym(object, "plugin_code_version"));
    if (round_trip_ == nullptr || code_version_ == nullptr) error_ = "a function is missing";
  }
  std::string const& error() const { return error_; }
  std::string fault(std::uint64_t seed) const { return text(round_trip_(seed)); }
  int code_version() const { return code_version_(); }

 private:
  using round_trip_type   = char const*(std::uint64_t);
  using code_version_type = int();

  std::string error_;
  round_trip_type* round_trip_     = nullptr;
  code_version_type* code_version_ = nullptr;
};

bool is_sm_90() {
  int major = 0, minor = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
         cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) == cudaSuccess &&
         major == 9 && minor == 0;
}

/// Both in turn, and at the same time.
void check_both(plugin const& first, plugin const& second) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    REQUIRE(first.fault(seed) == "");
    REQUIRE(second.fault(seed + 100) == "");
    REQUIRE(text(unit_round_trip<bitsparse::codec::sign>(seed + 200)) == "");
  }
  std::string first_fault, second_fault;
  std::thread one([&] {
    for (std::uint64_t seed = 0; seed < 20 && first_fault.empty(); ++seed)
      first_fault = first.fault(seed);
  });
  std::thread other([&] {
    for (std::uint64_t seed = 0; seed < 20 && second_fault.empty(); ++seed)
      second_fault = second.fault(seed);
  });
  one.join();
  other.join();
  CHECK(first_fault == "");
  CHECK(second_fault == "");
}

}  // namespace

TEST_CASE("link: two translation units launch the same kernels", "[link]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    REQUIRE(text(unit_round_trip<bitsparse::codec::sign>(seed)) == "");
    REQUIRE(text(second_unit_fault(seed)) == "");
  }
}

TEST_CASE("link: two shared objects of different architectures, loaded locally", "[link]") {
  plugin const ptx("link_plugin_ptx80", RTLD_LOCAL);
  REQUIRE(ptx.error() == "");
  CHECK(ptx.code_version() == 80);
  CHECK(ptx.fault(1) == "");
  if (!is_sm_90()) {
    WARN("skipped: the other object has code for sm_90 alone");
    return;
  }
  plugin const cubin("link_plugin_sm90", RTLD_LOCAL);
  REQUIRE(cubin.error() == "");
  CHECK(cubin.code_version() == 90);
  check_both(ptx, cubin);
}

TEST_CASE("link: two shared objects of different architectures, loaded globally", "[link]") {
  if (!is_sm_90()) {
    WARN("skipped: one object has code for sm_90 alone");
    return;
  }
  // Copies of the objects: one that is loaded is not loaded again.
  plugin const cubin("link_plugin_sm90_again", RTLD_GLOBAL);
  plugin const ptx("link_plugin_ptx80_again", RTLD_GLOBAL);
  REQUIRE(cubin.error() == "");
  REQUIRE(ptx.error() == "");
  INFO("code of " << cubin.code_version() << " and " << ptx.code_version());
  check_both(cubin, ptx);
}
