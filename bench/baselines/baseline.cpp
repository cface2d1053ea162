#include "bench/baselines/baseline.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/error.h"

namespace rooftile {
namespace {

struct Known {
  const char* name;
  std::unique_ptr<Baseline> (*open)(const BaselineSetting&);
};
constexpr std::array kKnown = {Known{"cublas", open_cublas}, Known{"clblast", open_clblast},
                               Known{"ggml", open_ggml}};

}  // namespace

std::vector<std::string> baseline_names() {
  std::vector<std::string> names;
  for (const Known& known : kKnown) names.emplace_back(known.name);
  return names;
}

std::unique_ptr<Baseline> open_baseline(std::string_view name, const BaselineSetting& setting) {
  for (const Known& known : kKnown)
    if (name == known.name) return known.open(setting);
  fail(ErrorCode::kInvalidArgument, "no baseline is called '{}'; known: {}", name,
       fmt::join(baseline_names(), ", "));
}

void expect_plain_product(const std::string& baseline, const Problem& p) {
  const auto refuse = [&](const std::string& why) {
    fail(ErrorCode::kUnsupported, "{} {}", baseline, why);
  };
  // Vendors' libraries use 32-bit sizes.
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  if (quantized(p.types)) refuse("does not multiply a quantised B");
  if (any(p.epilogue)) refuse("fuses no epilogue");
  if (p.beta != 0) refuse("is timed with beta 0 only: every run would change C");
  if (std::min({p.m, p.n, p.k, p.batch}) < 1) refuse("is not run on empty problems");
  if (std::max({p.m, p.n, p.k, p.batch, p.lda, p.ldb, p.ldc}) > kLargest)
    refuse("takes no sizes beyond 2^31 - 1");
}

}  // namespace rooftile
