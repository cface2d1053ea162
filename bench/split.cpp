// Calls that are split over devices and the host (docs/several-devices.md), beside each of them
// alone, in one interleaved run. "together" splits whatever the model says: it shows what the model
// has to predict.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/contests/program.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "runtime/verify/random_operand.h"

namespace rooftile::split_bench {
namespace {

struct Contestant {
  std::string name;
  std::function<void()> call;
  bool alone = false;  // One device or the host.
  std::vector<double> ns = {};
  std::function<std::string()> who = {};  // Who answered the last call.
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
    for (const DeviceProfile& device : enumerate_devices().devices) {
      auto context = open(device.device_uuid, TierChoice::kDevice);
      if (context->device_name().empty()) continue;  // It is not tuned.
      all.push_back(alone(device.name.substr(0, device.name.find(" (")), std::move(context)));
    }
    all.push_back(answering("auto", open("", TierChoice::kAuto)));
    all.push_back(answering("split", open("", TierChoice::kAuto, Devices::kAll)));
    if (together)
      all.push_back(answering("together", open("", TierChoice::kAuto, Devices::kAll, true)));
    return all;
  }

 private:
  std::shared_ptr<Context> open(const std::string& device, TierChoice tier,
                                Devices devices = Devices::kOne, bool always = false) const {
    return std::make_shared<Context>(ContextOptions{.database = database_,
                                                    .device = device,
                                                    .tier = tier,
                                                    .log_untuned = LogUntuned::kNo,
                                                    .while_compiling = WhileCompiling::kWait,
                                                    .devices = devices,
                                                    .split_always = always});
  }
  Contestant alone(const std::string& name, std::shared_ptr<Context> context) const {
    return {.name = name, .call = [this, context] { context->gemm(call_); }, .alone = true};
  }
  /// Says who answered the last call.
  Contestant answering(const std::string& name, const std::shared_ptr<Context>& context) const {
    return {.name = name,
            .call = [this, context] { context->gemm(call_); },
            .who =
                [this, context] {
                  const Answer answer = context->last_answer().value();
                  const SplitExplanation split = context->explain({.problem = p_}).split;
                  return (answer.shares.empty() ? std::string(rooftile::name(answer.tier))
                                                : answer.shares) +
                         (split.reason.empty() ? "" : " (" + split.reason + ")");
                }};
  }

  const Problem p_;
  const std::string database_;
  std::vector<float> a_, b_, c_;
  GemmCall call_;
};

void compare(const Problem& p, const std::string& database, int rounds, bool together,
             CsvFile& csv) {
  Split split(p, database);
  std::vector<Contestant> contestants = split.contestants(together);
  // Shares follow measured times, and kernels for new shares are compiled, in the first calls.
  for (int warm_up = 0; warm_up < 8; ++warm_up)
    for (Contestant& one : contestants)
      if (warm_up == 0 || !one.alone) one.call();
  for (int round = 0; round < rounds; ++round)
    for (Contestant& one : contestants) {
      const double start = now_ns();
      one.call();
      one.ns.push_back(now_ns() - start);
      if (round + 1 == rounds && one.who) one.note = one.who();
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
    csv.add(fmt::format("{},{},{:.0f},{:.4f},{:.4f},{:.4f},{},{}", to_string(p), one.name, ns,
                        median(ratios), interval.low, interval.high, best->name, quoted(one.note)));
  }
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  int rounds = 15;
  std::vector<std::string> sizes = {"2048x2048x2048"};
  std::string database, csv_file;
  bool together = false;
  app.add_option("--rounds", rounds, "Samples of each (15)");
  app.add_option("--sizes", sizes, "MxNxK (2048x2048x2048)");
  app.add_option("--db", database, "Tuning database");
  app.add_option("--csv", csv_file, "Also write CSV");
  app.add_flag("--together", together, "Also split where that is not predicted to be faster");
  app.parse(argc, argv);
  CsvFile csv(csv_file, "problem,contestant,ns,speed,speed_low,speed_high,relative_to,note");
  for (const std::string& size : sizes) {
    std::int64_t m = 0, n = 0, k = 0;
    if (std::sscanf(size.c_str(), "%ldx%ldx%ld", &m, &n, &k) != 3)
      fail(ErrorCode::kInvalidArgument, "--sizes is '{}'; it is MxNxK", size);
    compare(packed_problem(m, n, k), database, rounds, together, csv);
  }
}

}  // namespace rooftile::split_bench
