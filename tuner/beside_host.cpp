#include "tuner/beside_host.h"

#include <algorithm>

#include "core/clock.h"
#include "core/numbers/statistics.h"
#include "runtime/model/predict.h"

namespace rooftile {

HostComparison beside_host(const ProblemTunerContext& context, const Problem& problem,
                           const Variant& winner, double seconds) {
  // The first round calls the host three times: once for its time, once untimed, once timed.
  constexpr double kHostCalls = 3;
  std::optional<double> predicted_ns;
  if (context.host_rates != nullptr && is_calibrated(*context.host_rates)) {
    const double plain_ns = predict_host_ns(retyped(problem, {}), *context.host_rates);
    const double left_s = std::min(seconds, context.options.budget_s - context.elapsed_s());
    if (kHostCalls * plain_ns * 1e-9 > left_s) return {};
    // The model of the host covers plain float32 calls only.
    if (problem.types == Types{} && problem.epilogue == Epilogue{} && problem.batch == 1 &&
        !is_grouped(problem))
      predicted_ns = plain_ns;
  }
  const double end_s = now_s() + seconds;
  const auto scope = context.runner.account().during(Activity::kHost);
  return compare_with_host(
      problem, predicted_ns,
      [&]() -> std::optional<double> {
        const auto reply = context.runner.time(winner, problem, {.samples = 1});
        if (!reply) return std::nullopt;
        return context.runner.level() * (median(reply->kernel_ns) + reply->pack_ns);
      },
      [&] { return context.over() || now_s() >= end_s; });
}

}  // namespace rooftile
