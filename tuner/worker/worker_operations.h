// What a worker can be asked for. The worker does it on a device (worker.cpp); a test may do it
// without one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/compiled_executable.h"
#include "tuner/calibrate/calibrate.h"
#include "tuner/worker/measure.h"

namespace rooftile {

/// Requests come one at a time, and open() before all others. Arguments are legal for the device:
/// its limits allow the variant for the signature or the problem, which is valid and not empty.
/// Throws Error; others than open() throw the errors of Measurer and Device.
class WorkerOperations {
 public:
  virtual ~WorkerOperations() = default;

  /// Throws kDevice where there is no device with this UUID. The result lives until the next
  /// open().
  virtual const DeviceProfile& open(const std::string& device_uuid) = 0;
  virtual Calibrated calibrate(double seconds) = 0;
  virtual Figure calibrate_matrix_unit(const MatrixShape& shape, double compute_units) = 0;
  virtual TimeReply time(const TimeRequest& request) = 0;
  /// The same with operands of its own, because changing problems would cost more than timing a
  /// reference.
  virtual TimeReply time_reference(const TimeRequest& request) = 0;
  /// code: CompileReply::code of the kernel; empty: there is none.
  virtual Certificate certify(const Variant& variant, const Signature& signature,
                              const std::string& code) = 0;
  virtual CompileReply compile(const Variant& variant, const Signature& signature) = 0;
  virtual std::vector<CompiledExecutable> inspect(const Variant& variant,
                                                  const Signature& signature) = 0;
  /// Returns nothing where the driver has no counters.
  virtual std::optional<CounterReadings> count(const CountRequest& request) = 0;
};

}  // namespace rooftile
