// Weights that are packed once, for decode and prefill. One interleaved run measures the rate of
// the kernel alone, of a waited call on device buffers with packed weights, of several such calls
// in flight (as in a model's layers), and of the call without packed weights.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "bench/contests/program.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "runtime/abi/resident_arguments.h"
#include "runtime/dispatch/context.h"
#include "runtime/resident/operand_sources.h"
#include "runtime/resident/packing.h"
#include "runtime/verify/random_operand.h"

namespace rooftile::packed_bench {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

struct Contender {
  std::string name;
  std::function<double()> ns;  // Makes one run and returns its time.
  std::vector<double> samples = {};
};

class Weights {
 public:
  Weights(Context& context, const Problem& p) : resident_(context.resident()), p_(p) {
    Random random(7);
    const auto memory = [&](std::int64_t elements) {
      std::vector<float> values(static_cast<std::size_t>(elements));
      for (float& value : values) value = random.symmetric();
      auto there = resident_->create_memory(values.size() * sizeof(float));
      resident_->upload(there, 0, values.data(), values.size() * sizeof(float));
      return there;
    };
    a_ = memory(span_a(p));
    b_ = memory(span_b(p));
    c_ = memory(span_c(p));
    work_.call.problem = p;
    work_.call.a = {&a_->buffer, 0};
    work_.call.b = {&b_->buffer, 0};
    work_.call.c = {&c_->buffer, 0};
    work_.uses = {a_, b_, c_};
    work_.workspace = workspace_bound({}, 0, resident_->device()->profile());
    PackRequest request;
    request.call.problem = p;
    StoredOperand stored;
    stored.call = work_.call;
    stored.uses = work_.uses;
    packed_ = pack_resident(*resident_, request, stored, context.id());
    with_packed_ = work_;
    with_packed_.call.b = {};
    with_packed_.call.packed = packed_;
    kernel_steps_ = resident_->product(with_packed_, AwaitCertificate::kYes);
    nothing_ = resident_->device()->create_buffer(4096, BufferUse::kDevice);
    workspace_ =
        resident_->create_memory(std::max<std::uint64_t>(kernel_steps_.workspace_bytes(), 4096));
    made_ = kernel_steps_.steps({&workspace_->buffer, 0}, nothing_);
    list_ = resident_->device()->record(made_.steps, Timing::kPerStep);
  }

  std::vector<Contender> contenders() {
    return {{"kernel alone", [this] { return kernel_ns(); }},
            {"packed", [this] { return call_ns(with_packed_); }},
            {"packed, in flight", [this] { return call_in_flight_ns(with_packed_); }},
            {"unpacked", [this] { return call_ns(work_); }}};
  }
  std::string kernel(bool packed) {
    return short_name(resident_->product(packed ? with_packed_ : work_, AwaitCertificate::kYes)
                          .kernel()
                          ->variant());
  }
  std::uint64_t packed_bytes() const { return device_bytes(*packed_); }

 private:
  /// Time of the GEMM steps on the device's clock.
  double kernel_ns() {
    const RunResult result = resident_->device()->run(list_, kForever);
    double ns = 0;
    for (std::size_t i = 0; i < made_.gemms; ++i) ns += result.step_ns[made_.first_gemm + i];
    return ns;
  }
  double call_ns(const ResidentWork& work) {
    const double start = now_ns();
    resident_->gemm(work)->wait(kForever);
    return now_ns() - start;
  }

  /// Time of one of several calls that are submitted before the first one is waited for.
  double call_in_flight_ns(const ResidentWork& work) {
    constexpr int kCalls = 8;
    const double start = now_ns();
    for (int i = 1; i < kCalls; ++i) resident_->gemm(work);
    resident_->gemm(work)->wait(kForever);
    return (now_ns() - start) / kCalls;
  }

  const std::shared_ptr<Resident> resident_;
  const Problem p_;
  std::shared_ptr<DeviceMemory> a_, b_, c_, workspace_;
  ResidentWork work_, with_packed_;
  std::shared_ptr<const PackedOperand> packed_;
  ResidentProduct kernel_steps_;
  Buffer nothing_;
  ProductSteps made_;
  CommandList list_;
};

void compare(Context& context, const Problem& p, int rounds) {
  Weights weights(context, p);
  std::vector<Contender> contenders = weights.contenders();
  for (Contender& contender : contenders) contender.ns();  // Warms up.
  for (int round = 0; round < rounds; ++round)
    for (Contender& contender : contenders) contender.samples.push_back(contender.ns());
  for (const Contender& contender : contenders) {
    // Ratios are taken within each round, because machines change their speed between rounds.
    std::vector<double> ratios(contender.samples.size());
    std::ranges::transform(contenders.front().samples, contender.samples, ratios.begin(),
                           std::divides());
    const double ns = median(contender.samples);
    const Interval interval = median_interval(ratios);
    fmt::print(
        "{:<22} {:<17} {:>8.1f} us {:>7.2f} GFLOP/s {:>6.3f} ({:.3f} to {:.3f}) of the kernel's "
        "rate  {}\n",
        to_string(p), contender.name, ns * 1e-3, flops(p) / ns, median(ratios), interval.low,
        interval.high, weights.kernel(contender.name != "unpacked"));
  }
  fmt::print("{:<22} packed weights take {:.1f} MiB of the device's memory\n", "",
             static_cast<double>(weights.packed_bytes()) / (1 << 20));
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer("Calls with packed weights take turns with the kernel alone and with unpacked calls.");
  int rounds = 30;
  std::int64_t n = 4096, k = 4096;
  std::vector<std::int64_t> rows = {1, 512};
  std::string database, device;
  app.add_option("--rounds", rounds, "Samples of each (30)");
  app.add_option("--rows", rows, "Values of m (1 512)");
  app.add_option("--n", n, "(4096)");
  app.add_option("--k", k, "(4096)");
  app.add_option("--db", database, "Tuning database");
  app.add_option("--device", device, "Part of a device's name or UUID");
  app.parse(argc, argv);
  Context context({.database = database, .device = device});
  for (const std::int64_t m : rows)
    for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes})
      compare(context, packed_problem(m, n, k, Transpose::kNo, trans_b), rounds);
}

}  // namespace rooftile::packed_bench
