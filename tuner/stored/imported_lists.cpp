#include "tuner/stored/imported_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/device_text.h"
#include "tuner/stored/kernel_state.h"
#include "tuner/stored/ranked_list.h"

namespace rooftile {
namespace {

/// One machine's list for one problem and one of its devices, best first.
struct Ranked {
  std::string origin;
  RowId device = 0;
  std::vector<TunedKernel> entries;
};
struct RankedProblem {
  Problem problem;
  std::vector<Ranked> lists;
};

/// Lists of a problem for an earlier row come before those for a later one.
std::vector<RankedProblem> ranked_problems(const Store& store, RowId here,
                                           const std::vector<RowId>& rows) {
  std::vector<RankedProblem> problems;
  for (const RowId row : rows)
    for (ImportedKernel& entry : store.imported_kernels(row, here)) {
      const Problem& problem = entry.kernel.problem;
      auto known = std::ranges::find(problems, problem, &RankedProblem::problem);
      if (known == problems.end()) known = problems.insert(problems.end(), {problem, {}});
      if (known->lists.empty() || known->lists.back().origin != entry.origin ||
          known->lists.back().device != row)
        known->lists.push_back({entry.origin, row, {}});
      known->lists.back().entries.push_back(std::move(entry.kernel));
    }
  return problems;
}

/// Returns the first kernels of all lists, then the second ones, and so on; each kernel once.
std::vector<TunedKernel> merged(const std::vector<Ranked>& lists) {
  std::vector<TunedKernel> kernels;
  std::size_t longest = 0;
  for (const Ranked& list : lists) longest = std::max(longest, list.entries.size());
  for (std::size_t rank = 0; rank < longest; ++rank)
    for (const Ranked& list : lists) {
      if (rank >= list.entries.size()) continue;
      const TunedKernel& entry = list.entries[rank];
      const bool known = std::ranges::any_of(kernels, [&](const TunedKernel& kernel) {
        return kernel.candidate.variant == entry.candidate.variant;
      });
      if (!known) kernels.push_back(entry);
    }
  return kernels;
}

class Finder {
 public:
  Finder(Store& store, const DeviceProfile& device, RowId device_row)
      : store_(store),
        device_row_(device_row),
        states_(store, device, device_row),
        own_(store.winners(device_row)) {}

  ImportedWork find();

 private:
  std::vector<TunedKernel> own_list(const Problem& problem) const;
  bool was_measured(const Variant& variant, const Problem& problem) const;
  bool prepare(ImportedList& list, std::vector<TunedKernel> usable,
               std::vector<Variant> firsts) const;
  void add_list(const RankedProblem& ranked);
  void add_portfolio(std::vector<PortfolioKernel> kernels);

  Store& store_;
  const RowId device_row_;
  const KernelStates states_;
  const std::vector<RankedKernel> own_;
  std::vector<Problem> problems_;  // Problems of imported lists.
  std::set<std::string> classes_;  // With an imported portfolio.
  ImportedWork work_;
};

std::vector<TunedKernel> Finder::own_list(const Problem& problem) const {
  std::vector<TunedKernel> list;
  for (const RankedKernel& entry : own_)
    if (entry.kernel.problem == problem &&
        states_.of(entry.kernel.candidate, signature_of(problem)) == KernelState::kCertified)
      list.push_back(entry.kernel);
  return list;
}

bool Finder::was_measured(const Variant& variant, const Problem& problem) const {
  const RowId candidate = states_.current(variant, signature_of(problem)).id;
  const auto samples = store_.samples(device_row_, store_.problem_id(problem));
  return std::ranges::any_of(samples, [&](const SampleRecord& sample) {
    return sample.candidate == candidate && sample.status == SampleStatus::kMeasured;
  });
}

/// Returns whether anything of the list has to be certified. `firsts` are the best usable kernels
/// of each machine's list; only these remain where there is an own list to compare with.
bool Finder::prepare(ImportedList& list, std::vector<TunedKernel> usable,
                     std::vector<Variant> firsts) const {
  if (usable.empty()) return false;
  keep_ends(usable);
  for (const TunedKernel& kernel : usable) list.kernels.push_back(kernel.candidate.variant);
  list.best_ns = usable.front().kernel_ns + usable.front().pack_ns;
  if (list.own.empty()) return true;
  const auto in_own = [&](const Variant& variant) {
    return std::ranges::any_of(
        list.own, [&](const TunedKernel& own) { return own.candidate.variant == variant; });
  };
  const auto settled = [&](const Variant& variant) {
    return in_own(variant) || was_measured(variant, list.problem);
  };
  const auto imported = [&](const TunedKernel& own) {
    return std::ranges::find(list.kernels, own.candidate.variant) != list.kernels.end();
  };
  list.begun = list.own.front().candidate.variant == list.kernels.front() &&
               std::ranges::all_of(list.own, imported);
  if (list.begun) return !std::ranges::all_of(list.kernels, settled);
  std::erase_if(firsts, settled);
  list.kernels = std::move(firsts);
  return !list.kernels.empty();
}

void Finder::add_list(const RankedProblem& ranked) {
  const auto unusable = [&](const TunedKernel& kernel) {
    return states_.of(kernel.candidate, signature_of(ranked.problem)) == KernelState::kUnusable;
  };
  std::vector<Variant> firsts;
  for (const Ranked& list : ranked.lists) {
    const auto first = std::ranges::find_if_not(list.entries, unusable);
    if (first != list.entries.end() &&
        std::ranges::find(firsts, first->candidate.variant) == firsts.end())
      firsts.push_back(first->candidate.variant);
  }
  std::vector<TunedKernel> usable = merged(ranked.lists);
  std::erase_if(usable, unusable);
  ImportedList list{.problem = ranked.problem, .kernels = {}, .own = own_list(ranked.problem)};
  if (prepare(list, std::move(usable), std::move(firsts))) work_.lists.push_back(std::move(list));
}

void Finder::add_portfolio(std::vector<PortfolioKernel> kernels) {
  const std::string signature = kernels.front().candidate.signature;
  if (!store_.measured_portfolio(device_row_, signature).empty()) return;
  if (classes_.contains(signature)) return;  // a nearer row has one
  std::vector<Problem> known = problems_;
  for (const RankedKernel& own : own_) known.push_back(own.kernel.problem);
  const auto like = std::ranges::find_if(
      known, [&](const Problem& p) { return to_string(signature_of(p)) == signature; });
  if (like == known.end()) return;
  const bool any = std::ranges::any_of(kernels, [&](const PortfolioKernel& kernel) {
    return states_.of(kernel.candidate, signature_of(*like)) != KernelState::kUnusable;
  });
  if (!any) return;
  classes_.insert(signature);
  work_.portfolios.push_back({.like = *like, .kernels = std::move(kernels)});
}

ImportedWork Finder::find() {
  const std::vector<RowId> rows = certifiable_rows(store_, device_row_);
  for (const RankedProblem& ranked : ranked_problems(store_, device_row_, rows)) {
    problems_.push_back(ranked.problem);
    add_list(ranked);
  }
  std::ranges::reverse(work_.lists);
  for (const RowId row : rows) {
    std::vector<PortfolioKernel> of_class;
    for (PortfolioKernel& kernel : store_.imported_portfolio(row, device_row_)) {
      if (!of_class.empty() && of_class.front().candidate.signature != kernel.candidate.signature)
        add_portfolio(std::exchange(of_class, {}));
      of_class.push_back(std::move(kernel));
    }
    if (!of_class.empty()) add_portfolio(std::move(of_class));
  }
  return std::move(work_);
}

}  // namespace

std::vector<RowId> certifiable_rows(const Store& store, RowId device_row) {
  std::vector<RowId> rows = {device_row};
  for (const NearDevice& near : store.nearest_devices(device_row))
    if (near.device != device_row && near.is_certifiable()) rows.push_back(near.device);
  return rows;
}

ImportedWork imported_work(Store& store, const DeviceProfile& device, RowId device_row) {
  return Finder(store, device, device_row).find();
}

std::vector<std::string> other_imported_data(Store& store, const DeviceProfile& device,
                                             RowId device_row) {
  std::vector<std::string> reasons;
  const std::vector<DeviceRecord> devices = store.devices();
  for (const NearDevice& near : store.nearest_devices(device_row)) {
    if (near.nearness > Nearness::kSameProduct) break;
    if (near.same_driver) continue;
    std::set<RowId> problems;
    for (const ImportedKernel& imported : store.imported_kernels(near.device))
      problems.insert(store.problem_id(imported.kernel.problem));
    if (problems.empty()) continue;
    const auto other = std::ranges::find(devices, near.device, &DeviceRecord::id);
    reasons.push_back(fmt::format(
        "imported data of {} problems is for {} with the driver {}, and this device has the driver "
        "{}: `rooftile tune` only starts its search from them",
        problems.size(), other->profile.name, driver_of(other->profile), driver_of(device)));
  }
  return reasons;
}

}  // namespace rooftile
