#include "generator/space.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "generator/family_defaults.h"
#include "test_limits.h"

namespace rooftile {
namespace {

std::vector<std::string> as_text(const std::vector<Variant>& variants) {
  std::vector<std::string> texts;
  for (const Variant& v : variants) texts.push_back(to_string(v));
  return texts;
}

TEST(Space, HoldsLegalVariantsOnceEach) {
  for (const DeviceLimits& limits :
       {minimum_limits(), lavapipe_limits(), discrete_limits(), variable_limits()}) {
    const std::vector<std::string> texts = as_text(legal_variants(limits));
    EXPECT_EQ(std::set(texts.begin(), texts.end()).size(), texts.size());
    for (const std::string& text : texts)
      EXPECT_EQ(reason(parse_variant(text), limits), "") << text;
  }
}

TEST(Space, GivesNoTwoKernelsOfOneSubgroupSizeTheSameShortName) {
  for (const DeviceLimits& limits :
       {minimum_limits(), lavapipe_limits(), discrete_limits(), variable_limits(), matrix_limits(),
        workgroup_matrix_limits()}) {
    std::map<std::pair<std::string, int>, std::string> named;
    for (const Variant& v : legal_variants(limits)) {
      const auto [other, is_new] =
          named.try_emplace({short_name(v), v.subgroup_size}, to_string(v));
      EXPECT_TRUE(is_new) << short_name(v) << ":\n" << to_string(v) << "\n" << other->second;
    }
  }
}

TEST(Space, IsTheSameEveryTime) {
  EXPECT_EQ(as_text(legal_variants(variable_limits())), as_text(legal_variants(variable_limits())));
}

TEST(Space, IsLargeEnoughToTuneAndSmallEnoughToWalk) {
  for (const DeviceLimits& limits : {lavapipe_limits(), discrete_limits(), variable_limits()}) {
    EXPECT_GT(legal_variants(limits).size(), 300u);
    EXPECT_LT(legal_variants(limits).size(), 4100u);
  }
  // A problem's types leave the matrix shapes of one or two types, and its sizes leave few tables.
  EXPECT_LT(legal_variants(matrix_limits()).size(), 8000u);
}

// Of padding that brings conflicts, half brings fewer: 16 elements of float16 in matrix kernels.
TEST(Space, HasTheKernelForWhichItSkipsAnother) {
  const DeviceProfile gpu = profile_of(DeviceKind::kDiscrete, matrix_limits()),
                      software = profile_of(DeviceKind::kSoftware, matrix_limits());
  const std::vector<Variant> space = legal_variants(gpu.limits);
  const std::vector<std::string> texts = as_text(space);
  const std::set<std::string> all(texts.begin(), texts.end());
  const std::map<std::string, double> kLeast = {
      {"f32.tn", 0}, {"i8_i32.nt", 0}, {"f16_f16.nn", 0.08}, {"f16_f16.tn", 0.08}};
  for (const auto& [signature, least] : kLeast) {
    const Signature s = parse_signature(signature);
    double legal = 0, skipped = 0;
    for (const Variant& v : space) {
      if (illegal_reason(v, gpu.limits, s)) continue;
      ++legal;
      EXPECT_FALSE(skip_reason(v, software, s));
      if (!skip_reason(v, gpu, s)) continue;
      ++skipped;
      const Variant less = with(v, "shared_pad", std::to_string(v.shared_pad / 2));
      EXPECT_TRUE(all.contains(to_string(less)) && !skip_reason(less, gpu, s)) << to_string(v);
    }
    EXPECT_GE(skipped, least * legal) << signature;
    EXPECT_LE(skipped, 2.5 * least * legal) << signature;
  }
  const Variant padded = with(matrix_point(), "shared_pad", "16");
  EXPECT_EQ(
      skip_reason(padded, gpu, parse_signature("f16_f16.nt")),
      "shared_pad=8 needs less shared memory and has fewer bank conflicts (20 wavefronts for a "
      "store and a load of each tile, not 24)");
}

TEST(Space, HasEveryFamilyOnLavapipe) {
  std::set<Family> families;
  for (const Variant& v : legal_variants(lavapipe_limits())) families.insert(v.family);
  EXPECT_EQ(families.size(), 6u);
}

TEST(Space, TablesNameKnownParametersAndValues) {
  for (const FamilySpace& space : space_tables()) {
    EXPECT_LE(space.least_invocations, space.most_invocations);
    for (const ParameterValues& parameter : space.parameters) {
      EXPECT_FALSE(parameter.values.empty());
      for (const std::string& value : parameter.values) {
        Variant v;
        EXPECT_NO_THROW(set_parameter(v, parameter.parameter, value));
      }
    }
  }
}

bool holds_point(const FamilySpace& space, const std::vector<Variant>& variants) {
  return std::ranges::any_of(variants, [&](const Variant& v) {
    if (v.family != space.family) return false;
    const auto values = parameters(v);
    return std::ranges::all_of(space.parameters, [&](const ParameterValues& parameter) {
      return std::ranges::any_of(values, [&](const auto& value) {
        return value.first == parameter.parameter &&
               std::ranges::count(parameter.values, value.second) > 0;
      });
    });
  });
}

TEST(Space, EveryTableHasAPointOnSomeDevice) {
  const std::vector<std::vector<Variant>> spaces = {legal_variants(lavapipe_limits()),
                                                    legal_variants(matrix_limits()),
                                                    legal_variants(workgroup_matrix_limits())};
  for (const FamilySpace& space : space_tables())
    EXPECT_TRUE(std::ranges::any_of(spaces, [&](const auto& variants) {
      return holds_point(space, variants);
    })) << space.purpose;
}

TEST(Space, HoldsTheRegisterKernelOfFourRowsByFourColumnsOnce) {
  EXPECT_EQ(std::ranges::count(legal_variants(discrete_limits()), register_point()), 1);
}

TEST(Space, ProposesSplitsThatFillTheDevice) {
  const Variant v = changed(tiled_point(), "tile_m=32 tile_n=64 tile_k=16");
  const Problem few = packed_problem(35, 1500, 1760, Transpose::kNo, Transpose::kNo);
  EXPECT_THAT(splits_for(v, few, 132), testing::ElementsAre(3, 6, 11)) << "48 tiles";
  EXPECT_THAT(splits_for(v, few, 2), testing::IsEmpty()) << "tiles for every unit";
  const Problem shallow = packed_problem(35, 1500, 200, Transpose::kNo, Transpose::kNo);
  EXPECT_THAT(splits_for(v, shallow, 132), testing::ElementsAre(3)) << "parts of 4 trips";
  const Problem square = packed_problem(256, 256, 256, Transpose::kNo, Transpose::kNo);
  EXPECT_THAT(splits_for(changed(v, "tile_m=64"), square, 132), testing::ElementsAre(4))
      << "as many as k allows where 8 would fill the device";
  const Problem one = packed_problem(1, 1, 1 << 20, Transpose::kNo, Transpose::kNo);
  EXPECT_THAT(splits_for(v, one, 132), testing::ElementsAre(132, 256)) << "256 parts at most";
}

TEST(Space, EveryTableWithSplitKHasFourParts) {
  // The tuner proposes other numbers of parts for these kernels.
  for (const FamilySpace& space : space_tables()) {
    const auto split = std::ranges::find(space.parameters, "split_k", &ParameterValues::parameter);
    if (split == space.parameters.end()) continue;
    EXPECT_THAT(split->values, testing::Contains("4")) << space.purpose;
  }
}

TEST(Space, HoldsTheDefaults) {
  const std::vector<Variant> lavapipe = legal_variants(lavapipe_limits());
  EXPECT_THAT(lavapipe,
              testing::Contains(family_defaults(Family::kBroadcast, lavapipe_limits()).front()));
  EXPECT_THAT(lavapipe, testing::Contains(fallback_variant()));
  EXPECT_THAT(legal_variants(discrete_limits()),
              testing::Contains(family_defaults(Family::kTiled, discrete_limits()).front()));
}

RC_GTEST_PROP(Defaults, TheFallbackIsLegalForEveryDeviceAndProblemItCanAddress, ()) {
  const auto size = [] { return *rc::gen::inRange<std::int64_t>(0, 5000); };
  Problem p =
      packed_problem(size(), size(), size(), *rc::gen::element(Transpose::kNo, Transpose::kYes),
                     *rc::gen::element(Transpose::kNo, Transpose::kYes));
  p.lda += *rc::gen::inRange(0, 9);
  p.ldb += *rc::gen::inRange(0, 9);
  p.ldc += *rc::gen::inRange(0, 9);
  p.alpha = static_cast<float>(*rc::gen::inRange(-2, 3));
  Placement at = own_buffers(p);
  at.offset_a = *rc::gen::inRange(0, 99);
  at.offset_b = *rc::gen::inRange(0, 99);
  at.offset_c = *rc::gen::inRange(0, 99);
  RC_ASSERT(reason(fallback_variant(), minimum_limits(), p, at) == "");
}

RC_GTEST_PROP(Space, VariantsRoundTripAsText, ()) {
  static const std::vector<Variant> variants = legal_variants(variable_limits());
  const Variant& v = variants[*rc::gen::inRange<std::size_t>(0, variants.size())];
  RC_ASSERT(parse_variant(to_string(v)) == v);
}

}  // namespace
}  // namespace rooftile
