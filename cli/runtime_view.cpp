#include "cli/runtime_view.h"

#include "generator/space.h"
#include "generator/version.h"
#include "runtime/kernel/staging.h"
#include "runtime/tuned/kernel_ranking.h"

namespace rooftile {
namespace {

class Ranking : public KernelChoice {
 public:
  explicit Ranking(KernelRanking ranking) : ranking_(std::move(ranking)) {}

  std::vector<PredictedClass> predicted_classes() const override {
    return ranking_.predicted_classes();
  }
  std::optional<ChosenKernel> choose(const Problem& p) const override {
    const std::vector<RankedChoice> ranked = ranking_.ranked(staged_problem(p));
    if (ranked.empty()) return std::nullopt;
    return ChosenKernel{.kernel = short_name(ranked.front().candidate->variant),
                        .ns = ranked.front().expected_ns};
  }

 private:
  KernelRanking ranking_;
};

}  // namespace

RuntimeView runtime_view() {
  return {
      .generator_version = kGeneratorVersion,
      .naive = fallback_variant(),
      .kernels = [](const DeviceProfile& device, const DeviceRates& rates,
                    std::vector<TunedKernel> tuned, std::span<const PortfolioKernel> portfolio) {
        return std::make_unique<Ranking>(
            KernelRanking(device.limits, rates, std::move(tuned), portfolio));
      }};
}

}  // namespace rooftile
