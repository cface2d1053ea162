// Certificates of kernels on the first device, also of kernels with an injected error.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/variant.h"
#include "generator/emit.h"
#include "generator/signature.h"
#include "runtime/verify/certify.h"
#include "tests/support/swiftshader.h"

namespace rooftile {

class CertifyFixture : public ::testing::Test {
 protected:
  void SetUp() override;
  Certificate certificate(const Variant& variant, const Signature& signature,
                          const ShaderCache& cache = ShaderCache({}));
  /// Stores code compiled from changed text under the unchanged kernel's hash, where Kernel finds
  /// it.
  Certificate mutant(const Variant& variant, const Signature& signature, const std::string& from,
                     const std::string& to) {
    return mutant(variant, signature, emit_gemm(variant, signature), from, to);
  }
  /// The same for any single shader of the kernel.
  Certificate mutant(const Variant& variant, const Signature& signature, Shader shader,
                     const std::string& from, const std::string& to);
  /// Certifies each variant with one in `every` of the types and transposes, beginning with the one
  /// at `first`, and the next variant with the next ones: with a third, pairs of a variant, a type
  /// and a transpose are met, not all combinations. On SwiftShader one in four of these is left.
  /// Those that the rules forbid are left out, but each variant meets one that they allow; the
  /// tests of the rules check the reasons.
  void expect_right(const std::vector<Variant>& variants, const std::vector<std::string>& types,
                    const std::vector<Transpose>& transposes, std::size_t every = 3,
                    std::size_t first = 0);
  /// The same of these types and transposes, as of "f16.nt".
  void expect_right(const std::vector<Variant>& variants,
                    const std::vector<std::string>& signatures, std::size_t every);
  /// 1, or 4 on SwiftShader, which compiles for ten times as long: what does not depend on the
  /// driver is shown by the other one.
  std::size_t one_in() const { return is_swiftshader(device_->profile()) ? 4 : 1; }

  std::shared_ptr<Device> device_;

 private:
  void expect_right_of(const std::vector<Variant>& variants,
                       const std::vector<Signature>& signatures, std::size_t every,
                       std::size_t first);
};

}  // namespace rooftile
