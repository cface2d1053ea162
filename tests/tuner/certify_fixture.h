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
  /// Certifies each variant with a third of the types and transposes, and the next variant with
  /// another third. Combinations that the rules forbid are left out; the tests of the rules check
  /// the reasons.
  void expect_right(const std::vector<Variant>& variants, const std::vector<std::string>& types,
                    const std::vector<Transpose>& transposes);

  std::shared_ptr<Device> device_;
};

}  // namespace rooftile
