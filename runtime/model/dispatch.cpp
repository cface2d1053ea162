#include "runtime/model/dispatch.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/enum_words.h"
#include "runtime/model/factors.h"

namespace rooftile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double copy_ns(double bytes, double gbps) { return gbps > 0 ? bytes / gbps : 0; }

struct Moves {
  double up = 0, down = 0;  // In bytes.
};

/// Returns the problem that the device computes.
const Problem& on_device(const Call& call) {
  return call.before_pass ? *call.before_pass : call.problem;
}

Transfers transfers_of(const Call& call, const DeviceRates& device) {
  if (call.slices > 0) return call.slice_transfers;
  return transfers(on_device(call),
                   {call.a, call.b, call.c, call.c_is_checked, call.max_binding_bytes}, device);
}

/// Returns the time of transfers that overlapping computation hides: while one slice is computed,
/// the operands of the next are uploaded and the result of the last is downloaded. The first upload
/// and the last download remain.
double overlapped_ns(const Call& call, double transfer_ns, double kernel_ns,
                     const DeviceRates& device) {
  if (call.slices < 2 || call.before_pass) return 0;
  return device.overlap * std::min(transfer_ns, kernel_ns) * (call.slices - 1) / call.slices;
}

Moves moves_for_host(const Call& call, const OperandBytes& bytes) {
  Moves moves;
  if (call.a == Residency::kDevice) moves.down += bytes.a;
  if (call.b == Residency::kDevice) moves.down += bytes.b;
  if (call.c == Residency::kDevice) {
    moves.up += bytes.c;
    if (call.problem.beta != 0.0f) moves.down += bytes.c;
  }
  return moves;
}

/// Time for the host to access device-resident operands. Where the host cannot map the device's
/// memory, each direction takes a submission, whose time stands in where the transfer was not
/// measured.
double fetch_ns(const Moves& moves, const DeviceRates& device) {
  const double least = device.fetch_ns > 0 ? device.fetch_ns : device.submit_ns;
  double ns = 0;
  if (moves.down > 0) ns += least + copy_ns(moves.down, device.download_gbps);
  if (moves.up > 0) ns += least + copy_ns(moves.up, device.upload_gbps);
  return ns;
}

/// Time of a host tier besides the GEMM: each separate epilogue pass reads and writes C, and
/// device-resident operands are fetched and C is written back.
double host_extra_ns(const Call& call, const OperandBytes& bytes, const HostModel& host,
                     const DeviceRates& device) {
  return call.extra_passes_over_c * copy_ns(2 * bytes.c, host.gbps()) +
         fetch_ns(moves_for_host(call, bytes), device);
}

struct HostTime {
  double blas = kInfinity, extra = 0;
  double total() const { return blas + extra; }
};

HostTime host_time(const Call& call, const OperandBytes& bytes, const LogSizes& sizes,
                   const HostModel& host, const DeviceRates& device) {
  if (!host.calibrated()) return {};
  return {.blas = host.predict_ns(call.problem, sizes),
          .extra = host_extra_ns(call, bytes, host, device)};
}

/// The host's part of a decision.
struct HostSide {
  HostTime host, host1, host64;
  Tier tier = Tier::kHost;  // Tier that competes with the device.

  const HostTime& best() const {
    if (tier == Tier::kHost64) return host64;
    return tier == Tier::kHost1 ? host1 : host;
  }
};

HostSide host_side(const Call& call, const LogSizes& sizes, const DispatchModel& model) {
  const OperandBytes bytes = operand_bytes(call.problem);
  const auto time_of = [&](Tier tier) {
    return host_time(call, bytes, sizes, model.host(tier), model.device());
  };
  HostSide times = {.host = time_of(Tier::kHost), .host1 = time_of(Tier::kHost1)};
  if (call.host_in_float64 && model.host(Tier::kHost64).calibrated()) {
    times.host64 = time_of(Tier::kHost64);
    times.tier = Tier::kHost64;
  } else {
    times.tier = faster_host(times.host.total(), times.host1.total());
  }
  return times;
}

double score(double best_host_ns, double device_ns) { return best_host_ns / device_ns; }

Tier chosen(Tier host, double score) { return score > 1 ? Tier::kDevice : host; }

struct Reason {
  Veto name = Veto::kNone;
  std::string_view text = {};
};

Reason uncalibrated(const DispatchModel& model, double host_ns) {
  if (!is_calibrated(model.device()))
    return {Veto::kDeviceNotCalibrated, "the device is not calibrated"};
  if (host_ns == kInfinity) return {Veto::kHostNotCalibrated, "the host is not calibrated"};
  return {};
}

/// Returns the first reason that rules the device out, or none.
Reason veto_reason(const Call& call, const DispatchModel& model, const HostTime& host) {
  if (!call.device_veto.empty()) return {call.device_veto_name, call.device_veto};
  const Problem& p = call.problem;
  if (p.m <= 0 || p.n <= 0 || p.k <= 0 || p.batch <= 0)
    return {Veto::kNothingToMultiply, "nothing to multiply: m, n, k or batch is 0"};
  return uncalibrated(model, host.total());
}

TimeParts time_parts(const Call& call, const Transfers& moved, const LogSizes& sizes,
                     const DispatchModel& model, const HostTime& time, const HostModel& host) {
  const DeviceRates& device = model.device();
  const double kernel =
      call.kernel_ns ? *call.kernel_ns : model.kernels().predict_ns(on_device(call), sizes);
  return {.host_roofline = host.roofline_ns(call.problem),
          .host_blas = time.blas,
          .host_extra = time.extra,
          .device_roofline = model.kernels().bound_ns(on_device(call)),
          .kernel = kernel,
          .submit = device.submit_ns * std::max(call.slices, 1.0),
          .transfer_staged = moved.staged_ns(),
          .transfer = moved.ns() - overlapped_ns(call, moved.ns(), kernel, device),
          .pass = call.pass_ns,
          .guard = call.guard_ns,
          .rerun = call.rerun_probability * time.total()};
}

std::array<Factor, 7> vetoed_factors() {
  std::array<Factor, 7> factors;
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i].name = kFactorNames[i];
  factors.back().value = 0;
  return factors;
}

void veto(Decision& d, const Reason& reason) {
  d.veto = reason.text;
  d.veto_name = reason.name;
  d.device_ns = kInfinity;
  d.factors = vetoed_factors();
}

/// Adds the device to a decision that has the host's times and the tier of the fastest of them.
void enter_device(Decision& d, const TimeParts& t, const Transfers& moved) {
  d.device_ns = t.device();
  d.submit_ns = t.submit;
  d.kernel_ns = t.kernel;
  d.pass_ns = t.pass;
  const double shown = moved.ns() > 0 ? t.transfer / moved.ns() : 1;
  d.upload_ns = moved.in_ns * shown;
  d.download_ns = moved.out_ns * shown;
  d.overlapped_ns = moved.ns() - t.transfer;
  d.transfer_paths = moved.transfer_paths;
  d.link_bytes = moved.link_bytes;
  d.factors = all_factors(t, Vetoed::kNo);
  d.score = score(d.best_host_ns, d.device_ns);
  d.tier = chosen(d.tier, d.score);
}

/// Flops at the host's peak or bytes at its bandwidth.
double roofline_ns(const Operation& operation, const HostModel& host) {
  return std::max(copy_ns(operation.flops, host.peak_gflops()),
                  copy_ns(operation.bytes, host.gbps()));
}

double roofline_ns(const Operation& operation, const DeviceRates& device) {
  return std::max(operation.flops / device.fma_gflops,
                  copy_ns(operation.bytes, gbps_for_footprint(device, operation.bytes)));
}

}  // namespace

Tier faster_host(double host_ns, double host1_ns) {
  // Setting one thread costs some 20 ns, which both tiers' calibrations contain with a spread of
  // the same size, and either tier computes such small problems on one thread.
  constexpr double kLeastSavingNs = 100;
  return host1_ns + kLeastSavingNs < host_ns ? Tier::kHost1 : Tier::kHost;
}

std::string_view name(Tier tier) {
  static constexpr EnumWords<Tier::kSplit> kWords = {"device", "host", "host1", "host64", "split"};
  return kWords[tier];
}

std::string_view name(Veto veto) {
  static constexpr EnumWords<Veto::kOther> kWords = {"none",
                                                     "not_tuned",
                                                     "no_kernel",
                                                     "does_not_fit",
                                                     "device_gone",
                                                     "float64",
                                                     "nothing_to_multiply",
                                                     "device_not_calibrated",
                                                     "host_not_calibrated",
                                                     "other"};
  return kWords[veto];
}

bool depends_on_size(Veto veto) {
  return veto == Veto::kNone || veto == Veto::kDoesNotFit || veto == Veto::kNothingToMultiply;
}

DispatchModel::DispatchModel(const Calibration& calibration, DeviceKind kind,
                             std::span<const TunedTime> tuned,
                             std::span<const PredictedClass> predicted)
    : device_(calibration.device), kind_(kind), kernels_(calibration.device, tuned, predicted) {
  const std::array tiers = {calibration.host, calibration.host1, calibration.host64};
  std::vector<HostModel> models = HostModel::of_tiers(tiers);
  host_ = std::move(models[0]);
  host1_ = std::move(models[1]);
  host64_ = std::move(models[2]);
}

const HostModel& DispatchModel::host(Tier tier) const {
  if (tier == Tier::kHost1) return host1_;
  return tier == Tier::kHost64 ? host64_ : host_;
}

Decision decide(const Call& call, const DispatchModel& model) {
  const LogSizes sizes = log_sizes(call.problem);
  const HostSide times = host_side(call, sizes, model);
  const HostTime& best = times.best();
  Decision d;
  d.host_ns = times.host.total();
  d.host1_ns = times.host1.total();
  d.host64_ns = times.host64.total();
  d.tier = times.tier;
  d.best_host_ns = best.total();
  d.pass_over = call.pass_over;
  if (const Reason reason = veto_reason(call, model, best); reason.name != Veto::kNone) {
    veto(d, reason);
  } else {
    const Transfers moved = transfers_of(call, model.device());
    enter_device(d, time_parts(call, moved, sizes, model, best, model.host(d.tier)), moved);
  }
  return d;
}

Choice choose(Call call, const DispatchModel& model, const std::function<void(Call&)>& ask_device) {
  const DeviceRates& device = model.device();
  const LogSizes sizes = log_sizes(call.problem);
  const HostSide times = host_side(call, sizes, model);
  Choice choice = {.tier = times.tier,
                   .host_ns = times.host.total(),
                   .host1_ns = times.host1.total(),
                   .best_host_ns = times.best().total()};
  // The other parts of the device's time (kernel, guard, re-runs) are never negative, and kernels
  // of slices take longer than the transfers that they hide.
  const bool calibrated = is_calibrated(device);
  if (calibrated && device.submit_ns >= choice.best_host_ns) return choice;
  if (ask_device) ask_device(call);
  const Transfers moved = transfers_of(call, device);
  if (calibrated) {
    double least_moved_ns = moved.ns();
    if (call.before_pass && !widens_sums(call.problem.types)) {
      Call own = call;
      own.before_pass = std::nullopt;
      least_moved_ns = std::min(least_moved_ns, transfers_of(own, device).ns());
    }
    const double without_kernel = device.submit_ns + least_moved_ns;
    if (without_kernel >= choice.best_host_ns) return choice;
    choice.least_device_ns =
        without_kernel +
        model.kernels().bound_ns(widens_sums(call.problem.types) ? on_device(call) : call.problem);
  }
  choice.veto_name = veto_reason(call, model, times.best()).name;
  if (choice.veto_name != Veto::kNone) return choice;
  choice.device_ns =
      time_parts(call, moved, sizes, model, times.best(), model.host(times.tier)).device();
  choice.tier = chosen(times.tier, score(choice.best_host_ns, choice.device_ns));
  return choice;
}

Decision decide_operation(const OperationCall& call, const DispatchModel& model) {
  const DeviceRates& device = model.device();
  const double fetch = fetch_ns({.up = call.put_bytes, .down = call.fetch_bytes}, device);
  const auto host_ns = [&](Tier tier) {
    const HostModel& host = model.host(tier);
    return host.calibrated() ? host.call_ns() + roofline_ns(call.operation, host) + fetch
                             : kInfinity;
  };
  Decision d;
  d.host_ns = host_ns(Tier::kHost);
  d.host1_ns = host_ns(Tier::kHost1);
  d.host64_ns = kInfinity;
  d.tier = faster_host(d.host_ns, d.host1_ns);
  d.best_host_ns = d.tier == Tier::kHost1 ? d.host1_ns : d.host_ns;
  if (const Reason reason = uncalibrated(model, d.best_host_ns); reason.name != Veto::kNone) {
    veto(d, reason);
    return d;
  }
  const double up = copy_ns(call.upload_bytes, device.upload_gbps),
               down = copy_ns(call.download_bytes, device.download_gbps),
               bound = roofline_ns(call.operation, device);
  const Transfers moved = {.in_ns = up,
                           .out_ns = down,
                           .staged_in_ns = up,
                           .staged_out_ns = down,
                           .link_bytes = call.upload_bytes + call.download_bytes};
  enter_device(d,
               {.host_roofline = roofline_ns(call.operation, model.host(d.tier)),
                .host_blas = d.best_host_ns - fetch,
                .host_extra = fetch,
                .device_roofline = bound,
                .kernel = bound,
                .submit = device.submit_ns,
                .transfer_staged = moved.staged_ns(),
                .transfer = moved.ns()},
               moved);
  return d;
}

}  // namespace rooftile
