#include "runtime/tuned/device_pass.h"

#include <algorithm>

#include "core/error.h"
#include "core/round.h"
#include "runtime/verify/certify.h"

namespace rooftile {
namespace {

constexpr std::int64_t kRowStep = 4;  // elements that a row of the sums is rounded up to

}  // namespace

Problem problem_before_device_pass(const Problem& p) {
  Problem plain = p;
  const Signature sums = sums_signature(signature_of(p));
  plain.types = sums.types;
  plain.epilogue = sums.epilogue;
  plain.alpha = 1;
  plain.beta = 0;
  plain.ldc = round_up(p.n, kRowStep);
  plain.stride_c = p.batch > 1 ? p.m * plain.ldc : 0;
  return plain;
}

double device_pass_ns(const Problem& p, const DeviceRates& rates) {
  const auto elements = static_cast<double>(p.m * p.n * p.batch);
  const auto bytes_c = static_cast<double>(bytes_of(p.types.c));
  double bytes = elements * (sizeof(float) + bytes_c);
  if (p.beta != 0.0f) bytes += elements * bytes_c;
  if (p.epilogue.residual) bytes += elements * sizeof(float);
  const double gbps = gbps_for_footprint(rates, bytes);
  return rates.dispatch_ns + (gbps > 0 ? bytes / gbps : 0);
}

std::vector<RankedChoice> ranked_before_device_pass(const KernelRanking& ranking, const Problem& p,
                                                    const Placement& at, const DeviceLimits& limits,
                                                    const PrepackedOperand* prepacked) {
  const Problem plain = problem_before_device_pass(p);
  if (!ranking.has_class(plain)) return {};
  Placement plain_at = at;
  plain_at.offset_c = 0;
  std::vector<RankedChoice> choices = prepacked != nullptr
                                          ? ranking.ranked(plain, plain_at, limits, *prepacked)
                                          : ranking.ranked(plain, plain_at, limits);
  std::erase_if(choices, [&](const RankedChoice& choice) {
    return illegal_reason(choice.candidate->variant, limits, p, at, SumsIn::kWorkspace).has_value();
  });
  const double pass_ns = device_pass_ns(p, ranking.rates());
  for (RankedChoice& choice : choices) choice.expected_ns += pass_ns;
  return choices;
}

void check_device_pass(Device& device, const Kernel& kernel, const Signature& signature) {
  const Certificate certificate = certify(device, kernel, signature);
  if (!certificate.passed)
    fail(ErrorCode::kInternal, "the pass over C for {} is wrong: {}", to_string(signature),
         certificate.detail);
}

}  // namespace rooftile
