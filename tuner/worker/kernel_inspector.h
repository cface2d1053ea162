// Compiles kernels in a worker and returns the driver compiler's statistics of them. Nothing is run
// on the device, so that a driver without its hardware is enough.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "core/device_profile.h"
#include "core/variant.h"
#include "generator/signature.h"
#include "inspect/inspection.h"

namespace rooftile {

class WorkerProcess;

struct InspectedKernel {
  KernelInspection inspection;
  std::string assembly;  ///< Empty where the driver gives none.
};

/// The inspection of a kernel that a rule forbids.
InspectedKernel illegal_kernel(const Variant& variant, const Signature& signature,
                               const std::string& reason);

/// Not thread-safe.
class KernelInspector {
 public:
  /// `program` is run as `program worker`; empty: /proc/self/exe. What the compiler says of a
  /// kernel is kept in a file in the folder `kept`, which is made, and read from there in place of
  /// compiling the same code for the same device and driver again; empty: nothing is kept.
  KernelInspector(const DeviceProfile& device, double time_limit_s,
                  const std::filesystem::path& program = {}, std::filesystem::path kept = {});
  ~KernelInspector();

  /// Compiles the kernel unless a rule forbids it. A compiler that crashes, hangs or refuses is
  /// told in the inspection. Throws kDevice where the worker cannot open the device, kIo where a
  /// file cannot be kept, and nothing else; after `stop` became true the inspection has no meaning.
  InspectedKernel inspect(const Variant& variant, const Signature& signature,
                          const std::atomic<bool>& stop);

 private:
  DeviceProfile device_;
  double time_limit_s_;
  std::filesystem::path kept_;
  std::unique_ptr<WorkerProcess> worker_;
};

}  // namespace rooftile
