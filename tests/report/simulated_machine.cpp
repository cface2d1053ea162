#include "tests/report/simulated_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "generator/emit.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/roofline.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

constexpr std::size_t kKernels = 60, kRanked = 3, kPortfolio = 4;
constexpr double kNoise = 0.2;  // Standard deviation of the logarithm of a kernel's time.

DeviceProfile profile_of(const Simulation& simulation) {
  DeviceProfile profile;
  profile.name = simulation.name;
  profile.device_uuid = simulation.uuid;
  profile.vendor_id = 0x10de;
  profile.device_id = 7;
  profile.driver_id = 3;
  profile.driver_version = simulation.driver_version;
  profile.driver_name = "simulated";
  profile.driver_info = fmt::format("driver {}", simulation.driver_version);
  profile.pipeline_cache_uuid = "000102030405060708090a0b0c0d0e0f";
  profile.kind = DeviceKind::kDiscrete;
  profile.device_memory_bytes = std::uint64_t{8} << 30;
  profile.limits.max_workgroup_invocations = 1024;
  profile.limits.max_workgroup_size = {1024, 1024, 64};
  profile.limits.shared_memory_bytes = 49152;
  profile.limits.max_storage_buffer_range_bytes = 1u << 30;
  return profile;
}

/// Sizes that are neither square nor powers of two; every third problem is in another class.
std::vector<Problem> problems_of(std::size_t count) {
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    problems.push_back(packed_problem(65 + 37 * at % 1511, 129 + 53 * at % 1223, 47 + 61 * at % 977,
                                      Transpose::kNo,
                                      i % 3 == 2 ? Transpose::kYes : Transpose::kNo));
  }
  return problems;
}

HostRates host_rates(double gflops, double gbps) {
  HostRates rates{.call_ns = 300, .gbps = gbps};
  for (const double size : {8.0, 64.0, 512.0, 4096.0})
    rates.gemm.push_back({size, size, size, gflops * size / (size + 100)});
  return rates;
}

class Machine {
 public:
  Machine(Store& store, const Simulation& simulation)
      : store_(store),
        simulation_(simulation),
        profile_(profile_of(simulation)),
        rates_(simulated_rates(simulation.speed)),
        random_(7) {
    if (simulation_.problems == 0) return;
    std::vector<Variant> space = legal_variants(profile_.limits);
    std::ranges::shuffle(space, random_);
    variants_ = {fast_kernel(profile_), fallback_variant()};
    for (const Variant& v : space)
      if (variants_.size() < kKernels && !illegal_reason(v, profile_.limits, Signature{}))
        variants_.push_back(v);
  }

  RowId write() {
    device_ = store_.device_id(profile_);
    for (std::size_t i = 0; i < simulation_.calibrations; ++i) calibrate();
    if (simulation_.problems == 0) return device_;
    Store::Transaction transaction(store_);
    run_ = store_.begin_run(device_, kGeneratorVersion, R"({"strategy":"simulated"})");
    for (const Problem& problem : problems_of(simulation_.problems)) tune(problem);
    store_.end_run(run_, "finished");
    for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes}) compare(trans_b);
    transaction.commit();
    return device_;
  }

 private:
  struct Timed {
    RowId candidate;
    double ns;
  };

  double noise(double deviation) { return std::exp(deviation * normal_(random_)); }

  void calibrate() {
    std::vector<Figure> figures = to_figures({.device = rates_,
                                              .host = host_rates(150, 25),
                                              .host1 = host_rates(90, 14),
                                              .host64 = host_rates(70, 14)});
    for (Figure& figure : figures) {
      if (figure.unit == "bytes" || figure.unit == "flag") continue;
      figure.value *= noise(0.02);
      figure.mad = 0.01 * figure.value;
      figure.count = 7;
    }
    store_.add_calibration(device_, figures);
  }

  RowId candidate(const Variant& v, const Problem& problem) {
    const Signature signature = signature_of(problem);
    RowId& id = candidates_[to_string(signature) + to_string(v)];
    if (id != 0) return id;
    id = candidate_row(store_, v, signature);
    store_.put_certificate(device_, id, kGeneratorVersion, true, "");
    return id;
  }

  bool legal(const Variant& v, const Problem& problem) const {
    const Problem staged = staged_problem(problem);
    return !illegal_reason(v, profile_.limits, staged, own_buffers(staged));
  }

  /// No kernel is faster than its bound.
  double time(const Variant& v, const Problem& problem) {
    return std::max(analytical_ns(problem, v, rates_) * noise(kNoise),
                    1.05 * roofline(problem, v, rates_).ns());
  }

  void tune(const Problem& problem) {
    const RowId row = store_.problem_id(problem);
    std::vector<Timed> timed;
    for (const Variant& v : variants_)
      if (legal(v, problem)) timed.push_back({candidate(v, problem), time(v, problem)});
    const std::vector<Timed> baselines = {timed[0], timed[1]};
    for (std::size_t i = 0; i < simulation_.samples; ++i) {
      const Timed& kernel = timed[i % timed.size()];
      const double ns = kernel.ns * noise(0.01);
      store_.add_sample({.run = run_,
                         .candidate = kernel.candidate,
                         .problem = row,
                         .kernel = {ns, 0.01 * ns, 0.98 * ns, 1.02 * ns, 7},
                         .compile_ns = 5e6});
    }
    std::ranges::sort(timed, {}, &Timed::ns);
    timed.resize(kRanked);
    for (const Timed& baseline : baselines)
      if (std::ranges::find(timed, baseline.candidate, &Timed::candidate) == timed.end())
        timed.push_back(baseline);
    std::vector<WinnerRecord>& ranked = lists_[to_string(bucket_of(problem))];
    for (const Timed& kernel : timed)
      ranked.push_back({.candidate = kernel.candidate, .problem = row, .kernel_ns = kernel.ns});
    for (std::size_t i = 0; i < ranked.size(); ++i) ranked[i].rank = static_cast<int>(i);
    store_.put_winners(device_, to_string(bucket_of(problem)), ranked);
    const bool is_default = timed.front().candidate == baselines[0].candidate;
    store_.put_outcome(device_,
                       {.problem = row,
                        .candidate = timed.front().candidate,
                        .verdict = is_default ? OutcomeVerdict::kDefault : OutcomeVerdict::kFaster,
                        .confidence = is_default ? std::nullopt : std::optional(0.97),
                        .tried = variants_.size(),
                        .default_candidate = baselines[0].candidate,
                        .default_ns = baselines[0].ns});
    if (simulation_.counters > 0) count(timed.front(), problem, row);
  }

  void count(const Timed& winner, const Problem& problem, RowId row) {
    CounterSetRecord record{.passes = 3};
    for (std::size_t i = 0; i < simulation_.counters; ++i)
      record.counters.push_back({.name = i == 0   ? "VRAM read size"
                                         : i == 1 ? "VRAM write size"
                                                  : fmt::format("<b>Counter</b> {}", i),
                                 .category = "Memory",
                                 .description = "what it counts",
                                 .unit = i < 2 ? "bytes" : "percent",
                                 .scope = "command",
                                 .value = i < 2 ? 3.0 * minimum_bytes(problem) : 12.5});
    store_.put_counters(device_, winner.candidate, row, record);
  }

  void compare(Transpose trans_b) {
    const auto sized = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      return packed_problem(m, n, k, Transpose::kNo, trans_b);
    };
    const Problem typical = sized(500, 400, 300);
    std::ranges::sort(variants_, {},
                      [&](const Variant& v) { return analytical_ns(typical, v, rates_); });
    std::vector<PortfolioRecord> records;
    for (const Variant& v : variants_) {
      if (records.size() == kPortfolio) break;
      PortfolioRecord record{.candidate = candidate(v, sized(64, 64, 64)),
                             .place = static_cast<int>(records.size())};
      for (const std::int64_t m : {8, 100, 900})
        for (const std::int64_t n : {8, 100, 900})
          for (const std::int64_t k : {16, 300}) {
            const Problem p = sized(m, n, k);
            record.times.push_back({.m = m, .n = n, .k = k, .batch = 1, .ns = time(v, p)});
          }
      records.push_back(std::move(record));
    }
    store_.put_portfolio(device_, to_string(signature_of(sized(1, 1, 1))), records, std::nullopt);
  }

  Store& store_;
  const Simulation simulation_;
  const DeviceProfile profile_;
  const DeviceRates rates_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::vector<Variant> variants_;
  RowId device_ = 0, run_ = 0;
  std::map<std::string, RowId> candidates_;
  std::map<std::string, std::vector<WinnerRecord>> lists_;  // by bucket
};

}  // namespace

DeviceRates simulated_rates(double speed) {
  return {.submit_ns = 20e3,
          .dispatch_ns = 2e3,
          .workgroup_ns = 20 / speed,
          .barrier_ns = 3,
          .upload_gbps = 12,
          .download_gbps = 11,
          .fma_gflops = 1000 * speed,
          .shared_gbps = 1500 * speed,
          .buffer_loads_per_ns = 12 * speed,
          .buffer_vector_loads_per_ns = 8 * speed,
          .texel_loads_per_ns = 15 * speed,
          .texel_vector_loads_per_ns = 9 * speed,
          .levels = {{.name = "cache", .gbps = 400 * speed, .footprint_bytes = 4e6},
                     {.name = "cache2", .gbps = 200 * speed, .footprint_bytes = 8e6},
                     {.name = "memory", .gbps = 100 * speed}},
          .compute_units = 24};
}

RowId simulate(Store& store, const Simulation& simulation) {
  return Machine(store, simulation).write();
}

}  // namespace rooftile
