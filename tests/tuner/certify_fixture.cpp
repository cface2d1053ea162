#include "certify_fixture.h"

#include <algorithm>

#include "tests/support/first_device.h"
#include "tests/support/scratch.h"

namespace rooftile {

void CertifyFixture::SetUp() { device_ = Device::open(first_device()); }

Certificate CertifyFixture::certificate(const Variant& variant, const Signature& signature,
                                        const ShaderCache& cache) {
  return certify(*device_, Kernel(device_, variant, signature, cache), signature);
}

Certificate CertifyFixture::mutant(const Variant& variant, const Signature& signature,
                                   Shader shader, const std::string& from, const std::string& to) {
  const std::size_t at = shader.glsl.find(from);
  EXPECT_NE(at, std::string::npos)
      << "'" << from << "' does not occur in the shader: the mutation needs an update";
  if (at == std::string::npos) return {};
  shader.glsl.replace(at, from.size(), to);
  const ScratchFolder folder;
  const ShaderCache cache(folder.path());
  cache.spirv(shader);
  return certificate(variant, signature, cache);
}

void CertifyFixture::expect_right(const std::vector<Variant>& variants,
                                  const std::vector<std::string>& types,
                                  const std::vector<Transpose>& transposes, std::size_t every,
                                  std::size_t first) {
  std::vector<Signature> signatures;
  for (Transpose trans_a : transposes)
    for (Transpose trans_b : transposes)
      for (const std::string& text : types)
        signatures.push_back({parse_types(text), trans_a, trans_b});
  expect_right_of(variants, signatures, every, first);
}

void CertifyFixture::expect_right(const std::vector<Variant>& variants,
                                  const std::vector<std::string>& signatures, std::size_t every) {
  std::vector<Signature> parsed;
  for (const std::string& text : signatures) parsed.push_back(parse_signature(text));
  expect_right_of(variants, parsed, every, 0);
}

void CertifyFixture::expect_right_of(const std::vector<Variant>& variants,
                                     const std::vector<Signature>& signatures, std::size_t every,
                                     std::size_t first) {
  every = std::min(every * one_in(), signatures.size());
  std::size_t tried = 0;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const auto is_legal = [&](const Signature& s) {
      return !certification_cases(variants[v], s, device_->profile().limits).empty();
    };
    std::vector<Signature> chosen;
    for (std::size_t s = (first + v) % every; s < signatures.size(); s += every)
      if (is_legal(signatures[s])) chosen.push_back(signatures[s]);
    if (chosen.empty())
      if (const auto any = std::ranges::find_if(signatures, is_legal); any != signatures.end())
        chosen.push_back(*any);
    for (const Signature& s : chosen) {
      const Certificate result = certificate(variants[v], s, ShaderCache({}));
      EXPECT_TRUE(result.passed) << to_string(variants[v]) << " " << to_string(s) << ": "
                                 << result.detail;
    }
    tried += chosen.size();
  }
  EXPECT_GT(tried, 0u);
}

}  // namespace rooftile
