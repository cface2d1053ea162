#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "runtime/model/nearest_types.h"
#include "runtime/model/predict.h"
#include "runtime/model/roofline.h"
#include "tests/model/random_inputs.h"

namespace rooftile {
namespace {

DeviceRates tuned_model_device() {
  return {.submit_ns = 20e3,
          .dispatch_ns = 3000,
          .fma_gflops = 1000,
          .levels = {{.name = "memory", .gbps = 100}},
          .compute_units = 8};
}

/// A device that reaches a smoothly varying share of its roofline, with additional cost of waves
/// and edges of 64 x 64 blocks.
double pretended_ns(const Problem& p) {
  const double flops_lost = 1 + 3e6 / flops(p);
  const Waves w = waves(p, {.tile_m = 64, .tile_n = 64}, tuned_model_device().compute_units);
  return problem_bound_ns(p, tuned_model_device()) * 1.4 * flops_lost /
         (w.wave_efficiency * w.tile_efficiency);
}

std::vector<TunedTime> tuned_lattice() {
  std::vector<TunedTime> tuned;
  for (std::int64_t m : {64, 256, 1024, 4096})
    for (std::int64_t n : {64, 256, 1024, 4096})
      for (std::int64_t k : {64, 512, 4096}) {
        const Problem p = packed_problem(m, n, k);
        tuned.push_back({.problem = p, .ns = pretended_ns(p), .tile_m = 64, .tile_n = 64});
      }
  return tuned;
}

RC_GTEST_PROP(TunedModel, ATunedProblemTakesTheMeasuredTime, ()) {
  std::vector<TunedTime> tuned = random_tuned();
  const Problem p = random_problem();
  std::erase_if(tuned, [&](const TunedTime& t) { return t.problem == p; });
  tuned.insert(tuned.begin(), {.problem = p, .ns = 12345, .tile_m = 64, .tile_n = 16});
  // Times are looked up by sizes, not by ld or beta; the first entry of equal sizes counts.
  RC_ASSERT(TunedModel(random_device(), tuned).predict_ns(p) == 12345);
}

TEST(TunedModel, InterpolatesBetweenTunedProblems) {
  const TunedModel model(tuned_model_device(), tuned_lattice());
  for (const auto& [m, n, k] :
       {std::array{500, 700, 300}, std::array{130, 2000, 100}, std::array{3000, 90, 2500},
        std::array{777, 777, 777}, std::array{65, 1000, 512}}) {
    const Problem p = packed_problem(m, n, k);
    EXPECT_NEAR(model.predict_ns(p) / pretended_ns(p), 1, 0.12) << to_string(p);
  }
}

TEST(TunedModel, PredictionStepsWithTheNumberOfWaves) {
  const TunedModel model(tuned_model_device(), tuned_lattice());
  // 8 workgroups occupy the units, 9 need a second wave.
  const double full = model.predict_ns(packed_problem(512, 64, 1000));
  const double spilled = model.predict_ns(packed_problem(513, 64, 1000));
  EXPECT_GT(spilled / full, 1.8);
}

TEST(TunedModel, OtherTransposesTakeTheNearestClassesTimeAsTheRooflinesGo) {
  const TunedModel model(tuned_model_device(), tuned_lattice());
  const Problem nt = packed_problem(500, 700, 300, Transpose::kNo, Transpose::kYes);
  EXPECT_TRUE(model.has_class(packed_problem(500, 700, 300)));
  EXPECT_FALSE(model.has_class(nt));
  // This time is longer than the roofline alone.
  EXPECT_EQ(model.predict_ns(nt), model.predict_ns(packed_problem(500, 700, 300)));
  EXPECT_GT(model.predict_ns(nt), problem_bound_ns(nt, tuned_model_device()));
}

TEST(TunedModel, OtherTypesTakeTheNearestClassesTimeAsTheRooflinesGo) {
  const TunedModel model(tuned_model_device(), tuned_lattice());
  const Problem wide = packed_problem(500, 700, 300);
  for (const char* types : {"f16", "bf16_bf16", "f32_f16"}) {
    const Problem p = retyped(wide, parse_types(types));
    EXPECT_FALSE(model.has_class(p));
    EXPECT_NEAR(model.predict_ns(p),
                model.predict_ns(wide) * problem_bound_ns(p, tuned_model_device()) /
                    problem_bound_ns(wide, tuned_model_device()),
                1e-6 * model.predict_ns(p));
  }
}

TEST(TunedModel, TheNearestTypesAreTheSameOperandsThenFloat32) {
  const auto distance = [](const char* tuned, const char* wanted) {
    return type_distance(parse_types(tuned), parse_types(wanted));
  };
  EXPECT_EQ(distance("f16", "f16"), 0);
  EXPECT_LT(distance("f16", "f16_f16"), distance("f16xq4b32", "f16_f16"));
  EXPECT_LT(distance("f16xq4b32", "f16"), distance("f32", "f16"));
  EXPECT_LT(distance("f32", "f16"), distance("bf16", "f16"));
  EXPECT_EQ(distance("f32_half", "f32_f16"), distance("bf16", "f32_f16")) << "it may round";
  EXPECT_LT(distance("f32_half", "f32_f16_half"), distance("f32", "f32_f16_half"));
}

// Otherwise dispatch would prefer a kernel for widened operands, with a pass over them, to a
// certified kernel of the operands' own types.
RC_GTEST_PROP(TunedModel, AKernelOfItsOwnTypesIsNotSlowerThanAWidenedProduct, ()) {
  const DeviceRates rates = random_device();
  const std::vector<TunedTime> tuned = random_tuned();
  const TunedModel model(rates, tuned);
  Problem p = random_problem();
  p.beta = 0;
  p = retyped(p, parse_types(*rc::gen::element(std::string("f16"), std::string("bf16_bf16"),
                                               std::string("f32_f16"))));
  const Problem wide = retyped(p, {});
  RC_PRE(model.has_class(wide));
  RC_ASSERT(model.predict_ns(p) <= model.predict_ns(wide) * (1 + 1e-9));
}

TEST(TunedModel, AnUntunedDeviceIsPredictedByItsRoofline) {
  const Problem large = packed_problem(3000, 2000, 1000), tiny = packed_problem(3, 4, 5);
  EXPECT_EQ(TunedModel(tuned_model_device(), {}).predict_ns(large),
            problem_bound_ns(large, tuned_model_device()));
  EXPECT_EQ(TunedModel(tuned_model_device(), {}).predict_ns(tiny),
            tuned_model_device().dispatch_ns);
}

TEST(TunedModel, BatchesScale) {
  std::vector<TunedTime> tuned;
  for (std::int64_t n : {64, 512}) {
    const Problem p = packed_problem(n, n, n);
    tuned.push_back({.problem = p, .ns = 3 * problem_bound_ns(p, tuned_model_device())});
  }
  Problem many = packed_problem(64, 64, 64);
  many.batch = 100;
  EXPECT_NEAR(TunedModel(tuned_model_device(), tuned).predict_ns(many),
              300 * problem_bound_ns(packed_problem(64, 64, 64), tuned_model_device()), 1e-6 * 300);
}

TEST(TunedModel, InvalidTimesAreIgnored) {
  const std::vector<TunedTime> tuned = {{.problem = packed_problem(0, 5, 5), .ns = 10},
                                        {.problem = packed_problem(50, 60, 70), .ns = 0}};
  EXPECT_FALSE(TunedModel(tuned_model_device(), tuned).has_class(packed_problem(1, 1, 1)));
}

}  // namespace
}  // namespace rooftile
