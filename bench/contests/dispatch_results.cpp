#include "bench/contests/dispatch_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "core/error.h"
#include "core/time_text.h"
#include "runtime/model/portfolio.h"

namespace rooftile {
namespace {

struct Contest {
  const char* name;
  double DispatchResult::*regret;
  Decision DispatchResult::*decision;
};
constexpr Contest kContests[] = {
    {"auto", &DispatchResult::regret, &DispatchResult::usual},
    {"auto, first calls", &DispatchResult::first_regret, &DispatchResult::usual},
    {"host on one thread", &DispatchResult::alone_regret, &DispatchResult::alone},
    {"resident operands, host on one thread", &DispatchResult::resident_regret,
     &DispatchResult::resident}};

std::string text(const std::optional<double>& ns) { return ns ? time_text(*ns) : "-"; }
std::string cell(const std::optional<double>& ns) { return ns ? fmt::format("{:.0f}", *ns) : ""; }

void print_one(const Contest& contest, const std::vector<DispatchResult>& results) {
  std::vector<double> regrets;
  int devices = 0;
  for (const DispatchResult& r : results) {
    regrets.push_back(r.*contest.regret);
    devices += (r.*contest.decision).tier == Tier::kDevice ? 1 : 0;
  }
  const Regret regret = summarize_regret(regrets);
  fmt::print(
      "{}: chosen over best tier: mean {:.3f}, worst decile {:.3f}, worst {:.3f}; device chosen "
      "for {} of {} problems\n",
      contest.name, 1 + regret.mean, 1 + regret.worst_decile, 1 + regret.worst, devices,
      regret.problems);
}

}  // namespace

void DispatchResults::add(DispatchResult result) {
  const DispatchResult& r = results_.emplace_back(std::move(result));
  fmt::print(
      "{:<20} device {:>9}  host {:>9}  host1 {:>9}  {:<6} {:+6.1f} %, {} calls {:+6.1f} %  "
      "alone {:<6} {:+6.1f} %  resident: device {:>9}  host1 {:>9}  {:<6} {:+6.1f} %\n",
      to_string(r.problem), text(r.device_ns), text(r.host_ns), text(r.host1_ns),
      name(r.usual.tier), 100 * r.first_regret, r.calls, 100 * r.regret, name(r.alone.tier),
      100 * r.alone_regret, text(r.resident_device_ns), text(r.resident_host1_ns),
      name(r.resident.tier), 100 * r.resident_regret);
  std::fflush(stdout);
}

void DispatchResults::print() const {
  for (const Contest& contest : kContests) print_one(contest, results_);
}

void DispatchResults::write(const std::filesystem::path& csv) const {
  std::ofstream file(csv);
  file << "m,n,k,trans_a,trans_b,device_ns,host_ns,host1_ns,predicted_device_ns,predicted_host_ns,"
          "predicted_host1_ns,chosen,score,first_regret,calls,regret,one_thread_chosen,"
          "one_thread_score,one_thread_regret,resident_device_ns,resident_host1_ns,"
          "predicted_resident_device_ns,predicted_resident_host1_ns,resident_chosen,resident_score,"
          "resident_regret\n";
  for (const DispatchResult& r : results_)
    file << fmt::format(
        "{},{},{},{},{},{},{},{},{:.0f},{:.0f},{:.0f},{},{:.4g},{:.4f},{},{:.4f},{},{:.4g},{:.4f},"
        "{},{},{:.0f},{:.0f},{},{:.4g},{:.4f}\n",
        r.problem.m, r.problem.n, r.problem.k, letter(r.problem.trans_a), letter(r.problem.trans_b),
        cell(r.device_ns), cell(r.host_ns), cell(r.host1_ns), r.usual.device_ns, r.usual.host_ns,
        r.usual.host1_ns, name(r.usual.tier), r.usual.score, r.first_regret, r.calls, r.regret,
        name(r.alone.tier), r.alone.score, r.alone_regret, cell(r.resident_device_ns),
        cell(r.resident_host1_ns), r.resident.device_ns, r.resident.best_host_ns,
        name(r.resident.tier), r.resident.score, r.resident_regret);
  if (!file.flush()) fail(ErrorCode::kIo, "cannot write {}; is the disk full?", csv.string());
}

}  // namespace rooftile
