// A variant's pipelines on one device. The tuner measures this class, and the runtime uses the same
// class.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/variant.h"
#include "generator/plan.h"
#include "generator/sums_in.h"
#include "runtime/device/device.h"
#include "runtime/kernel/shader_cache.h"

namespace rooftile {

/// Operand buffers of one GEMM, and the offsets of the matrices in them.
struct Operands {
  const Buffer* a = nullptr;
  const Buffer* b = nullptr;
  const Buffer* c = nullptr;
  Placement placement;
  const Buffer* vectors = nullptr;  ///< Scales and bias of the epilogue.
  const Buffer* residual = nullptr;
  const Buffer* scales = nullptr;  ///< Scales of a quantised B.
  const Buffer* zero_points = nullptr;
  const Buffer* group_tiles = nullptr;  ///< Of a grouped problem: the list of GroupTiles.
};

/// Group sizes on the device, from which a dispatch makes the list of GroupTiles.
struct GroupSizes {
  const Buffer* sizes = nullptr;    ///< 32-bit integers.
  const Buffer* experts = nullptr;  ///< The same. Null: group i has expert i.
  const Buffer* status =
      nullptr;  ///< One word that the dispatch writes (templates/group_tiles.comp).
};

/// Buffers for packed operands and for the partial sums of split-K, at least as large as a plan
/// requires; null where none is needed.
struct Workspace {
  const Buffer* packed_a = nullptr;
  const Buffer* packed_b = nullptr;
  const Buffer* parts = nullptr;
};

/// Imported memory that a GEMM binds, from its start on; imported_bytes 0: a buffer of Device.
struct BoundOperand {
  std::uint64_t imported_bytes = 0, bound_bytes = 0;
};
struct BoundOperands {
  BoundOperand a = {}, b = {};
};

/// Steps of one GEMM in order. Those before the gemm steps pack operands and clear partial sums,
/// those behind them add partial sums. Barriers between gemm steps count as gemm steps.
struct KernelSteps {
  std::vector<Step> steps;
  std::size_t first_gemm = 0, gemms = 0;
};

/// The steps of each submission, at least one, where each gemm step has a submission of its own:
/// the first also packs, the last also adds the partial sums.
std::vector<std::vector<Step>> submissions_of(KernelSteps kernel);

/// Immutable once built, but for has_run(); thread-safe. Must not outlive its device (which it
/// keeps alive).
class Kernel {
 public:
  /// Compiles everything that the variant needs, on two threads where that is more than one shader.
  /// With sums in a workspace: the plain kernel of sums_signature(signature), and the pass over C
  /// that makes of its sums what the signature wants. Throws kUnsupported with the rule's reason
  /// when it is illegal on the device, kCompile, kDevice.
  Kernel(std::shared_ptr<Device> device, const Variant& variant, const Signature& signature,
         const ShaderCache& cache, SumsIn sums = SumsIn::kC);

  const Variant& variant() const { return variant_; }
  const std::string& hash() const { return hash_; }  // of the gemm shader: the candidate's identity
  SumsIn sums() const { return sums_; }

  /// The driver compiler's statistics of the gemm shader; empty unless the device was opened for
  /// it and its driver provides it.
  std::vector<CompiledExecutable> executables() const { return gemm_.executables(); }

  /// Throws kUnsupported with the rule's reason when the variant is illegal for this problem and
  /// placement.
  GemmPlan plan(const Problem& p, const Placement& placement,
                double max_flops = std::numeric_limits<double>::infinity()) const;

  /// The same for a grouped problem of at most so many GroupTiles.
  GemmPlan plan_grouped(const Problem& p, const Placement& placement, std::int64_t tiles,
                        double max_flops = std::numeric_limits<double>::infinity()) const;

  /// Dispatches all shaders with no workgroups, so that drivers that compile at the first run, as
  /// lavapipe does, compile now for operands bound as in `like`. Small buffers stand in for the
  /// operands. Errors and timeout as Device::run.
  void warm_up(double timeout_ns, const BoundOperands& like = {}) const;

  /// Whether a run of it has finished, so that no compiler stands before the next one. Thread-safe.
  bool has_run() const { return *has_run_; }
  void note_run() const { *has_run_ = true; }

  /// Returns the plan's steps, with barriers between their kinds.
  KernelSteps steps(const GemmPlan& plan, const Operands& operands,
                    const Workspace& workspace) const;

  /// Returns the step that makes the list of so many tiles. It needs a barrier after it.
  Step group_tiles_step(const Problem& p, std::int64_t tiles, const GroupSizes& groups,
                        const Buffer& list) const;

 private:
  std::shared_ptr<Device> device_;
  Variant variant_;
  Signature signature_;
  SumsIn sums_;
  std::string hash_;
  Pipeline gemm_;
  std::optional<Pipeline> pack_a_, pack_b_, reduce_, group_tiles_;
  std::unique_ptr<std::atomic<bool>> has_run_ = std::make_unique<std::atomic<bool>>(false);
};

}  // namespace rooftile
