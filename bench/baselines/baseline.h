// A vendor's library as a contestant: it computes the same GEMMs on the same device, timed by the
// device. Libraries are loaded at run time and are not needed for the build.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_profile.h"
#include "core/problem.h"

namespace rooftile {

struct BaselineSetting {
  std::string library;  // Path of the vendor's library. "": the usual places are searched.
  // UUID of the device under test (32 hex digits). The library runs there if it finds it.
  std::string device_uuid;
  // Kind of the device under test, for the choice of a similar device.
  DeviceKind kind = DeviceKind::kOther;
};

/// Holds one problem at a time. Not thread-safe. Errors of all functions: kUnsupported for what the
/// library or its device cannot do, kOutOfMemory, kDevice.
class Baseline {
 public:
  virtual ~Baseline() = default;

  virtual std::string name() const = 0;     // Name of the contestant: "cublas".
  virtual std::string library() const = 0;  // Name with version and file.
  // Device name, and how it relates to the device under test.
  virtual std::string device() const = 0;
  virtual std::string clock() const = 0;  // Source of run()'s time.

  /// Allocates this many sets of operands of a plain GEMM (no epilogue, beta 0, no B in blocks but
  /// for ggml)
  /// and frees what was loaded before. C is NaN (-1 for integers) until the first run.
  virtual void load(const Problem& p, std::size_t sets) = 0;
  /// a and b point to host memory of span_a(p) and span_b(p) elements, b to the blocks of a file.
  virtual void upload(std::size_t set, const void* a, const void* b) = 0;
  /// Runs the whole batch and waits for it. Returns the device's time in ns, without the host's
  /// time for issuing the work.
  virtual double run(std::size_t set) = 0;
  /// Reads back span_c(p) elements.
  virtual std::vector<char> result(std::size_t set) = 0;
};

std::vector<std::string> baseline_names();
/// Throws kInvalidArgument for an unknown name, kUnsupported with what to install when a library or
/// a device is missing.
std::unique_ptr<Baseline> open_baseline(std::string_view name, const BaselineSetting& setting);
std::unique_ptr<Baseline> open_cublas(const BaselineSetting& setting);
std::unique_ptr<Baseline> open_clblast(const BaselineSetting& setting);
std::unique_ptr<Baseline> open_ggml(const BaselineSetting& setting);

/// Throws kUnsupported for problems that load() does not accept.
void expect_plain_product(const std::string& baseline, const Problem& p);

}  // namespace rooftile
