// The host tiers: whatever BLAS this machine has, loaded at run time so that its symbols never meet
// the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/problem.h"
#include "runtime/plain_call.h"

namespace rooftile {

enum class HostThreads : std::uint8_t { kAll, kOne };

/// The library that runtime/host_library.h chooses. Thread-safe.
/// One thread: the library's own setting is lowered while there are such calls and restored after
/// them; calls that other threads make into the same BLAS meanwhile may run on one thread too
/// (slower, never wrong).
class HostBlas {
 public:
  /// The process-wide instance. Throws kUnsupported, naming what was tried, when no BLAS can be
  /// loaded.
  static const HostBlas& get();

  /// Row-major, as validate(p) allows, batch 1. Sizes past 2^31 - 1 run as panels (BLAS counts in
  /// 32 bits); an ld past it is kUnsupported unless the operand has one row.
  void sgemm(const Problem& p, const float* a, const float* b, float* c, HostThreads threads) const;
  /// The same for one that BLAS takes as it is.
  void sgemm(const PlainProduct& p, const float* a, const float* b, float* c,
             HostThreads threads) const;
  /// The same for float64 operands.
  void dgemm(const Problem& p, const double* a, const double* b, double* c,
             HostThreads threads = HostThreads::kAll) const;

  int threads() const;                 // all of them
  const std::string& library() const;  // path or soname that was loaded
  std::string core_name()
      const;  // processor whose kernels OpenBLAS took; "unknown" for another BLAS

  HostBlas(const HostBlas&) = delete;
  HostBlas& operator=(const HostBlas&) = delete;

 private:
  HostBlas();
  struct Symbols;
  std::unique_ptr<const Symbols> symbols_;
};

}  // namespace rooftile
