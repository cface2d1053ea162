// Random kernels, and random calls on them.
#pragma once

#include <map>
#include <vector>

#include "bench/soak/soak_case.h"
#include "core/device_profile.h"
#include "core/numbers/random.h"

namespace rooftile {

/// Draws from the whole space of kernels that are legal on a device. Not thread-safe.
class CaseSource {
 public:
  /// Kernels have at most so much work for the driver's compiler (generator/compiler_work.h).
  CaseSource(const DeviceLimits& limits, std::uint64_t seed, double most_work);

  /// A kernel with the class that it is tuned for, and what holds for all cases of its session.
  SoakCase session(bool drop_in);
  /// A call in that session, which is the last one drawn. Most are of the kernel's class, and in
  /// every other session some of another class.
  SoakCase next(const SoakCase& session);

 private:
  Signature signature();
  Epilogue epilogue(const Types& types);
  Types types();
  std::int64_t size(int tile);
  void draw_sizes(Problem& p, const Variant& v);
  void draw_memory(SoakCase& test);
  void draw_scalars(Problem& p);
  void draw_groups(SoakCase& test);
  void draw_way(SoakCase& test);
  void draw_drop_in(SoakCase& test);
  void draw_accuracy(SoakCase& test);
  void draw_alias(SoakCase& test);
  bool one_in(std::uint64_t count) { return random_.below(count) == 0; }
  template <typename T>
  T any_of(const std::vector<T>& values) {
    return values[random_.below(values.size())];
  }

  const DeviceLimits limits_;
  Random random_;
  const double most_work_;
  Signature other_ = {};  ///< Class of the session's calls that are not of its kernel's.
  std::map<Family, std::vector<Variant>> families_;
};

/// Whether these things go together. Where they do not, there is no such case.
bool goes_together(const SoakCase& test);

}  // namespace rooftile
