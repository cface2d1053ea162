// How the device computes a problem: by tuned kernels, by kernels that are certified on demand, or
// by a plain kernel and a pass over C.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/space.h"
#include "runtime/call/packed_operand.h"
#include "runtime/execute/device_tier.h"
#include "runtime/host/host_pass.h"
#include "runtime/model/transfer.h"
#include "runtime/tuned/device_pass.h"

namespace rooftile {

double DeviceTier::predicted_ns(const Problem& p, std::span<const RankedChoice> kernels) const {
  if (kernels.empty()) return std::numeric_limits<double>::infinity();
  const OperandPlaces places = {
      .max_binding_bytes = static_cast<double>(profile_.limits.max_storage_buffer_range_bytes)};
  return transfers(p, places, rates_).ns() + kernels.front().expected_ns;
}

bool DeviceTier::is_tuned(const Problem& staged) const {
  if (!ranking_.has_class(staged)) return false;
  const StagedBytes bytes = staged_bytes(staged);
  const std::uint64_t largest = std::max({bytes.a, bytes.b, bytes.c});
  if (largest > largest_buffer_bytes(profile_.limits)) return true;  // Its slices ask again.
  // Only these limits leave a problem that fits without a kernel of its class.
  const std::int64_t elements = std::max({span_a(staged), span_b(staged), span_c(staged)});
  const bool has_kernels = !is_long(staged) && static_cast<std::uint64_t>(elements) <=
                                                   profile_.limits.max_texel_buffer_elements;
  return has_kernels || !recently_ranked(staged).empty();
}

/// Whether k may take more loop trips than the driver runs. No kernel takes more than eight for a
/// step of k.
bool DeviceTier::is_long(const Problem& p) const {
  constexpr std::int64_t kMostTripsOfStep = 8;
  const std::int64_t most = profile_.limits.max_loop_trips;
  return most > 0 && p.k > most / kMostTripsOfStep;
}

std::optional<Problem> DeviceTier::dividable(const Problem& p) const {
  if (!is_long(p) || is_grouped(p)) return std::nullopt;
  const Types types = sums_signature(signature_of(p)).types;
  const Problem plain = problem_before_pass(p, quantized(types) ? Types{} : types);
  if (signature_of(plain) == signature_of(p)) return std::nullopt;
  return plain;
}

DeviceTier::Route DeviceTier::route(const Problem& p) const {
  if (is_grouped(p)) return resident_route(effective(p));
  if (is_tuned(effective(p))) return {.means = Means::kTuned, .problem = p};
  Route own = {.means = Means::kCertified, .problem = p, .kernels = certified(p)};
  const auto types = types_before_pass(p, [this](const Problem& plain) {
    return is_tuned(effective(plain)) || (is_long(plain) && !certified(plain).empty());
  });
  if (!types) return own.kernels.empty() ? Route{.problem = p} : own;
  Route pass = {.means = Means::kHostPass, .problem = problem_before_pass(p, *types)};
  pass.pass_over = operands_of_pass(p, *types);
  if (host_gbps_ > 0) pass.pass_ns = host_pass_bytes(p, *types) / host_gbps_;
  if (own.kernels.empty()) return pass;
  // Of the same operands the kernel that needs no pass is the faster one.
  Types same_operands = *types;
  same_operands.c = p.types.c;
  same_operands.f16_sums = p.types.f16_sums;
  if (same_operands == p.types || host_gbps_ <= 0) return own;
  const double own_ns = predicted_ns(p, own.kernels);
  return predicted_ns(pass.problem, ranked(pass)) + pass.pass_ns < own_ns ? pass : own;
}

DeviceTier::Route DeviceTier::resident_route(const Problem& p) const {
  if (is_tuned(p)) return {.means = Means::kTuned, .problem = p};
  const DeviceLimits& limits = profile_.limits;
  KernelsOfUntunedClass kernels;
  // No pass over C knows groups.
  if (!is_grouped(p))
    kernels.before_pass = ranked_before_device_pass(ranking_, p, own_buffers(p), limits);
  if (on_demand_ != nullptr)
    kernels.certified = on_demand_->ranked(ranking_, p, own_buffers(p), limits);
  if (kernels.prefer_pass())
    return {.means = Means::kDevicePass,
            .problem = p,
            .pass_ns = device_pass_ns(p, rates_),
            .kernels = std::move(kernels.before_pass)};
  // What was tuned for groups of quite other sizes is faster than the fallback.
  if (kernels.certified.empty() && is_grouped(p))
    if (auto others = ranking_.ranked(p, own_buffers(p), limits); !others.empty())
      return {.means = Means::kTuned, .problem = p, .kernels = std::move(others)};
  if (kernels.certified.empty()) return {.problem = p};
  return {.means = Means::kCertified, .problem = p, .kernels = std::move(kernels.certified)};
}

bool DeviceTier::may_certify(const Problem& p) const {
  if (on_demand_ == nullptr || is_tuned(effective(p))) return false;
  const auto may = [this](const Problem& staged) {
    return on_demand_->may_certify(ranking_, staged, own_buffers(staged), profile_.limits);
  };
  const std::optional<Problem> plain = dividable(p);
  return may(effective(p)) || (plain && may(effective(*plain)));
}

void DeviceTier::request_kernel(const Problem& p) const {
  if (on_demand_ == nullptr || is_tuned(effective(p))) return;
  const auto request = [this](const Problem& staged) {
    return on_demand_->request(ranking_, staged, own_buffers(staged), profile_.limits);
  };
  const std::optional<Problem> plain = dividable(p);
  if (!request(effective(p)) && plain && !is_tuned(effective(*plain))) request(effective(*plain));
}

std::vector<RankedChoice> DeviceTier::certified(const Problem& p) const {
  if (on_demand_ == nullptr) return {};
  const Problem staged = effective(p);
  std::vector<RankedChoice> kernels =
      on_demand_->ranked(ranking_, staged, own_buffers(staged), profile_.limits);
  if (all_failed(kernels)) return {};
  return kernels;
}

std::vector<RankedChoice> DeviceTier::ranked(const Route& route) const {
  if (route.means == Means::kNone || route.means == Means::kCertified) return route.kernels;
  if (route.means == Means::kHostPass) return ranked_before_pass(route.problem);
  return recently_ranked(effective(route.problem));
}

std::vector<RankedChoice> DeviceTier::ranked_before_pass(const Problem& plain) const {
  std::vector<RankedChoice> kernels = recently_ranked(effective(plain));
  return kernels.empty() ? certified(plain) : kernels;
}

std::vector<RankedChoice> DeviceTier::recently_ranked(const Problem& staged) const {
  return rankings_.ranked(staged, own_buffers(staged), profile_.limits);
}

std::vector<RankedChoice> DeviceTier::ranked(const GemmCall& call) const {
  if (call.packed == nullptr || !reads_operands(call.problem)) return ranked(call.problem);
  Problem p = effective(call.problem);
  const PackedForm* const stored = call.packed->stored();
  if (stored != nullptr) (call.packed->shape.operand == Operand::kA ? p.lda : p.ldb) = stored->ld;
  return rankings_.ranked(p, own_buffers(p), profile_.limits, *call.packed,
                          stored != nullptr ? IsStored::kYes : IsStored::kNo);
}

std::vector<RankedChoice> DeviceTier::ranked_prepacked(const Problem& p, Operand operand,
                                                       StagedCopies others) const {
  using Use = PrepackedOperand::Use;
  const Problem staged = others == StagedCopies::kYes ? effective(p) : p;
  return ranking_.ranked(staged, own_buffers(staged), profile_.limits,
                         {.operand = operand, .use = [&](const Variant& v) {
                            return packed_format(v, staged, operand) ? Use::kReadsPacked
                                                                     : Use::kReadsStored;
                          }});
}

std::vector<RankedChoice> DeviceTier::ranked_for_resident(const Problem& p) const {
  if (is_tuned(p)) return recently_ranked(p);
  return resident_route(p).kernels;
}

std::string DeviceTier::why_no_kernel(const Problem& p) const {
  const Problem staged = effective(p);
  return ranking_.has_class(staged)
             ? ranking_.refusal(staged)
             : illegal_reason(fallback_variant(), profile_.limits, staged, own_buffers(staged))
                   .value_or("");
}

std::optional<double> DeviceTier::measured_ns(const Problem& p) const {
  return ranking_.measured_ns(effective(p));
}

}  // namespace rooftile
