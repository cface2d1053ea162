// Runs generated kernels on the first Vulkan device and compares C with a float64 product.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "generator/plan.h"
#include "generator/signature.h"
#include "runtime/device/device.h"

namespace rooftile {

/// One open device a process, watched by the validation layer; its messages fail the test run.
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

/// What stands in elements of the buffers that belong to no matrix, and in C when beta is 0.
enum class Padding { kZero, kNan };

/// Infinity in the first row of op(A) and the first column of op(B), at the last step of k: a
/// kernel that multiplies it by a zero of its own, instead of replacing both, turns it into NaN.
enum class LastStep { kFinite, kInfinite };

struct Product {
  Problem p;
  Placement at;
  Padding padding = Padding::kNan;
  LastStep last_step = LastStep::kFinite;
  double max_flops = std::numeric_limits<double>::infinity();  // of a step
};

/// A product in buffers with these paddings: stored rows get pad more elements than they need,
/// rounded up to what the variant's vectors ask for, and matrices begin a few elements into their
/// buffers.
Product padded_product(const Variant& v, const Signature& s, std::int64_t m, std::int64_t n,
                       std::int64_t k, std::int64_t pad);

/// The same product for a batch, strides padded by a little; with a shared B all products read one.
enum class SharedB { kNo, kYes };
Product batched(Product product, std::int64_t batch, SharedB shared);

/// Empty when every element of C is within gamma_k of the float64 product and nothing around C
/// changed; else the first difference in words. Packed panels start as NaN.
std::string difference(const ProductKernel& kernel, const Product& product);

}  // namespace rooftile
