#include "tuner/stored/certify_imported.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "core/numbers/statistics.h"
#include "tuner/stored/imported_lists.h"
#include "tuner/stored/kernel_comparison.h"
#include "tuner/stored/ranked_list.h"
#include "tuner/worker/candidate_runner.h"

namespace rooftile {
namespace {

constexpr int kSamples = 3;
constexpr double kLongNs = kLongProductNs;  // one sample of such a product says enough
// A portfolio's kernel is timed where it takes about so long: long against the clock's steps.
constexpr double kSpotNs = 1e6;
constexpr double kMostDeviation = 2;  // a kernel's ratio is at most this far from the median's
constexpr int kRetakes = 3;           // of kernels that seem to be further from it

std::vector<TimedKernel> own_kernels(const ImportedList& list) {
  std::vector<TimedKernel> kernels;
  for (const TunedKernel& own : list.own)
    kernels.push_back({own.candidate.variant, own.kernel_ns, own.pack_ns});
  return kernels;
}

class ImportedCertifier {
 public:
  ImportedCertifier(Store& store, CandidateRunner& runner, RowId device_row,
                    const ImportedOptions& options)
      : store_(store), runner_(runner), device_row_(device_row), options_(options) {}

  ImportedReport run(const ImportedWork& work);

 private:
  void plan_compilation(const ImportedWork& work);
  void compile_ahead();
  bool certified(const Variant& variant, const Signature& signature);
  std::optional<TimeReply> time(const Variant& variant, const Problem& problem,
                                const TimeOptions& options);
  std::optional<TimedKernel> timed(const Variant& variant, const Problem& problem,
                                   double expected_ns);
  KernelComparison compare(const Variant& challenger, const Variant& incumbent,
                           const Problem& problem);
  std::optional<TimedKernel> store_best(const ImportedList& list);
  void challenge_own(const ImportedList& list);
  void store_others(const ImportedList& list, std::vector<TimedKernel> kernels);
  std::optional<double> portfolio_ratio(const PortfolioKernel& kernel, const Problem& like);
  void store_portfolio(const ImportedPortfolio& portfolio);
  void store(const Problem& problem, const std::vector<TimedKernel>& best_first);

  Store& store_;
  CandidateRunner& runner_;
  const RowId device_row_;
  const ImportedOptions& options_;
  /// Kernels in the order in which they are wanted, and how many of them are being compiled.
  std::vector<std::pair<Variant, Problem>> wanted_;
  std::size_t begun_ = 0;
  std::vector<double> ratios_;
  ImportedReport report_;
};

void ImportedCertifier::plan_compilation(const ImportedWork& work) {
  if (!runner_.compiles_beside()) return;
  const auto add = [&](const Variant& variant, const Problem& problem) {
    wanted_.emplace_back(variant, problem);
  };
  for (const ImportedList& list : work.lists)
    if (!list.begun)
      for (std::size_t i = 0; i < (list.own.empty() ? 1 : list.kernels.size()); ++i)
        add(list.kernels[i], list.problem);
  for (const ImportedPortfolio& portfolio : work.portfolios)
    for (const PortfolioKernel& kernel : portfolio.kernels)
      add(kernel.candidate.variant, portfolio.like);
  for (const ImportedList& list : work.lists)
    if (list.begun || list.own.empty())
      for (const Variant& variant : list.kernels) add(variant, list.problem);
}

/// Gives the compilers work that is wanted soon. What waits for one is in the journal, so that it
/// is no more than keeps them busy.
void ImportedCertifier::compile_ahead() {
  while (begun_ < wanted_.size() && !runner_.compilers_are_full()) {
    const auto& [variant, problem] = wanted_[begun_++];
    runner_.compile_ahead({variant}, problem, Wanted::kLater);
  }
}

bool ImportedCertifier::certified(const Variant& variant, const Signature& signature) {
  compile_ahead();
  const double start_s = now_s();
  const bool passed = runner_.certified(variant, signature);
  report_.certify_s += now_s() - start_s;
  ++report_.kernels;
  return passed;
}

std::optional<TimeReply> ImportedCertifier::time(const Variant& variant, const Problem& problem,
                                                 const TimeOptions& options) {
  const double start_s = now_s();
  auto reply = runner_.time(variant, problem, options);
  report_.time_s += now_s() - start_s;
  return reply;
}

/// However slow the kernel's probe is: the other machine ranked it, so that it cannot be far behind
/// the best, and a probe beside a busy program says little.
std::optional<TimedKernel> ImportedCertifier::timed(const Variant& variant, const Problem& problem,
                                                    double expected_ns) {
  const auto reply =
      time(variant, problem,
           {.samples = expected_ns > kLongNs ? 1 : kSamples, .purpose = SamplePurpose::kRefresh});
  if (!reply) return std::nullopt;
  return TimedKernel{variant, median(reply->kernel_ns), reply->pack_ns};
}

KernelComparison ImportedCertifier::compare(const Variant& challenger, const Variant& incumbent,
                                            const Problem& problem) {
  const double start_s = now_s();
  KernelComparison comparison =
      compare_kernels(runner_, problem, incumbent, challenger,
                      {.samples = 1, .purpose = SamplePurpose::kRefresh, .over = options_.over});
  report_.time_s += now_s() - start_s;
  return comparison;
}

void ImportedCertifier::store(const Problem& problem, const std::vector<TimedKernel>& best_first) {
  std::vector<WinnerRecord> records;
  for (const TimedKernel& kernel : best_first)
    records.push_back({.candidate = runner_.id(kernel.variant, signature_of(problem)),
                       .kernel_ns = kernel.kernel_ns,
                       .pack_ns = kernel.pack_ns});
  store_ranked(store_, device_row_, problem, records);
}

/// The first of the list's kernels that is right here, and its time.
std::optional<TimedKernel> ImportedCertifier::store_best(const ImportedList& list) {
  for (const Variant& variant : list.kernels) {
    if (options_.over()) return std::nullopt;
    if (!certified(variant, signature_of(list.problem))) continue;
    const auto best = timed(variant, list.problem, list.best_ns);
    if (!best) continue;
    store(list.problem, {*best});
    ++report_.usable;
    return best;
  }
  return std::nullopt;
}

void ImportedCertifier::challenge_own(const ImportedList& list) {
  std::vector<TimedKernel> kernels = own_kernels(list);
  bool replaced = false;
  for (const Variant& challenger : list.kernels) {
    if (options_.over()) return;
    if (!certified(challenger, signature_of(list.problem))) continue;
    const KernelComparison comparison = compare(challenger, kernels.front().variant, list.problem);
    if (comparison.verdict != PairedVerdict::kFaster) continue;
    kernels.front() = comparison.stored;
    kernels.insert(kernels.begin(), comparison.challenger);
    store(list.problem, kernels);
    replaced = true;
  }
  if (options_.over()) return;
  ++report_.usable;
  ++(replaced ? report_.replaced : report_.kept);
}

/// kernels: what is stored of the list already, best first. The order stays the other machine's, so
/// that equal machines compute the same problem with the same kernel; a later tuning run of this
/// machine compares the kernels.
void ImportedCertifier::store_others(const ImportedList& list, std::vector<TimedKernel> kernels) {
  const std::size_t stored = kernels.size();
  for (const Variant& variant : list.kernels) {
    if (options_.over()) break;
    if (std::ranges::find(kernels, variant, &TimedKernel::variant) != kernels.end()) continue;
    if (!certified(variant, signature_of(list.problem))) continue;
    const auto other = timed(variant, list.problem, kernels.front().total_ns());
    if (!other) continue;
    kernels.push_back(*other);
  }
  if (kernels.size() > stored) store(list.problem, kernels);
}

/// The problem on which the kernel's time is nearest to kSpotNs; nothing if it has no time.
std::optional<MeasuredTime> spot(const std::vector<MeasuredTime>& times) {
  std::optional<MeasuredTime> nearest;
  const auto distance = [](double ns) { return std::abs(std::log(ns / kSpotNs)); };
  for (const MeasuredTime& time : times)
    if (std::isfinite(time.ns) && (!nearest || distance(time.ns) < distance(nearest->ns)))
      nearest = time;
  return nearest;
}

/// Time here over time there on one problem. The shortest sample counts, as in the portfolio:
/// whatever disturbs a measurement only adds to it. No value where the kernel cannot be timed.
std::optional<double> ImportedCertifier::portfolio_ratio(const PortfolioKernel& kernel,
                                                         const Problem& like) {
  const std::optional<MeasuredTime> there = spot(kernel.times);
  if (!there) return std::nullopt;
  Problem p = packed_problem(there->m, there->n, there->k, like.trans_a, like.trans_b, there->batch,
                             like.types);
  p.epilogue = like.epilogue;
  if (!runner_.fits(p)) return std::nullopt;
  const auto here = time(kernel.candidate.variant, p,
                         {.samples = kSamples, .purpose = SamplePurpose::kPortfolio});
  if (!here || options_.over()) return std::nullopt;
  return (std::ranges::min(here->kernel_ns) + here->pack_ns) / there->ns;
}

void ImportedCertifier::store_portfolio(const ImportedPortfolio& portfolio) {
  struct Checked {
    const PortfolioKernel* kernel;
    double ratio;
  };
  std::vector<Checked> checked;
  const Signature signature = signature_of(portfolio.like);
  for (const PortfolioKernel& kernel : portfolio.kernels) {
    if (options_.over()) return;
    if (!certified(kernel.candidate.variant, signature)) continue;
    if (const auto ratio = portfolio_ratio(kernel, portfolio.like))
      checked.push_back({&kernel, *ratio});
  }
  if (checked.empty() || options_.over()) return;
  const auto median_ratio = [&] {
    std::vector<double> log_ratios;
    for (const Checked& one : checked) log_ratios.push_back(std::log(one.ratio));
    return std::exp(median(log_ratios));
  };
  double ratio = median_ratio();
  // A kernel that another program disturbed is timed again before it is left out.
  for (int retake = 0; retake < kRetakes; ++retake, ratio = median_ratio())
    for (Checked& one : checked)
      if (one.ratio > kMostDeviation * ratio && !options_.over())
        one.ratio =
            std::min(one.ratio, portfolio_ratio(*one.kernel, portfolio.like).value_or(one.ratio));
  if (options_.over()) return;
  std::vector<PortfolioRecord> records;
  int places = 0;
  for (const Checked& one : checked) {
    PortfolioRecord& record = records.emplace_back();
    record.candidate = runner_.id(one.kernel->candidate.variant, signature);
    if (std::max(one.ratio / ratio, ratio / one.ratio) > kMostDeviation) {
      if (options_.message)
        options_.message(
            fmt::format("{} takes {:.2f} times as long as on the other machine, the portfolio's "
                        "median is {:.2f} "
                        "times: it is not used for problems that were not tuned",
                        short_name(one.kernel->candidate.variant), one.ratio, ratio));
      continue;  // without a place and times, so that it is not asked again
    }
    ratios_.push_back(one.ratio);
    record.place = places++;
    record.times = one.kernel->times;
    for (MeasuredTime& time : record.times) {
      time.ns *= ratio;
      if (time.half_ns)
        for (double& ns : *time.half_ns) ns *= ratio;
    }
  }
  // What to expect of the choice is not known: the kernels that the portfolio did without are not
  // here.
  store_.put_portfolio(device_row_, to_string(signature), records, std::nullopt);
  ++report_.portfolios_usable;
}

ImportedReport ImportedCertifier::run(const ImportedWork& work) {
  const double start_s = now_s();
  plan_compilation(work);
  report_ = {.lists = work.lists.size(), .portfolios = work.portfolios.size()};
  const auto begin = [&](const Problem& problem) {
    if (options_.progress) options_.progress(problem);
    runner_.begin_problem();
  };
  std::vector<std::pair<const ImportedList*, std::vector<TimedKernel>>> stored;
  for (const ImportedList& list : work.lists) {
    if (options_.over()) break;
    begin(list.problem);
    if (!runner_.fits(list.problem)) continue;
    if (list.begun) {
      ++report_.usable;
      stored.emplace_back(&list, own_kernels(list));
    } else if (!list.own.empty()) {
      challenge_own(list);
    } else if (const auto best = store_best(list)) {
      stored.emplace_back(&list, std::vector{*best});
    }
  }
  report_.usable_s = now_s() - start_s;
  for (const ImportedPortfolio& portfolio : work.portfolios) {
    if (options_.over()) break;
    begin(portfolio.like);
    store_portfolio(portfolio);
  }
  report_.portfolios_s = now_s() - start_s;
  for (const auto& [list, kernels] : stored) {
    if (options_.over()) break;
    begin(list->problem);
    store_others(*list, kernels);
  }
  if (!ratios_.empty()) {
    report_.ratio = median(ratios_);
    report_.least_ratio = std::ranges::min(ratios_);
    report_.most_ratio = std::ranges::max(ratios_);
  }
  report_.elapsed_s = now_s() - start_s;
  return report_;
}

}  // namespace

ImportedReport certify_imported(Store& store, CandidateRunner& runner, RowId device_row,
                                const ImportedWork& work, const ImportedOptions& options) {
  return ImportedCertifier(store, runner, device_row, options).run(work);
}

}  // namespace rooftile
