// Several problems tuned in turns, with a shell script as the fake worker: each kernel has a time,
// each certificate passes, and the requests are kept. The scheduler's clock counts requests.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "generator/priors/default_kernel.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/roofline.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/scratch.h"
#include "tests/tuner/scripted_worker.h"
#include "tuner/problem_tuner.h"
#include "tuner/search/strategy.h"
#include "tuner/search_finals.h"
#include "tuner/stored/ranked_list.h"
#include "tuner/tune_problems.h"

namespace rooftile {

constexpr std::size_t kNotStopped = 1'000'000;
constexpr std::size_t kSmallSpace = 6;  // Tried to its end, so that the finals have all the time.
constexpr std::size_t kPlenty = 500;    // Requests for the finals of all problems and some batches.
constexpr double kDefaultNs = 1e6, kOtherNs = 0.9e6;  // Far from the bounds of the problems.

struct Asked {
  std::string operation;  // "time", "certify" or "count"
  Variant variant;
  std::int64_t m = 0;  // of the problem; 0: not "time"
};

class TuneProblemsTest : public ::testing::Test {
 protected:
  TuneProblemsTest() {
    profile_.device_uuid = "00";
    set_small_workgroups(profile_.limits);
    profile_.limits.shared_memory_bytes = 32768;
    device_ = store_.device_id(profile_);
    std::map<Family, int> of_family;
    for (const Variant& variant : legal_variants(profile_.limits))
      if (++of_family[variant.family] % 40 == 1 && variant.reduction != Reduction::kAtomic)
        space_.push_back(variant);
    for (const std::int64_t m : {33, 160, 70, 7})
      problems_.push_back({.problem = packed_problem(m, 90, 65)});
  }

  /// The kernel that a program takes for a problem before anything is tuned.
  Variant default_kernel(const Problem& p) const {
    return rooftile::default_kernel(profile_, staged_problem(p));
  }
  std::vector<Variant> legal_here(const Problem& p) const {
    const Problem staged = staged_problem(p);
    std::vector<Variant> legal;
    const auto add = [&](const Variant& v) {
      if (!illegal_reason(v, profile_.limits, staged, own_buffers(staged)) &&
          std::ranges::find(legal, v) == legal.end())
        legal.push_back(v);
    };
    for (const Variant& v : space_) add(v);
    add(default_kernel(p));
    add(fallback_variant());
    return legal;
  }
  /// The kernel that the model takes for a problem.
  Variant model_choice(const Problem& p) const {
    std::vector<Variant> legal = legal_here(p);
    return *std::ranges::min_element(legal, {},
                                     [&](const Variant& v) { return analytical_ns(p, v, rates_); });
  }

  /// Default kernels of the problems take kDefaultNs. The others take kOtherNs before the first
  /// certificate of their problem's class, and other_later_ns in so many measurements afterwards.
  std::filesystem::path worker(double other_later_ns, std::size_t later = kNotStopped) {
    const auto text = [](double ns) {
      return to_json(TimeReply{
                         .hash = "x", .kernel_ns = {ns, ns}, .compile_ns = 1e6, .estimate_ns = ns})
          .dump();
    };
    const auto nap = [](double s) { return s > 0 ? fmt::format("sleep {}", s) : ":"; };
    const std::filesystem::path file = folder_ / "worker";
    WorkerScript script(file);
    script << fmt::format(
        R"(first='{}' left=0
other=$first
while read -r request; do
  echo "$request" >>'{}'
  {}
  case "$request" in
    *certify*) {}; [ -e '{}' ] && other='{}' left={}; echo '{}' ;;
)",
        text(kOtherNs), requests_.string(), nap(time_s_), nap(certificate_s_), settled_.string(),
        text(other_later_ns), later, to_json(Certificate{.passed = true, .cases = 1}).dump());
    for (const TuneProblem& wanted : problems_)
      script << "    *'\"m\":" << wanted.problem.m << ",'*'"
             << to_string(default_kernel(wanted.problem)) << "'*) echo '" << text(kDefaultNs)
             << "' ;;\n";
    script << "    *) echo \"$other\"; left=$((left - 1)); [ $left = 0 ] && other=$first ;;\n"
           << "  esac\ndone\n";
    return file;
  }

  std::vector<Asked> asked() const {
    std::vector<Asked> list;
    std::ifstream file(requests_);
    static const std::regex kM("\"m\":([0-9]+),");
    for (std::string line; std::getline(file, line);) {
      const Json request = Json::parse(line).value();
      Asked& one = list.emplace_back(Asked{.operation = request.at("operation"), .variant = {}});
      const Json& body = request.contains("request") ? request.at("request") : request;
      one.variant = parse_variant(body.at("variant").get<std::string>());
      std::smatch found;
      if (one.operation == "time" && std::regex_search(line, found, kM))
        one.m = std::stoll(found[1]);
    }
    return list;
  }
  std::size_t requests() const { return line_count(requests_); }
  /// The candidates of a problem in the order of their first measurement.
  std::vector<Variant> measured(std::int64_t m) const {
    std::vector<Variant> order;
    for (const Asked& one : asked())
      if (one.m == m && std::ranges::find(order, one.variant) == order.end())
        order.push_back(one.variant);
    return order;
  }

  RunnerOptions new_run() {
    return {.device = device_, .run = store_.begin_run(device_, kGeneratorVersion, "{}")};
  }
  ProblemTunerContext context(CandidateRunner& runner, const TuneOptions& options,
                              std::function<bool()> over) {
    return {.store = store_,
            .runner = runner,
            .device = profile_,
            .rates = rates_,
            .space = space_,
            .options = options,
            .over = std::move(over),
            .elapsed_s = [] { return 0.0; },
            .progress = [](const TuneProgress&) {}};
  }

  /// A run whose steps the test takes itself.
  struct SingleRun {
    SingleRun(TuneProblemsTest& test, const std::filesystem::path& program)
        : worker(program, {{"operation", "open"}}),
          runner(test.store_, worker, budget, test.stop_, test.new_run()),
          context(test.context(runner, options, [] { return false; })) {}
    WorkerProcess worker;
    const Budget budget{600};
    CandidateRunner runner;
    const TuneOptions options = {};
    const ProblemTunerContext context;
  };

  /// A run on a GPU, beside which compilers work that this script plays.
  struct GpuRun {
    GpuRun(TuneProblemsTest& test, const std::filesystem::path& compiler, int compilers,
           const std::filesystem::path& program)
        : pool(workers(compiler, compilers), budget),
          worker(program, {{"operation", "open"}}),
          runner(test.store_, worker, budget, test.stop_, with_compilers(test.new_run(), pool)) {}
    static std::vector<std::unique_ptr<WorkerProcess>> workers(const std::filesystem::path& program,
                                                               int count) {
      std::vector<std::unique_ptr<WorkerProcess>> all;
      for (int i = 0; i < count; ++i)
        all.push_back(std::make_unique<WorkerProcess>(program, Json{{"operation", "open"}}));
      return all;
    }
    static RunnerOptions with_compilers(RunnerOptions options, CompilerPool& pool) {
      options.compilers = &pool;
      options.shared_processors = false;
      return options;
    }
    const Budget budget{600};
    CompilerPool pool;
    WorkerProcess worker;
    CandidateRunner runner;
    const TuneOptions options = {};
  };

  /// Tunes with time for so many requests, and stops after some.
  std::vector<TuneResult> tune(std::size_t time, std::size_t stop_after = kNotStopped,
                               double other_later_ns = kOtherNs) {
    stop_ = false;
    WorkerProcess worker(this->worker(other_later_ns), {{"operation", "open"}});
    const Budget budget(600);
    CandidateRunner runner(store_, worker, budget, stop_, new_run());
    const std::size_t before = requests();
    const auto used = [&] { return requests() - before; };
    const auto over = [&] {
      if (used() >= stop_after) stop_ = true;
      return stop_.load();
    };
    const TuneOptions options = {.problems = problems_};
    std::vector<TuneResult> results;
    tune_problems(
        context(runner, options, over), device_, problems_,
        {.left_s =
             [&] { return kRequestS * (static_cast<double>(time) - static_cast<double>(used())); },
         .finished = [&](const TuneResult& result) { results.push_back(result); }});
    return results;
  }
  /// Sizes m of the problems with a kernel that a program may run.
  std::set<std::int64_t> stored() const {
    std::set<std::int64_t> found;
    for (const TunedKernel& kernel : store_.tuned_kernels(device_, kGeneratorVersion))
      found.insert(kernel.problem.m);
    return found;
  }
  std::optional<OutcomeRecord> outcome(std::size_t problem) {
    return store_.outcome(device_, store_.problem_id(problems_[problem].problem));
  }

  double time_s_ = 0, certificate_s_ = 0;    // Real time that the worker takes for a request.
  static constexpr double kRequestS = 0.05;  // Of the scheduler's clock, for each request.
  ScratchFolder folder_;
  std::filesystem::path requests_ = folder_ / "requests", settled_ = folder_ / "settled";
  Store store_{folder_ / "rooftile.db"};
  DeviceProfile profile_;
  RowId device_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<Variant> space_;
  std::vector<TuneProblem> problems_;
  DeviceRates rates_ = [] {
    DeviceRates rates;
    rates.submit_ns = 1e4;
    rates.fma_gflops = 50;
    rates.levels = {{.name = "memory", .gbps = 1000}};  // So that several families are plausible.
    return rates;
  }();
};

}  // namespace rooftile
