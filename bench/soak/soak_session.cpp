#include "soak_session.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/error.h"
#include "db/store.h"
#include "generator/emit.h"
#include "generator/version.h"
#include "runtime/model/calibration.h"
#include "runtime/verify/certify_run.h"

namespace rooftile {
namespace {

Calibration calibration_of(HostSpeed speed) {
  Calibration x = {.device = {.submit_ns = 4e4,
                              .upload_gbps = 10,
                              .download_gbps = 10,
                              .fma_gflops = 80,
                              .levels = {{"memory", 12}},
                              .compute_units = 2}};
  const HostRates slow = {.call_ns = 1e9, .gbps = 0.1, .gemm = {{64, 64, 64, 0.1}}},
                  even = {.call_ns = 4e4, .gbps = 10, .gemm = {{64, 64, 64, 4}}},
                  fast = {.call_ns = 100, .gbps = 20, .gemm = {{64, 64, 64, 20}}};
  x.host = x.host1 = speed == HostSpeed::kSlow ? slow : speed == HostSpeed::kEven ? even : fast;
  return x;
}

/// A problem of a class, on which the kernel counts as tuned.
Problem tuned_problem(const Signature& s) {
  constexpr std::int64_t kSide = 64;
  Problem p = s.grouped ? grouped_problem(kSide, kSide, kSide, {.experts = 3, .groups = 4},
                                          s.trans_b, s.types)
                        : packed_problem(kSide, kSide, kSide, s.trans_a, s.trans_b, 1, s.types);
  if (quantized(s.types) && !s.grouped) p = retyped(p, s.types);
  p.trans_a = s.trans_a;
  p.epilogue = s.epilogue;
  return p;
}

void write_database(const std::filesystem::path& file, const DeviceProfile& device,
                    const SoakCase& test) {
  constexpr double kKernelNs = 1e5;
  Store store(file);
  const RowId row = store.device_id(device);
  store.add_calibration(row, to_figures(calibration_of(test.host)));
  const Problem p = tuned_problem(test.tuned);
  const RowId candidate = store.candidate_id({.hash = emit_gemm(test.kernel, test.tuned).hash,
                                              .signature = to_string(test.tuned),
                                              .variant = test.kernel});
  store.put_certificate(row, candidate, kGeneratorVersion, true, "drawn for the soak test");
  const std::vector<WinnerRecord> winners = {
      {.candidate = candidate, .problem = store.problem_id(p), .rank = 0, .kernel_ns = kKernelNs}};
  store.put_winners(row, to_string(bucket_of(p)), winners);
}

/// Whether a call may be refused: what was asked for cannot be, or only the device may compute.
bool may_be_refused(const SoakCase& test) {
  const bool only_device = test.tier == TierChoice::kDevice || is_resident(test.way) ||
                           (test.way == Way::kPacked && !test.original);
  const bool strict = test.accuracy == Accuracy::kHigh || test.accuracy == Accuracy::kExact64 ||
                      test.scan || test.spots;
  return only_device || (strict && is_grouped(test.problem));
}

}  // namespace

void expect_ok(rooftile_status status, const char* what) {
  if (status != ROOFTILE_OK)
    fail(ErrorCode::kInternal, "{}: status {}: {}", what, static_cast<int>(status),
         rooftile_last_error());
}

bool share_session(const SoakCase& x, const SoakCase& y) {
  const bool drop_in = is_drop_in(x.way);
  return x.tuned == y.tuned && x.kernel == y.kernel && x.host == y.host &&
         x.deterministic == y.deterministic && drop_in == is_drop_in(y.way) &&
         (!drop_in || x.tier == y.tier);
}

SoakSession::SoakSession(const SoakCase& first, const DeviceProfile& device,
                         const std::filesystem::path& folder)
    : first_(first), profile_(device), file_(folder / "soak.db") {
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(file_.string() + part);
  write_database(file_, device, first);
  ::setenv("ROOFTILE_CACHE", (folder / "cache").c_str(), 1);
  if (is_drop_in(first.way)) {
    const std::string tier(tier_choice_names()[static_cast<std::size_t>(first.tier)]);
    ::setenv("ROOFTILE_DB", file_.c_str(), 1);
    ::setenv("ROOFTILE_TIER", tier.c_str(), 1);
    return;
  }
  const rooftile_options opened = options();
  expect_ok(rooftile_open(&opened, &context_), "rooftile_open");
}

rooftile_options SoakSession::options() const {
  return {.struct_size = sizeof(rooftile_options),
          .database_path = file_.c_str(),
          .no_untuned_log = 1,
          .deterministic = first_.deterministic ? 1 : 0};
}

SoakSession::~SoakSession() { rooftile_close(context_); }

SoakVerdict SoakSession::run(const SoakCase& test) {
  if (test.way == Way::kKernel) return run_kernel(test);
  SoakOperands operands(test);
  Outcome outcome;
  switch (test.way) {
    case Way::kFortran:
    case Way::kCblas:
    case Way::kStrided:
    case Way::kArrays:
    case Way::kSyrk:
      call_drop_in(test, operands);
      break;
    case Way::kPacked:
      outcome = call_packed(test, operands);
      break;
    case Way::kResident:
    case Way::kList:
    case Way::kPackedResident:
      outcome = call_resident(test, operands);
      break;
    case Way::kVulkan:
      outcome = call_vulkan(test, operands);
      break;
    default:
      outcome = call(test, operands);
  }
  return judge(test, operands, outcome);
}

SoakSession::Outcome SoakSession::call(const SoakCase& test, SoakOperands& operands) {
  SoakCall call(test, operands, SoakCall::Pointers::kHost);
  const rooftile_gemm_args& x = call.args;
  rooftile_status status = ROOFTILE_OK;
  if (test.way == Way::kSgemm) {
    const rooftile_sgemm_args args = {.struct_size = sizeof args,
                                      .layout = x.layout,
                                      .trans_a = x.trans_a,
                                      .trans_b = x.trans_b,
                                      .m = x.m,
                                      .n = x.n,
                                      .k = x.k,
                                      .alpha = x.alpha,
                                      .a = static_cast<const float*>(x.a),
                                      .lda = x.lda,
                                      .b = static_cast<const float*>(x.b),
                                      .ldb = x.ldb,
                                      .beta = x.beta,
                                      .c = static_cast<float*>(x.c),
                                      .ldc = x.ldc,
                                      .tier = x.tier,
                                      .guard = x.guard};
    status = rooftile_sgemm(context_, &args);
  } else if (is_grouped(test.problem)) {
    status = rooftile_grouped_gemm(context_, &x, &call.groups);
  } else {
    status = rooftile_gemm(context_, &x);
  }
  return {status, status == ROOFTILE_OK ? "" : rooftile_last_error()};
}

SoakSession::Outcome SoakSession::call_packed(const SoakCase& test, SoakOperands& operands) {
  SoakCall call(test, operands, SoakCall::Pointers::kHost);
  // A column-major call has the operands of the row-major one in exchanged roles.
  const bool is_a = (test.packed == Operand::kA) == (test.layout == Layout::kRowMajor);
  const rooftile_pack_args pack = {.struct_size = sizeof pack,
                                   .operand = is_a ? ROOFTILE_OPERAND_A : ROOFTILE_OPERAND_B,
                                   .call = &call.args};
  rooftile_packed* packed = nullptr;
  rooftile_status status = rooftile_pack(context_, &pack, &packed);
  if (status == ROOFTILE_OK) {
    call.args.packed = packed;
    if (!test.original && is_a) call.args.a = nullptr, call.args.lda = 0;
    if (!test.original && !is_a) call.args.b = nullptr, call.args.ldb = 0;
    status = rooftile_gemm(context_, &call.args);
  }
  Outcome outcome = {status, status == ROOFTILE_OK ? "" : rooftile_last_error()};
  expect_ok(rooftile_packed_release(packed), "rooftile_packed_release");
  return outcome;
}

SoakVerdict SoakSession::run_kernel(const SoakCase& test) {
  if (kernel_ == nullptr) {
    device_ = Device::open(profile_);
    kernel_ = std::make_unique<Kernel>(device_, test.kernel, test.tuned,
                                       ShaderCache(std::filesystem::path()));
    // Compilers of software devices take their time, which counts as none of the kernel's.
    constexpr double kCompilerNs = 100e9;
    kernel_->warm_up(kCompilerNs);
  }
  const CertificationCase one = SoakOperands::certification_case(test);
  if (const auto illegal = illegal_reason(test.kernel, profile_.limits, test.problem,
                                          guarded_placement(test.problem)))
    return {.refused = *illegal};
  const CaseResult result = run_case(*device_, *kernel_, one);
  return {
      .wrong = result.wrong, .kernel = short_name(test.kernel), .worst_ratio = result.worst_ratio};
}

SoakVerdict SoakSession::judge(const SoakCase& test, SoakOperands& operands,
                               const Outcome& outcome) const {
  SoakVerdict verdict;
  if (outcome.status == ROOFTILE_OK) {
    if (test.alias == Alias::kCInA) return {.wrong = "a C inside of A was not refused"};
    const CaseResult result = operands.compare(operands.c.data());
    verdict = {
        .wrong = result.wrong, .kernel = answering_kernel(test), .worst_ratio = result.worst_ratio};
    if (verdict.wrong.empty()) verdict.wrong = operands.changed_input();
    return verdict;
  }
  verdict.refused = outcome.message;
  // Where denormals are flushed to zero, or weights are rounded to float16, a device is not as
  // precise as a guard asks. A call that forces it is then refused.
  const Types& t = test.problem.types;
  const bool less_precise =
      test.special == Special::kDenormals || (quantized(t) && t.a == DataType::kF16);
  const bool imprecise = less_precise && test.tier == TierChoice::kDevice &&
                         outcome.status == ROOFTILE_DEVICE_ERROR &&
                         outcome.message.starts_with("spot check: ");
  const bool right =
      test.alias == Alias::kCInA
          ? outcome.status == ROOFTILE_INVALID_ARGUMENT
          : imprecise || (outcome.status == ROOFTILE_UNSUPPORTED && may_be_refused(test));
  if (!right)
    verdict.wrong = fmt::format("status {}: {}", static_cast<int>(outcome.status), outcome.message);
  else if (!operands.c_is_untouched() || !operands.changed_input().empty())
    verdict.wrong = "a call that was refused wrote into an operand: " + outcome.message;
  return verdict;
}

std::string SoakSession::answering_kernel(const SoakCase& test) const {
  if (context_ == nullptr || is_grouped(test.problem) || test.way >= Way::kResident) return "";
  rooftile_decision decision = {.struct_size = sizeof decision};
  if (rooftile_last_decision(context_, &decision) != ROOFTILE_OK ||
      decision.tier != ROOFTILE_TIER_DEVICE)
    return "";
  return decision.kernel;
}

}  // namespace rooftile
