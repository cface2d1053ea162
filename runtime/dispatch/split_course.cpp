#include "runtime/dispatch/split_course.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/time_text.h"

namespace rooftile {
namespace {

/// Most changes of one problem's shares. Each may need kernels for new sizes.
constexpr int kMostMoves = 8;
/// New shares must be predicted to take less than this share of the time of the present ones.
constexpr double kMovePays = 0.97;

std::string names_of(const SplitDecision& d, const SplitPlan& plan) {
  std::string names;
  for (const PlannedShare& share : plan.shares)
    names += fmt::format("{}{}", names.empty() ? "" : " and ", d.workers[share.party].name);
  return names;
}

/// Whether these parties need more processors than there are.
bool share_processors(const SplitDecision& d, const SplitPlan& plan) {
  double busy = 0;
  for (const PlannedShare& share : plan.shares) busy += d.parties[share.party].processors;
  return busy > d.shared.count;
}

std::string time_of(double ns) { return std::isfinite(ns) ? time_text(ns) : "not predicted"; }

}  // namespace

void choose_plan(SplitDecision& d, const Problem& p, const std::string& unsplit) {
  const std::int64_t size = length(p, d.along), grain = cut_grain(d.along);
  SplitPlan together = best_split(d.parties, d.shared, size, grain, 2);
  SplitPlan alone;
  for (std::size_t i = 0; i < d.parties.size(); ++i)
    if (const std::vector<double>& ns = d.parties[i].share_ns; !ns.empty() && ns.back() < alone.ns)
      alone = {.shares = {{.party = i, .begin = 0, .size = size, .ns = ns.back()}},
               .ns = ns.back()};
  const bool split_pays =
      !together.shares.empty() && together.ns < kSplitPays * std::min(alone.ns, d.unsplit_ns);
  const bool chosen = split_pays || (d.always && !together.shares.empty());
  d.plan = chosen ? together : alone;
  d.wins = chosen || d.plan.ns < kSplitPays * d.unsplit_ns;
  if (together.shares.empty()) {
    d.reason =
        fmt::format("no two of the devices and the host would each get a part of {} or more {}",
                    grain, name(d.along));
    return;
  }
  d.reason = fmt::format("{} together {}, ", names_of(d, together), time_of(together.ns));
  if (d.wins && !chosen)
    d.reason += fmt::format("{} alone {}, ", names_of(d, alone), time_of(alone.ns));
  d.reason += fmt::format("{} alone {}", unsplit, time_of(d.unsplit_ns));
  if (!split_pays && share_processors(d, together))
    d.reason += fmt::format("; they share this machine's {:.0f} processors", d.shared.count);
}

std::string shares_text(const SplitDecision& d, std::span<const PlannedShare> shares) {
  std::string text;
  for (const PlannedShare& share : shares)
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", d.workers[share.party].name, share.size);
  return fmt::format("{} {}", text, name(d.along));
}

double SplitCourse::Factors::shortest() const {
  // A disturbance makes a part longer, never shorter.
  return count == 0 ? 1 : *std::min_element(last.begin(), last.begin() + std::min(count, kMost));
}

SplitCourse::SplitCourse(SplitDecision decision)
    : decision_(std::move(decision)),
      shares_(decision_.plan.shares),
      factors_(decision_.workers.size()),
      applied_(decision_.workers.size(), 1.0) {}

std::vector<PlannedShare> SplitCourse::shares() const {
  const std::lock_guard lock(mutex_);
  return shares_;
}

bool SplitCourse::record(std::span<const PlannedShare> shares, std::span<const double> took_ns) {
  const std::lock_guard lock(mutex_);
  if (shares.size() < 2 || moves_ == kMostMoves || !std::ranges::equal(shares, shares_))
    return false;
  if (calls_++ == 0) return false;  // Drivers and caches pay once for new sizes.
  double took = 0;
  std::vector<Party> corrected;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::size_t worker = shares[i].party;
    Factors& factors = factors_[worker];
    factors.last[factors.count++ % kMost] = took_ns[i] / shares[i].ns * applied_[worker];
    const double factor = factors.shortest();
    took = std::max(took, shares[i].ns * factor / applied_[worker]);
    corrected.push_back(decision_.parties[worker]);
    for (double& ns : corrected.back().share_ns) ns *= factor;
  }
  if (calls_ < 3) return false;
  SplitPlan plan = divide(corrected, decision_.shared, shares.back().begin + shares.back().size,
                          cut_grain(decision_.along));
  if (plan.shares.empty() || plan.ns >= kMovePays * took) return false;
  for (PlannedShare& share : plan.shares) {
    share.party = shares[share.party].party;
    applied_[share.party] = factors_[share.party].shortest();
  }
  if (std::ranges::equal(plan.shares, shares_, {}, &PlannedShare::size, &PlannedShare::size))
    return false;
  shares_ = plan.shares;
  calls_ = 0;
  ++moves_;
  return true;
}

std::size_t SplitCourses::slot(const Problem& p) {
  std::uint64_t h = static_cast<std::uint64_t>(p.m);
  for (const std::int64_t x : {p.n, p.k, p.batch})
    h = (h ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>((h ^ (h >> 32)) % kEntries);
}

std::shared_ptr<SplitCourse> SplitCourses::find(const Problem& p, const Guard& guard,
                                                std::uint64_t generation) const {
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) return nullptr;
  const Entry& entry = entries_[slot(p)];
  const bool same = entry.generation == generation && entry.problem == p && entry.guard == guard;
  return same ? entry.course : nullptr;
}

void SplitCourses::store(const Problem& p, const Guard& guard, std::uint64_t generation,
                         std::shared_ptr<SplitCourse> course) {
  const std::lock_guard lock(mutex_);
  entries_.resize(kEntries);
  entries_[slot(p)] = {p, guard, generation, std::move(course)};
}

}  // namespace rooftile
