// Calls of classes (types, transposes, epilogue) that were not tuned: by which means the device
// computes them (KernelChooser), and what they cost; and the counts of untuned problems.
#include <fmt/format.h>

#include "generator/signature.h"
#include "runtime/dispatch/context_impl.h"
#include "runtime/kernel/staging.h"
#include "runtime/support/float_environment.h"

namespace rooftile {
namespace {

bool any_on_device(const Residencies& where) {
  return where.a == Residency::kDevice || where.b == Residency::kDevice ||
         where.c == Residency::kDevice;
}

}  // namespace

std::shared_ptr<OnDemandKernels> Context::Impl::kernels_on_demand(const DeviceProfile& profile) {
  if (deterministic == Deterministic::kYes) return nullptr;
  const std::filesystem::path& folder = resident->cache_folder();
  auto kernels = std::make_shared<OnDemandKernels>(
      profile, data.file.empty() ? resident->database() : data.file, folder,
      [profile, folder] { return open_tuned_device(profile, folder); });
  // What was decided before a kernel was certified, or failed, is decided again.
  kernels->when_changed([this] { owner.store(next_owner()); });
  return kernels;
}

std::string Context::Impl::use_untuned_device() try {
  if (device != nullptr) return "";
  const std::lock_guard lock(untuned_device);
  if (device != nullptr) return "";
  if (data.missing == TunedData::Missing::kNothing) return data.note;
  if (deterministic == Deterministic::kYes)
    return data.note + ", and a deterministic context certifies no kernels";
  const QuietFloats quiet;
  const DeviceProfile profile = resident->wanted_profile();
  device.set(std::make_unique<DeviceTier>(
      profile, DeviceRates(), KernelRanking(profile.limits, {}, {}), resident->cache_folder(),
      kernels_on_demand(profile), data.calibration.host.gbps));
  owner.store(next_owner());
  return "";
} catch (const Error& error) {
  return error.what();
}

std::string_view Context::Impl::forced_device(const Problem& p, Veto veto) const {
  switch (veto) {
    case Veto::kNone:
    case Veto::kNothingToMultiply:
    case Veto::kDeviceNotCalibrated:
    case Veto::kHostNotCalibrated:
      return "runs";
    case Veto::kNoKernel:
      return device->chooser()->may_certify(p) ? "certifies_first" : "fails";
    case Veto::kNotTuned:
    case Veto::kDoesNotFit:
    case Veto::kDeviceGone:
    case Veto::kFloat64:
    case Veto::kOther:
      break;
  }
  return "fails";
}

KernelChoice Context::Impl::route_of(const Problem& p, const Residencies& where) const {
  if (device == nullptr) return {};
  if (is_grouped(p)) return device->chooser()->choose_on_device(staged_problem(p));
  if (all_resident(where)) return device->chooser()->choose_on_device(p);
  KernelChoice choice = device->chooser()->choose(p);
  // The host's pass is for operands in its memory.
  if (choice.means == Means::kHostPass && any_on_device(where)) return {.problem = p};
  // Operands are packed for kernels that the tuner measured.
  if (choice.means != Means::kTuned && packed_operand(where)) return {.problem = p};
  return choice;
}

void Context::Impl::ask_means(Call& question) const {
  const Problem& p = question.problem;
  const KernelChoice route = route_of(p, {.a = question.a, .b = question.b, .c = question.c});
  if (route.means == Means::kNone) {
    question.device_veto =
        fmt::format("no kernel for {} is tuned on {}{}", to_string(signature_of(p)),
                    device->profile().name, why_not_certified(p));
    question.device_veto_name = Veto::kNoKernel;
  }
  question.pass_ns = route.pass_ns;
  if (route.means == Means::kHostPass) question.before_pass = route.problem;
  question.pass_over = route.pass_over;
}

std::string Context::Impl::why_not_certified(const Problem& p) const {
  if (const std::string why = device->chooser()->why_no_kernel(p);
      !why.empty() && !device->chooser()->may_certify(p))
    return ": " + why;
  if (device->chooser()->on_demand() == nullptr)
    return ", and a deterministic context certifies none";
  return device->chooser()->may_certify(p) ? "; calls that would gain by one have it certified"
                                           : ", and none could be certified";
}

void Context::write_counts() noexcept {
  if (impl_->untuned != nullptr) impl_->untuned->write();
}

void Context::stop_counting() {
  impl_->counts = false;
  // Invalidates earlier decisions, because they hold pointers to counters.
  impl_->owner.store(next_owner());
}

void Context::wait_for_certificates() const {
  if (impl_->device != nullptr && impl_->device->chooser()->on_demand() != nullptr)
    impl_->device->chooser()->on_demand()->wait();
  if (const auto resident = impl_->resident->opened()) resident->kernels().wait_for_certificates();
}

void Context::Impl::request_kernel(const Problem& p, const Choice& choice) const {
  // A call that goes to the device requests one itself.
  if (device == nullptr || device->chooser()->on_demand() == nullptr ||
      choice.tier == Tier::kDevice)
    return;
  const Means means = device->chooser()->choose(p).means;
  if (means != Means::kNone && means != Means::kHostPass) return;
  if (device->veto(p).name != Veto::kNone) return;  // the device is gone, or the parent's
  Call with_kernel = question(p, {}, {});
  with_kernel.max_binding_bytes =
      static_cast<double>(device->profile().limits.max_storage_buffer_range_bytes);
  if (choose(with_kernel, data.model).tier == Tier::kDevice) device->chooser()->request_kernel(p);
}

}  // namespace rooftile
