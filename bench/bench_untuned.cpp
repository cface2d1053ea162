// The kernels of an untuned device (generator/priors/untuned_kernel.h) for one problem, timed in
// turns beside the one that it gets for large float32 products.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "bench/contests/kernel_turn.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "generator/priors/untuned_kernel.h"
#include "runtime/device/device.h"
#include "runtime/kernel/staging.h"

namespace rooftile {
namespace {

constexpr std::int64_t kLargeSide = 4096;
constexpr double kRotatedBytes = 64e6;

struct Contestant {
  Prior kernel;
  std::vector<double> ns = {};  ///< Of kernel and packing.
  std::string failure = {};
};

std::vector<Contestant> contestants_for(const DeviceProfile& device, const Problem& p) {
  const Variant large = untuned_kernel(device, packed_problem(kLargeSide, kLargeSide, kLargeSide));
  std::vector<Contestant> all = {{.kernel = {large, "the kernel for large problems"}}};
  for (const Prior& kernel : untuned_kernels(device, device.limits, p, own_buffers(p)))
    if (kernel.variant != large) all.push_back({.kernel = kernel});
  return all;
}

void take_turn(Measurer& measurer, const Problem& p, Contestant& contestant) try {
  contestant.ns.push_back(turn_ns(measurer, contestant.kernel.variant, p, kRotatedBytes));
} catch (const Error& error) {
  contestant.failure = error.what();
}

void print(const std::vector<Contestant>& all, const Variant& chosen) {
  const double base_ns = all.front().ns.empty() ? 0 : median(all.front().ns);
  for (const Contestant& contestant : all) {
    const std::string name = short_name(contestant.kernel.variant);
    if (contestant.ns.empty()) {
      fmt::print("- {}: {}\n", name, contestant.failure);
      continue;
    }
    const double ns = median(contestant.ns);
    fmt::print("{} {}: {:.1f} us{} ({})\n", contestant.kernel.variant == chosen ? "*" : "-", name,
               ns * 1e-3, base_ns > 0 ? fmt::format(", {:.3f}", ns / base_ns) : "",
               contestant.kernel.source);
  }
}

int run(const Problem& wanted, int rounds) {
  const Enumeration found = enumerate_devices();
  if (found.devices.empty()) fail(ErrorCode::kDevice, "no Vulkan device: {}", found.note);
  const DeviceProfile& device = found.devices.front();
  const Problem p = staged_problem(wanted);
  fmt::print("{}: {}; median times of {} rounds, over that of the first kernel; * is chosen\n",
             device.name, to_string(p), rounds);
  Measurer measurer(Device::open(device));
  std::vector<Contestant> all = contestants_for(device, p);
  for (int round = 0; round < rounds; ++round)
    for (Contestant& contestant : all)
      if (contestant.failure.empty()) take_turn(measurer, p, contestant);
  print(all, untuned_kernel(device, p));
  return 0;
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) {
  using namespace rooftile;
  CLI::App app("Times the kernels of an untuned device for one problem");
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::string type = "f32";
  bool trans_b = false;
  int rounds = 9;
  app.add_option("--m", m)->required();
  app.add_option("--n", n)->required();
  app.add_option("--k", k)->required();
  app.add_option("--batch", batch);
  app.add_option("--type", type, "Types, as of `rooftile tune`");
  app.add_flag("--trans-b", trans_b);
  app.add_option("--rounds", rounds);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(packed_problem(m, n, k, Transpose::kNo, trans_b ? Transpose::kYes : Transpose::kNo,
                              batch, parse_types(type)),
               rounds);
  } catch (const Error& error) {
    fmt::print(stderr, "bench_untuned: {}\n", error.what());
    return 1;
  }
}
