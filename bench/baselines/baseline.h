// A vendor's library as a further contestant: the same products on the same device, timed by the
// device. Libraries are loaded at run time; nothing of them is needed to build.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_profile.h"
#include "core/problem.h"

namespace rooftile {

struct BaselineSetting {
  std::string library;      // path of the vendor's library; "": searched where it usually is
  std::string device_uuid;  // of the device under test, 32 hex digits: run there if it is known
  DeviceKind kind = DeviceKind::kOther;  // of the device under test: else run on one like it
};

/// Holds one problem at a time. Not thread-safe. Errors of all functions: kUnsupported for what the
/// library or its device cannot do, kOutOfMemory, kDevice.
class Baseline {
 public:
  virtual ~Baseline() = default;

  virtual std::string name() const = 0;     // the contestant's: "cublas"
  virtual std::string library() const = 0;  // with version and file
  virtual std::string device() const = 0;   // with its relation to the one under test
  virtual std::string clock() const = 0;    // where run()'s time is from

  /// Memory for so many sets of operands of a plain product (no epilogue, no quantised B, beta 0);
  /// what was loaded before is freed. C is NaN (-1 if integer) until the first run.
  virtual void load(const Problem& p, std::size_t sets) = 0;
  /// a and b: host memory of span_a(p) and span_b(p) elements.
  virtual void upload(std::size_t set, const void* a, const void* b) = 0;
  /// All products of the batch; returns when they are done. The device's time in ns, without what
  /// the host takes to issue the work.
  virtual double run(std::size_t set) = 0;
  /// span_c(p) elements.
  virtual std::vector<char> result(std::size_t set) = 0;
};

std::vector<std::string> baseline_names();
/// Throws kInvalidArgument for an unknown name, kUnsupported with what to install when a library or
/// a device is missing.
std::unique_ptr<Baseline> open_baseline(std::string_view name, const BaselineSetting& setting);
std::unique_ptr<Baseline> open_cublas(const BaselineSetting& setting);
std::unique_ptr<Baseline> open_clblast(const BaselineSetting& setting);

/// Throws kUnsupported unless load() may be asked for it.
void expect_plain_product(const std::string& baseline, const Problem& p);

}  // namespace rooftile
