// Runs generated kernels on the first Vulkan device and compares C with a float64 result.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "generator/plan.h"
#include "generator/signature.h"
#include "runtime/device/device.h"

namespace rooftile {

/// The one open device of a process. The validation layer checks it; its messages fail the test.
Device& test_device();

/// A compiled variant with its pack kernels.
class ProductKernel {
 public:
  ProductKernel(const Variant& v, const Signature& s);

  const Variant& variant() const { return variant_; }
  const Signature& signature() const { return signature_; }
  const Pipeline& gemm() const { return gemm_; }
  const Pipeline& reduce() const { return reduce_; }
  const Pipeline& pack(Operand operand) const { return operand == Operand::kA ? pack_a_ : pack_b_; }

 private:
  Variant variant_;
  Signature signature_;
  Pipeline gemm_, pack_a_, pack_b_, reduce_;
};

/// Initial values of buffer elements outside of the matrices, and of C when beta is 0.
enum class Padding { kZero, kNan };

/// kInfinite sets the first row of op(A) and the first column of op(B) to infinity at the last step
/// of k. A kernel that multiplies it by a padding zero, instead of masking both, gives NaN.
enum class LastStep { kFinite, kInfinite };

struct Product {
  Problem p;
  Placement at;
  Padding padding = Padding::kNan;
  LastStep last_step = LastStep::kFinite;
  double max_flops = std::numeric_limits<double>::infinity();  // per step
  std::uint32_t max_loop_trips = 0;  // of a driver that ends loops sooner; 0: the device's
};

/// A GEMM in buffers with padding: stored rows have pad additional elements, rounded up to the
/// variant's alignment, and matrices begin a few elements into their buffers.
Product padded_product(const Variant& v, const Signature& s, std::int64_t m, std::int64_t n,
                       std::int64_t k, std::int64_t pad);

/// The same GEMM as a batch with slightly padded strides; with a shared B, all GEMMs read one.
enum class SharedB { kNo, kYes };
Product batched(Product product, std::int64_t batch, SharedB shared);

/// Runs the GEMM. Returns "" when every element of C is within gamma_k of the float64 result and
/// nothing around C changed, else a description of the first difference. Packed operands are
/// initialised with NaN.
std::string difference(const ProductKernel& kernel, const Product& product);

}  // namespace rooftile
