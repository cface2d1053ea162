// Runs soak cases: a tuning database that offers one kernel, and a context that uses it.
#pragma once

#include <rooftile/rooftile.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "bench/soak/soak_call.h"
#include "core/device_profile.h"
#include "runtime/kernel/kernel.h"

namespace rooftile {

/// What became of one case.
struct SoakVerdict {
  std::string wrong = {};    ///< "" when the result, or the refusal, is right.
  std::string refused = {};  ///< Why the call was refused, where that is right.
  std::string kernel = {};   ///< Name of the kernel that answered; "": none, or not known.
  double worst_ratio = 0;    ///< Largest ratio of error to bound.
};

/// Cases with the same kernel, class, host and determinism share a session.
bool share_session(const SoakCase& x, const SoakCase& y);

/// A context over a database in a folder of its own. The drop-in opens its database once per
/// process: of all sessions in a process, one may have cases of the drop-in.
class SoakSession {
 public:
  SoakSession(const SoakCase& first, const DeviceProfile& device,
              const std::filesystem::path& folder);
  ~SoakSession();
  SoakSession(const SoakSession&) = delete;
  SoakSession& operator=(const SoakSession&) = delete;

  SoakVerdict run(const SoakCase& test);

 private:
  /// The outcome of a call of the C ABI.
  struct Outcome {
    rooftile_status status = ROOFTILE_OK;
    std::string message = {};
  };
  rooftile_options options() const;  ///< It holds as long as the session.
  Outcome call(const SoakCase& test, SoakOperands& operands);
  Outcome call_packed(const SoakCase& test, SoakOperands& operands);
  Outcome call_resident(const SoakCase& test, SoakOperands& operands);
  Outcome call_vulkan(const SoakCase& test, SoakOperands& operands);
  void call_drop_in(const SoakCase& test, SoakOperands& operands);
  SoakVerdict run_kernel(const SoakCase& test);
  SoakVerdict judge(const SoakCase& test, SoakOperands& operands, const Outcome& outcome) const;
  std::string answering_kernel(const SoakCase& test) const;

  SoakCase first_;
  DeviceProfile profile_;
  std::filesystem::path file_;
  rooftile_context* context_ = nullptr;
  std::shared_ptr<Device> device_;  ///< Of kKernel.
  std::unique_ptr<Kernel> kernel_;
  struct Program;
  std::shared_ptr<Program> program_;  ///< Of kVulkan.
};

/// Throws Error where a status of the C ABI that must be OK is not.
void expect_ok(rooftile_status status, const char* what);

}  // namespace rooftile
