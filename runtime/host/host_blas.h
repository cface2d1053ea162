// The host tiers' BLAS library, loaded at run time so that its symbols never clash with the
// caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/problem.h"
#include "runtime/call/plain_call.h"

namespace rooftile {

enum class HostThreads : std::uint8_t { kAll, kOne };

/// The library that runtime/host/host_library.h chooses. Thread-safe.
///
/// One thread: the library's own thread count is lowered while there are such calls, and restored
/// after them. Calls that other threads make into the same BLAS meanwhile may run on one thread too
/// (slower, never wrong).
class HostBlas {
 public:
  /// Returns the process-wide instance. Throws kUnsupported, naming the libraries that were tried,
  /// when no BLAS can be loaded.
  static const HostBlas& get();

  /// Computes a row-major problem of batch 1 that has passed validate(), one row or column of C
  /// mostly as a matrix times a vector (runtime/host/host_gemm.h). Sizes above 2^31 - 1 run as
  /// slices, because BLAS counts in 32 bits, and rows that lie further apart one by one.
  void sgemm(const Problem& p, const float* a, const float* b, float* c, HostThreads threads) const;
  /// Same as above for float64 operands.
  void dgemm(const Problem& p, const double* a, const double* b, double* c,
             HostThreads threads = HostThreads::kAll) const;
  /// Same as above for operands of either type.
  void gemm(const PlainCall& call, HostThreads threads) const;

  int threads() const;                 ///< Thread count of kAll.
  const std::string& library() const;  ///< Path or soname of the loaded library.
  /// Processor whose kernels OpenBLAS uses; "unknown" for another BLAS.
  std::string core_name() const;

  HostBlas(const HostBlas&) = delete;
  HostBlas& operator=(const HostBlas&) = delete;

 private:
  HostBlas();
  struct Symbols;
  std::unique_ptr<const Symbols> symbols_;
};

}  // namespace rooftile
