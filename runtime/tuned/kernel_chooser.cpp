#include "runtime/tuned/kernel_chooser.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/enum_words.h"
#include "generator/space.h"
#include "runtime/call/packed_operand.h"
#include "runtime/call/pass_over_c.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/transfer.h"

namespace rooftile {

std::string_view name(Means means) {
  static constexpr EnumWords<Means::kDevicePass> kWords = {"", "tuned", "certified", "host_pass",
                                                           "device_pass"};
  return kWords[means];
}

bool all_failed(const KernelCache& compiled, std::span<const RankedChoice> kernels) {
  return compiled.any_failed() && std::ranges::all_of(kernels, [&](const RankedChoice& choice) {
           return compiled.has_failed(choice.candidate->hash);
         });
}

void put_fastest_first(std::vector<KernelChoice>& choices) {
  std::ranges::stable_sort(
      choices, {}, [](const KernelChoice& choice) { return choice.kernels.front().expected_ns; });
}

KernelChooser::KernelChooser(DeviceProfile profile, const DeviceRates& rates, KernelRanking ranking,
                             std::shared_ptr<OnDemandKernels> on_demand,
                             std::shared_ptr<const KernelCache> compiled, double host_gbps)
    : profile_(std::move(profile)),
      rates_(rates),
      ranking_(std::move(ranking)),
      on_demand_(std::move(on_demand)),
      compiled_(std::move(compiled)),
      host_gbps_(host_gbps) {}

KernelChoice KernelChooser::choose(const Problem& p) const {
  if (is_grouped(p)) return choose_on_device(kernel_problem(p));
  if (is_tuned(kernel_problem(p))) return {.means = Means::kTuned, .problem = p};
  KernelChoice own = {.means = Means::kCertified, .problem = p};
  if (!widens_sums(p.types)) {
    OnDemandKernels::Certified found = certified(p);
    own.kernels = std::move(found.kernels);
    own.may_improve = found.may_improve;
  }
  const std::optional<Problem> plain = before_host_pass(p);
  if (!plain) return own.kernels.empty() ? KernelChoice{.problem = p} : own;
  const Types& types = plain->types;
  KernelChoice pass = {.means = Means::kHostPass,
                       .problem = *plain,
                       .pass_ns = host_gbps_ > 0 ? host_pass_bytes(p, types) / host_gbps_ : 0,
                       .pass_over = operands_of_host_pass(p, types)};
  if (own.kernels.empty()) return pass;
  // Of the same operands the kernel that needs no pass is the faster one.
  if (!widens_b(p, types) || host_gbps_ <= 0) return own;
  const double own_ns = predicted_ns(p, own.kernels);
  return predicted_ns(pass.problem, ranked(pass)) + pass.pass_ns < own_ns ? pass : own;
}

std::vector<RankedChoice> KernelChooser::ranked(const KernelChoice& choice) const {
  if (choice.means != Means::kTuned && choice.means != Means::kHostPass) return choice.kernels;
  std::vector<RankedChoice> kernels = recently_ranked(kernel_problem(choice.problem));
  if (kernels.empty() && choice.means == Means::kHostPass) return certified(choice.problem).kernels;
  return kernels;
}

std::vector<RankedChoice> KernelChooser::ranked(const GemmCall& call) const {
  if (call.packed == nullptr || !reads_operands(call.problem)) return ranked(call.problem);
  Problem p = kernel_problem(call.problem);
  const PackedForm* const stored = call.packed->stored();
  if (stored != nullptr) (call.packed->shape.operand == Operand::kA ? p.lda : p.ldb) = stored->ld;
  return recent_.ranked(p, own_buffers(p), profile_.limits, call.packed.get(),
                        stored != nullptr ? IsStored::kYes : IsStored::kNo);
}

std::vector<RankedChoice> KernelChooser::ranked_prepacked(const Problem& p, Operand operand,
                                                          StagedCopies others) const {
  using Use = PrepackedOperand::Use;
  const Problem staged = others == StagedCopies::kYes ? kernel_problem(p) : p;
  return ranking_.ranked(staged, own_buffers(staged), profile_.limits,
                         PrepackedOperand{.operand = operand, .use = [&](const Variant& v) {
                                            return packed_format(v, staged, operand)
                                                       ? Use::kReadsPacked
                                                       : Use::kReadsStored;
                                          }});
}

double KernelChooser::working_ns(std::span<const RankedChoice> kernels) const {
  for (const RankedChoice& kernel : kernels)
    if (!compiled_->has_failed(kernel.candidate->hash)) return kernel.expected_ns;
  return std::numeric_limits<double>::infinity();
}

template <typename Ns>
Types KernelChooser::faster_types(const Problem& p, const Ns& ns) const {
  Problem x = p;
  x.types = unrounded(p.types);
  if (!rounds_ || p.types.rounding == Rounding::kNone) return x.types;
  Types fastest = x.types;
  double least_ns = ns(x);
  for (const Rounding rounding : {Rounding::kHalf, Rounding::kInt8}) {
    if (rounding > p.types.rounding) break;
    x.types.rounding = rounding;
    if (const double found_ns = ns(x); found_ns < least_ns) {
      fastest = x.types;
      least_ns = found_ns;
    }
  }
  return fastest;
}

bool KernelChooser::rounds(const Problem& p) const {
  return rounds_ &&
         std::ranges::any_of(std::array{Rounding::kHalf, Rounding::kInt8}, [&](Rounding rounding) {
           if (rounding > p.types.rounding) return false;
           Problem x = p;
           x.types.rounding = rounding;
           return is_tuned(kernel_problem(choose(x).problem));
         });
}

Types KernelChooser::rounded_types(const Problem& p) const {
  return faster_types(p, [this](const Problem& x) {
    const KernelChoice choice = choose(x);
    return working_ns(ranked(choice)) + choice.pass_ns;
  });
}

Types KernelChooser::rounded_types(const Problem& p, const OnDevice& where) const {
  return faster_types(p, [&](const Problem& x) {
    double best_ns = std::numeric_limits<double>::infinity();
    for (const KernelChoice& choice : choices_on_device(x, where))
      best_ns = std::min(best_ns, working_ns(choice.kernels));
    return best_ns;
  });
}

std::string KernelChooser::why_no_kernel(const Problem& p) const {
  const Problem staged = kernel_problem(tunable_problem(p));
  return ranking_.has_class(staged)
             ? ranking_.refusal(staged)
             : illegal_reason(fallback_variant(), profile_.limits, staged, own_buffers(staged))
                   .value_or("");
}

bool KernelChooser::may_certify(const Problem& of_call) const {
  const Problem p = tunable_problem(of_call);
  if (on_demand_ == nullptr || is_tuned(kernel_problem(p))) return false;
  const auto may = [this](const Problem& staged) {
    return on_demand_->may_certify(ranking_, staged, own_buffers(staged), profile_.limits);
  };
  const std::optional<Problem> plain = dividable(p);
  return may(kernel_problem(p)) || (plain && may(kernel_problem(*plain)));
}

bool KernelChooser::request_kernel(const Problem& of_call) const {
  const Problem p = tunable_problem(of_call);
  if (on_demand_ == nullptr || is_tuned(kernel_problem(p))) return false;
  const auto request = [this](const Problem& staged) {
    return on_demand_->request(ranking_, staged, own_buffers(staged), profile_.limits);
  };
  const std::optional<Problem> plain = dividable(p);
  return request(kernel_problem(p)) ||
         (plain && !is_tuned(kernel_problem(*plain)) && request(kernel_problem(*plain)));
}

std::vector<KernelChoice> KernelChooser::choices_on_device(const Problem& p,
                                                           const OnDevice& where) const {
  const auto tuned = [&]() -> KernelChoice {
    return {.means = Means::kTuned,
            .problem = p,
            .kernels = recent_.ranked(p, where.at, where.limits, where.packed, where.is_stored)};
  };
  std::vector<KernelChoice> choices;
  const auto add = [&](KernelChoice choice) {
    if (!choice.kernels.empty()) choices.push_back(std::move(choice));
  };
  const bool has_class = ranking_.has_class(p);
  if (has_class) add(tuned());
  // Of a tuned class, sums that are too long for the driver's loops may have no kernel but a pass.
  if (!choices.empty()) return choices;
  if (on_demand_ != nullptr)
    add({.means = Means::kCertified,
         .problem = p,
         .kernels = on_demand_->ranked(ranking_, p, where.at, where.limits).kernels});
  if (!is_grouped(p))  // No pass over C knows groups.
    add({.means = Means::kDevicePass,
         .problem = p,
         .pass_ns = device_pass_ns(p, rates_),
         .kernels = ranked_before_device_pass(p, where)});
  put_fastest_first(choices);
  // What was tuned for groups of quite other sizes is still faster than the fallback.
  if (is_grouped(p) && !has_class) add(tuned());
  return choices;
}

KernelChoice KernelChooser::choose_on_device(const Problem& p) const {
  if (is_tuned(p)) return {.means = Means::kTuned, .problem = p, .kernels = recently_ranked(p)};
  const Placement at = own_buffers(p);
  std::vector<KernelChoice> choices = choices_on_device(p, {.at = at, .limits = profile_.limits});
  return choices.empty() ? KernelChoice{.problem = p} : std::move(choices.front());
}

bool KernelChooser::is_tuned(const Problem& staged) const {
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
bool KernelChooser::is_long(const Problem& p) const {
  constexpr std::int64_t kMostTripsOfStep = 8;
  const std::int64_t most = profile_.limits.max_loop_trips;
  return most > 0 && p.k > most / kMostTripsOfStep;
}

std::optional<Problem> KernelChooser::before_host_pass(const Problem& p) const {
  const auto computed = [&](const Types& types) -> std::optional<Problem> {
    const Problem plain = problem_before_host_pass(p, types);
    if (is_tuned(kernel_problem(plain))) return plain;
    const bool certifies = is_long(plain) || widens_sums(p.types);
    return certifies && !certified(plain).kernels.empty() ? std::optional(plain) : std::nullopt;
  };
  const Types own = types_before_pass(p), widened = widens_sums(p.types) ? kFloat64Types : Types();
  if (const auto plain = computed(own)) return plain;
  // Sums of 8-bit integers are exact, those of float64 operands float64, and float32 holds neither.
  const bool too_narrow = !widens_sums(p.types) && (is_8_bit(p.types.a) || is_float64(p.types));
  return too_narrow || own == widened ? std::nullopt : computed(widened);
}

std::optional<Problem> KernelChooser::dividable(const Problem& p) const {
  if (!is_long(p) || is_grouped(p)) return std::nullopt;
  const Types types = types_before_pass(p);
  const Problem plain = problem_before_host_pass(p, quantized(types) ? Types{} : types);
  if (signature_of(plain) == signature_of(p)) return std::nullopt;
  return plain;
}

OnDemandKernels::Certified KernelChooser::certified(const Problem& p) const {
  if (on_demand_ == nullptr) return {};
  const Problem staged = kernel_problem(p);
  OnDemandKernels::Certified certified =
      on_demand_->ranked(ranking_, staged, own_buffers(staged), profile_.limits);
  if (all_failed(*compiled_, certified.kernels)) return {};
  return certified;
}

std::vector<RankedChoice> KernelChooser::recently_ranked(const Problem& staged) const {
  return recent_.ranked(staged, own_buffers(staged), profile_.limits);
}

std::vector<RankedChoice> KernelChooser::ranked_before_device_pass(const Problem& p,
                                                                   const OnDevice& where) const {
  const Problem plain = problem_before_device_pass(p);
  if (!ranking_.has_class(plain)) return {};
  Placement plain_at = where.at;
  plain_at.offset_c = 0;
  std::vector<RankedChoice> kernels = ranking_.ranked(
      plain, plain_at, where.limits, prepacked(where.packed, plain, where.is_stored));
  std::erase_if(kernels, [&](const RankedChoice& choice) {
    return illegal_reason(choice.candidate->variant, where.limits, p, where.at, SumsIn::kWorkspace)
        .has_value();
  });
  const double pass_ns = device_pass_ns(p, ranking_.rates());
  for (RankedChoice& choice : kernels) choice.expected_ns += pass_ns;
  return kernels;
}

double KernelChooser::predicted_ns(const Problem& p, std::span<const RankedChoice> kernels) const {
  if (kernels.empty()) return std::numeric_limits<double>::infinity();
  const OperandPlaces places = {
      .max_binding_bytes = static_cast<double>(profile_.limits.max_storage_buffer_range_bytes)};
  return transfers(p, places, rates_).ns() + kernels.front().expected_ns;
}

}  // namespace rooftile
