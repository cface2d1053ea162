#include "tuner/worker/reference_timer.h"

#include <algorithm>
#include <span>

#include "core/numbers/statistics.h"
#include "tuner/worker/watchdog.h"

namespace rooftile {
namespace {

constexpr int kSamples = 5;

}  // namespace

std::optional<double> ReferenceTimer::time_ns(RowId candidate, const ReferenceKernel& reference,
                                              double compute_units) {
  const Json request = {{"operation", "time reference"},
                        {"request", to_json(TimeRequest{.variant = reference.variant,
                                                        .problem = reference.problem,
                                                        .samples = kSamples,
                                                        .compute_units = compute_units})}};
  CandidateOutcome outcome = requests_.ask(candidate, request, Watchdog::kReferenceS);
  const auto reply = read_reply(outcome, time_reply_from_json);
  if (!reply || reply->kernel_ns.empty()) return std::nullopt;
  if (requests_.worker() == worker_) wall_s_.push_back(outcome.wall_s);
  worker_ = requests_.worker();
  const Summary kernel = summarize(reply->kernel_ns);
  store_.add_reference_sample(run_, kernel);
  return kernel.median_ns;
}

double ReferenceTimer::slowdown() const {
  if (wall_s_.size() < 2) return 1;
  return wall_s_.back() / std::ranges::min(std::span(wall_s_).first(wall_s_.size() - 1));
}

}  // namespace rooftile
