// C ABI of rooftile.h. Exceptions become status codes only here.
#include <rooftile/rooftile.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "runtime/abi/c_api_arguments.h"
#include "runtime/abi/c_api_guard.h"
#include "runtime/abi/c_api_plain_call.h"
#include "runtime/abi/handles.h"
#include "runtime/dispatch/context.h"
#include "runtime/support/float_environment.h"
#include "runtime/support/log.h"

namespace rooftile {
namespace {

rooftile_tier c_tier(Tier tier) {
  static constexpr std::array kTiers = {ROOFTILE_TIER_DEVICE, ROOFTILE_TIER_HOST,
                                        ROOFTILE_TIER_HOST1, ROOFTILE_TIER_HOST64,
                                        ROOFTILE_TIER_SPLIT};
  static_assert(kTiers.size() == static_cast<std::size_t>(Tier::kSplit) + 1);
  return kTiers[static_cast<std::size_t>(tier)];
}

rooftile_reason c_reason(Reason reason) {
  static constexpr std::array kReasons = {ROOFTILE_REASON_PREDICTED,     ROOFTILE_REASON_FORCED,
                                          ROOFTILE_REASON_COMPILING,     ROOFTILE_REASON_FAILED,
                                          ROOFTILE_REASON_NOTHING_TO_DO, ROOFTILE_REASON_PRECISION,
                                          ROOFTILE_REASON_MEASURED};
  static_assert(kReasons.size() == static_cast<std::size_t>(Reason::kMeasured) + 1);
  return kReasons[static_cast<std::size_t>(reason)];
}

rooftile_decision c_decision(const Explanation& explanation, Tier tier, Reason reason) {
  const Decision& d = explanation.decision;
  rooftile_decision result = {};
  result.tier = c_tier(tier);
  result.reason = c_reason(reason);
  result.device_ns = d.device_ns;
  result.host_ns = d.host_ns;
  result.host1_ns = d.host1_ns;
  result.upload_ns = d.upload_ns;
  result.kernel_ns = d.kernel_ns;
  result.download_ns = d.download_ns;
  result.submit_ns = d.submit_ns;
  result.score = d.score;
  for (std::size_t i = 0; i < d.factors.size(); ++i) {
    copy_text(result.factors[i].name, d.factors[i].name);
    result.factors[i].value = d.factors[i].value;
    result.factors[i].ns = d.factors[i].ns;
  }
  copy_text(result.kernel, explanation.kernel);
  copy_text(result.device, explanation.device_name);
  copy_text(result.veto, d.veto);
  copy_text(result.veto_name, name(d.veto_name));
  result.measured_kernel_ns = explanation.measured_kernel_ns.value_or(0);
  result.pass_ns = d.pass_ns;
  result.split_ns = std::isfinite(explanation.split.ns) ? explanation.split.ns : 0;
  copy_text(result.split, explanation.split.shares);
  copy_text(result.split_reason, explanation.split.reason);
  result.may_round_operands = explanation.may_round_operands ? 1 : 0;
  result.host64_ns = std::isfinite(d.host64_ns) ? d.host64_ns : 0;
  return result;
}

template <typename Args>
void multiply(rooftile_context* context, const Args* args) {
  if (context == nullptr) fail(ErrorCode::kInvalidArgument, "context is null");
  if (const std::optional<PlainCall> plain = plain_call(args);
      plain && context->context.gemm_again(*plain))
    return;
  const QuietArithmetic quiet;  // but for what BLAS computes directly (run_on_host)
  Context::forget_last_answer();
  context->context.gemm(checked_call(args));
}

template <typename Args>
void explain(rooftile_context* context, const Args* args, rooftile_decision* decision) {
  if (context == nullptr) fail(ErrorCode::kInvalidArgument, "context is null");
  const Explanation explanation = context->context.explain(checked_call(args));
  give_struct("decision", decision,
              c_decision(explanation, explanation.decision.tier,
                         explanation.for_precision ? Reason::kPrecision
                         : explanation.forced      ? Reason::kForced
                                                   : Reason::kPredicted));
}

}  // namespace
}  // namespace rooftile

extern "C" {

rooftile_status rooftile_open(const rooftile_options* options, rooftile_context** context) {
  using namespace rooftile;
  return guarded([&] {
    if (context == nullptr)
      fail(ErrorCode::kInvalidArgument, "context is null: there is nowhere to put the result");
    *context = nullptr;
    *context = new rooftile_context{Context(context_options(options))};
  });
}

void rooftile_close(rooftile_context* context) {
  const rooftile::QuietFloats quiet;
  delete context;
}

void rooftile_flush(rooftile_context* context) {
  const rooftile::QuietFloats quiet;
  if (context != nullptr) context->context.write_counts();
}

rooftile_status rooftile_sgemm(rooftile_context* context, const rooftile_sgemm_args* args) {
  using namespace rooftile;
  return translated([&] { multiply(context, args); });
}

rooftile_status rooftile_gemm(rooftile_context* context, const rooftile_gemm_args* args) {
  using namespace rooftile;
  return translated([&] { multiply(context, args); });
}

rooftile_status rooftile_explain(rooftile_context* context, const rooftile_sgemm_args* args,
                                 rooftile_decision* decision) {
  using namespace rooftile;
  return guarded([&] { explain(context, args, decision); });
}

rooftile_status rooftile_explain_gemm(rooftile_context* context, const rooftile_gemm_args* args,
                                      rooftile_decision* decision) {
  using namespace rooftile;
  return guarded([&] { explain(context, args, decision); });
}

rooftile_status rooftile_last_decision(rooftile_context* context, rooftile_decision* decision) {
  using namespace rooftile;
  return guarded([&] {
    if (context == nullptr) fail(ErrorCode::kInvalidArgument, "context is null");
    const std::optional<Answer> answer = context->context.last_answer();
    if (!answer)
      fail(ErrorCode::kUnsupported,
           "this thread's last call failed, was on another context, or there was none");
    give_struct("decision", decision,
                c_decision(context->context.explain_answer(*answer), answer->tier, answer->reason));
  });
}

const char* rooftile_last_error(void) { return rooftile::last_error().c_str(); }

const char* rooftile_version(void) { return ROOFTILE_VERSION; }

/// For the drop-in only, and therefore in no public header: the drop-in and the runtime share one
/// record of printed warnings.
ROOFTILE_API void rooftile_share_warnings(void* said_once) {
  rooftile::share_warnings(static_cast<rooftile::SaidOnce*>(said_once));
}

}  // extern "C"
