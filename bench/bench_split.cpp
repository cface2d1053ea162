// Calls that are split over devices and the host (docs/several-devices.md), beside each of them
// alone, in one interleaved run. "together" computes a share on the device and the rest on the host
// at the same time whatever the model says, cut by the times that each took alone: it shows what a
// split could gain.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "runtime/call/slices.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "runtime/verify/random_operand.h"

namespace rooftile {
namespace {

struct Contestant {
  std::string name;
  std::function<void()> call;
  bool alone = false;  // One device or the host.
  std::vector<double> ns = {};
  std::string note = {};
};

/// Operands and contexts of one problem.
class Split {
 public:
  Split(const Problem& p, const std::string& database) : p_(p), database_(database) {
    Random random(7);
    for (std::vector<float>* x : {&a_, &b_, &c_}) {
      x->resize(static_cast<std::size_t>(x == &a_ ? span_a(p) : x == &b_ ? span_b(p) : span_c(p)));
      for (float& value : *x) value = random.symmetric();
    }
    call_ = {.problem = p, .a = a_.data(), .b = b_.data(), .c = c_.data()};
  }

  std::vector<Contestant> contestants(bool together) {
    std::vector<Contestant> all = {alone("host", open("", TierChoice::kHost)),
                                   alone("host1", open("", TierChoice::kHost1))};
    std::vector<std::shared_ptr<Context>> devices;
    for (const DeviceProfile& device : enumerate_devices().devices) {
      auto context = open(device.device_uuid, TierChoice::kDevice);
      if (context->device_name().empty()) continue;  // It is not tuned.
      devices.push_back(context);
      all.push_back(alone(device.name.substr(0, device.name.find(" (")), std::move(context)));
    }
    all.push_back(answering("auto", open("", TierChoice::kAuto)));
    all.push_back(answering("split", open("", TierChoice::kAuto, Devices::kAll)));
    if (together && !devices.empty())
      for (const std::size_t host : {0, 1})
        all.push_back(both(all[2], all[host], devices[0], host));
    return all;
  }

 private:
  std::shared_ptr<Context> open(const std::string& device, TierChoice tier,
                                Devices devices = Devices::kOne) const {
    return std::make_shared<Context>(ContextOptions{.database = database_,
                                                    .device = device,
                                                    .tier = tier,
                                                    .log_untuned = LogUntuned::kNo,
                                                    .while_compiling = WhileCompiling::kWait,
                                                    .devices = devices});
  }
  Contestant alone(const std::string& name, std::shared_ptr<Context> context) const {
    return {.name = name, .call = [this, context] { context->gemm(call_); }, .alone = true};
  }
  /// Notes who answered.
  Contestant answering(const std::string& name, const std::shared_ptr<Context>& context) const {
    Contestant made = {.name = name, .call = [this, context] { context->gemm(call_); }};
    context->gemm(call_);
    const Answer answer = context->last_answer().value();
    const SplitExplanation split = context->explain({.problem = p_}).split;
    made.note = answer.shares.empty() ? std::string(rooftile::name(answer.tier)) : answer.shares;
    if (!split.reason.empty()) made.note += " (" + split.reason + ")";
    return made;
  }
  /// Device and host at the same time, cut by what each takes alone.
  Contestant both(const Contestant& on_device, const Contestant& on_host,
                  const std::shared_ptr<Context>& device, std::size_t host) const {
    const auto ns_of = [](const Contestant& one) {
      one.call();
      const double start = now_ns();
      one.call();
      return now_ns() - start;
    };
    const double device_ns = ns_of(on_device), host_ns = ns_of(on_host);
    const std::int64_t grain = cut_grain(CutAlong::kRows);
    const auto rows =
        std::clamp<std::int64_t>(std::llround(static_cast<double>(p_.m) * host_ns /
                                              (host_ns + device_ns) / static_cast<double>(grain)) *
                                     grain,
                                 std::min(grain, p_.m - 1), p_.m - 1);
    auto on = open("", host == 0 ? TierChoice::kHost : TierChoice::kHost1);
    return {
        .name = "together " + on_host.name,
        .call =
            [this, device, on, rows] {
              const std::jthread other(
                  [&] { device->gemm(range_of(call_, CutAlong::kRows, 0, rows)); });
              on->gemm(range_of(call_, CutAlong::kRows, rows, p_.m - rows));
            },
        .note = fmt::format("{} {}, {} {} rows", on_device.name, rows, on_host.name, p_.m - rows)};
  }

  const Problem p_;
  const std::string database_;
  std::vector<float> a_, b_, c_;
  GemmCall call_;
};

void compare(const Problem& p, const std::string& database, int rounds, bool together,
             std::ofstream& csv) {
  Split split(p, database);
  std::vector<Contestant> contestants = split.contestants(together);
  for (Contestant& one : contestants) one.call();
  for (int round = 0; round < rounds; ++round)
    for (Contestant& one : contestants) {
      const double start = now_ns();
      one.call();
      one.ns.push_back(now_ns() - start);
    }
  const Contestant* best = nullptr;
  for (const Contestant& one : contestants)
    if (one.alone && (best == nullptr || median(one.ns) < median(best->ns))) best = &one;
  for (const Contestant& one : contestants) {
    // Ratios are taken within each round, because machines change their speed between rounds.
    std::vector<double> ratios(one.ns.size());
    std::ranges::transform(best->ns, one.ns, ratios.begin(), std::divides());
    const double ns = median(one.ns);
    const Interval interval = median_interval(ratios);
    fmt::print("{:<22} {:<19} {:>9.2f} ms {:>7.2f} GFLOP/s {:>6.3f} ({:.3f} to {:.3f}) of {}  {}\n",
               to_string(p), one.name, ns * 1e-6, flops(p) / ns, median(ratios), interval.low,
               interval.high, best->name, one.note);
    if (csv.is_open())
      csv << fmt::format("{},{},{:.0f},{:.4f},{:.4f},{:.4f},{},\"{}\"\n", to_string(p), one.name,
                         ns, median(ratios), interval.low, interval.high, best->name, one.note);
  }
}

int run(int argc, char** argv) {
  CLI::App app("Calls split over devices and the host, beside each alone.");
  int rounds = 15;
  std::vector<std::string> sizes = {"2048x2048x2048"};
  std::string database, csv_file;
  bool together = false;
  app.add_option("--rounds", rounds, "Samples of each (15)");
  app.add_option("--sizes", sizes, "MxNxK (2048x2048x2048)");
  app.add_option("--db", database, "Tuning database");
  app.add_option("--csv", csv_file, "Also write CSV");
  app.add_flag("--together", together, "Also a device and the host at the same time in any case");
  CLI11_PARSE(app, argc, argv);
  std::ofstream csv;
  if (!csv_file.empty()) {
    csv.open(csv_file);
    csv << "problem,contestant,ns,speed,speed_low,speed_high,relative_to,note\n";
  }
  for (const std::string& size : sizes) {
    std::int64_t m = 0, n = 0, k = 0;
    if (std::sscanf(size.c_str(), "%ldx%ldx%ld", &m, &n, &k) != 3)
      fail(ErrorCode::kInvalidArgument, "--sizes is '{}'; it is MxNxK", size);
    compare(packed_problem(m, n, k), database, rounds, together, csv);
  }
  return 0;
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) try {
  return rooftile::run(argc, argv);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_split: {}\n", error.what());
  return 1;
}
