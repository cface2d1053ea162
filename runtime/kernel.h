// A variant made runnable: its pipelines on one device. The tuner measures this class and the
// runtime ships it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/variant.h"
#include "generator/plan.h"
#include "runtime/device/device.h"
#include "runtime/shader_cache.h"

namespace rooftile {

/// Operand buffers of one product and where in them the matrices start.
struct Operands {
  const Buffer* a = nullptr;
  const Buffer* b = nullptr;
  const Buffer* c = nullptr;
  Placement placement;
  const Buffer* vectors = nullptr;  // of the epilogue: scales and bias
  const Buffer* residual = nullptr;
  const Buffer* scales = nullptr;  // of a quantised B
  const Buffer* zero_points = nullptr;
};

/// Buffers for the panels of packed operands and the parts of a split product, at least as large as
/// a plan says; null where there is none.
struct Workspace {
  const Buffer* packed_a = nullptr;
  const Buffer* packed_b = nullptr;
  const Buffer* parts = nullptr;
};

/// What of a buffer a product binds, from its start on.
struct BoundOperand {
  std::uint64_t buffer_bytes = std::uint64_t{64} << 10, bound_bytes = std::uint64_t{64} << 10;
};
/// Those that kernels may read as texels; packed: the panels.
struct BoundOperands {
  BoundOperand a = {}, b = {}, packed_a = {}, packed_b = {}, scales = {}, zero_points = {};
};

/// Immutable once built; thread-safe. Must not outlive its device (which it keeps alive).
class Kernel {
 public:
  /// Compiles everything that the variant needs, on two threads where that is more than one shader.
  /// Throws kUnsupported with the rule's reason when it is illegal on the device, kCompile,
  /// kDevice.
  Kernel(std::shared_ptr<Device> device, const Variant& variant, const Signature& signature,
         const ShaderCache& cache);

  const Variant& variant() const { return variant_; }
  const std::string& hash() const { return hash_; }  // of the gemm shader: the candidate's identity

  /// Of the gemm shader; nothing unless the device was opened for it and its driver offers them.
  std::vector<CompilerStatistic> compiler_statistics() const { return gemm_.compiler_statistics(); }

  /// Throws kUnsupported with the rule's reason when the variant is illegal for this problem and
  /// placement.
  GemmPlan plan(const Problem& p, const Placement& placement,
                double max_flops = std::numeric_limits<double>::infinity()) const;

  /// Dispatches no workgroup of any of its shaders: drivers that compile at the first run, as
  /// lavapipe does, have done so then for products that bind operands like these. Small buffers
  /// stand for them. Errors and timeout as Device::run.
  void warm_up(double timeout_ns, const BoundOperands& like = {}) const;

  /// Pack steps and what clears the parts of a split product, and a barrier after them; none when
  /// there are none.
  std::vector<Step> pack_steps(const GemmPlan& plan, const Operands& operands,
                               const Workspace& workspace) const;
  std::vector<Step> gemm_steps(const GemmPlan& plan, const Operands& operands,
                               const Workspace& workspace) const;
  /// A barrier and reduce steps; none when the product is not split.
  std::vector<Step> reduce_steps(const GemmPlan& plan, const Operands& operands,
                                 const Workspace& workspace) const;

 private:
  std::shared_ptr<Device> device_;
  Variant variant_;
  Signature signature_;
  std::string hash_;
  Pipeline gemm_;
  std::optional<Pipeline> pack_a_, pack_b_, reduce_;
};

}  // namespace rooftile
