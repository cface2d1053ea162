// Certificates of kernels on the first device, and of kernels with a planted mistake.
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
  /// Puts code compiled from changed text under the unchanged kernel's hash, where Kernel will find
  /// it.
  Certificate mutant(const Variant& variant, const Signature& signature, const std::string& from,
                     const std::string& to) {
    return mutant(variant, signature, emit_gemm(variant, signature), from, to);
  }
  /// The same for any one of the kernel's shaders.
  Certificate mutant(const Variant& variant, const Signature& signature, Shader shader,
                     const std::string& from, const std::string& to);
  /// Tries each variant with a third of the types and transposes, another third for the next
  /// variant; what the rules forbid is left out (the tests of the rules say why).
  void expect_right(const std::vector<Variant>& variants, const std::vector<std::string>& types,
                    const std::vector<Transpose>& transposes);

  std::shared_ptr<Device> device_;
};

}  // namespace rooftile
