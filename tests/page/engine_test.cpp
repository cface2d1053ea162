#include "web/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "generator/compiler_work.h"
#include "runtime/verify/reference.h"

namespace rooftile::web {
namespace {

using ::testing::HasSubstr;

const Json kProblem = {{"m", 96}, {"n", 80}, {"k", 64}};
const Json kRates = {{"device.submit", 20000},
                     {"device.dispatch", 10000},
                     {"device.fma.f32", 500},
                     {"device.level.memory.bandwidth", 50}};

Json ask(Engine& engine, const Json& request) { return Json::parse(engine.answer(request.dump())); }

Json started(Engine& engine, const Json& more = Json::object()) {
  Json request = {{"op", "start"}, {"problem", kProblem}, {"rates", kRates}};
  request.update(more);
  return ask(engine, request);
}

TEST(WebEngine, ProposesEveryCandidateOnceAndThenNone) {
  Engine engine;
  const std::size_t candidates = started(engine, {{"strategy", "random"}})["candidates"];
  std::set<std::size_t> seen;
  while (true) {
    const Json proposed = ask(engine, {{"op", "propose"}, {"count", 16}})["proposed"];
    if (proposed.empty()) break;
    for (const std::size_t candidate : proposed) {
      EXPECT_TRUE(seen.insert(candidate).second) << candidate;
      ask(engine, {{"op", "observe"}, {"candidate", candidate}, {"ns", nullptr}});
    }
  }
  EXPECT_EQ(seen.size(), candidates);
}

TEST(WebEngine, FillsEveryBatchAndPutsFirstWhatCompilesFastest) {
  Engine engine;
  for (const Json& rates : {Json::object(), kRates}) {
    started(engine, {{"rates", rates}});
    for (int batch = 0; batch < 6; ++batch) {
      const Json proposed = ask(engine, {{"op", "propose"}, {"count", 4}})["proposed"];
      EXPECT_EQ(proposed.size(), 4u) << batch;
      double before = 0;
      for (const std::size_t candidate : proposed) {
        const Json told = ask(engine, {{"op", "candidate"}, {"candidate", candidate}});
        const double work = compiler_work(parse_variant(told["variant"].get<std::string>()), {});
        EXPECT_GE(work, before);
        before = work;
        ask(engine, {{"op", "observe"}, {"candidate", candidate}, {"ns", told["expected_ns"]}});
      }
    }
  }
}

TEST(WebEngine, HasNoTwoCandidatesWithTheSameProgram) {
  Engine engine;
  const std::size_t candidates =
      started(engine, {{"known",
                        {"family=register tile_m=32 tile_n=32 reg_m=4 reg_n=4 "
                         "optimization=performance"}}})["candidates"];
  std::set<std::string> variants;
  for (std::size_t i = 0; i < candidates; ++i) {
    Variant v = parse_variant(
        ask(engine, {{"op", "candidate"}, {"candidate", i}})["variant"].get<std::string>());
    v.optimization = Optimization::kZero;
    EXPECT_TRUE(variants.insert(to_string(v)).second) << to_string(v);
  }
}

TEST(WebEngine, DoesNotProposeWhatAnEarlierVisitMeasured) {
  Engine engine;
  started(engine);
  const std::size_t first = ask(engine, {{"op", "propose"}, {"count", 1}})["proposed"][0];
  started(engine);
  ask(engine, {{"op", "observe"}, {"candidate", first}, {"ns", 1000}});
  for (int batch = 0; batch < 4; ++batch) {
    const nlohmann::json answer = ask(engine, {{"op", "propose"}, {"count", 4}});
    for (const std::size_t candidate : answer["proposed"]) EXPECT_NE(candidate, first);
  }
}

TEST(WebEngine, TriesKernelsThatAreKnownFromElsewhereAmongTheFirst) {
  Engine engine;
  const std::size_t candidates = started(engine)["candidates"];
  const std::string last =
      ask(engine, {{"op", "candidate"}, {"candidate", candidates - 1}})["variant"];
  started(engine, {{"known", {last}}});
  EXPECT_THAT(ask(engine, {{"op", "propose"}, {"count", 4}})["proposed"],
              ::testing::Contains(candidates - 1));
}

TEST(WebEngine, AnswersEveryWrongRequestWithASentence) {
  Engine engine;
  const auto error = [&](const std::string& request) {
    return Json::parse(engine.answer(request)).value("error", std::string());
  };
  EXPECT_THAT(error(R"({"op": "propose", "count": 4})"), HasSubstr("no search was started"));
  EXPECT_THAT(error(R"({"op": "compare"})"), HasSubstr("no certificate was begun"));
  EXPECT_THAT(error(R"({"op": "dance"})"), HasSubstr("knows no operation 'dance'"));
  for (const char* request : {"", "{", "[]", "null", "{}", R"({"op": 3})", R"({"op": "start"})"})
    EXPECT_FALSE(error(request).empty()) << request;
  EXPECT_THAT(error(R"({"op": "start", "problem": {"m": 0, "n": 1, "k": 1}})"),
              HasSubstr("between 1 and"));
  EXPECT_FALSE(
      error(R"({"op": "start", "problem": {"m": 8, "n": 8, "k": 8, "types": "f99"}})").empty());
  started(engine);
  EXPECT_THAT(error(R"({"op": "candidate", "candidate": 99999999})"), HasSubstr("no candidate"));
}

TEST(WebEngine, NamesTheBuffersOfEveryStepAndItsParameters) {
  Engine engine;
  const std::size_t candidates = started(engine)["candidates"];
  const std::size_t step = std::max<std::size_t>(1, candidates / 40);
  for (std::size_t candidate = 0; candidate < candidates; candidate += step) {
    const Json plan = ask(engine, {{"op", "programs"}, {"candidate", candidate}});
    ASSERT_FALSE(plan.contains("error")) << plan;
    for (const Json& one : plan["steps"]) {
      const Json& program = plan["programs"][one["program"].get<std::size_t>()];
      EXPECT_EQ(one["buffers"].size(), program["bindings"]);
      EXPECT_EQ(4 * one["parameters"].size(), program["parameter_bytes"]);
      for (const std::string name : one["buffers"]) EXPECT_TRUE(plan["bytes"].contains(name));
    }
    EXPECT_EQ(plan["steps"].back()["buffers"].back(), "c");
  }
}

/// C of a prepared case, computed here.
void multiply(Certification& certification, const CertificationCase& test) {
  const CertificationOperands x = certification_operands(test);
  const Problem& p = test.problem;
  std::copy(x.c.begin(), x.c.end(), certification.result().begin());
  auto* const c = reinterpret_cast<float*>(certification.result().data());
  for (std::int64_t i = 0; i < p.batch; ++i) {
    const auto* const a =
        reinterpret_cast<const float*>(x.a.data()) + x.placement.offset_a + i * p.stride_a;
    const auto* const b =
        reinterpret_cast<const float*>(x.b.data()) + x.placement.offset_b + i * p.stride_b;
    for (std::int64_t row = 0; row < p.m; ++row)
      for (std::int64_t column = 0; column < p.n; ++column) {
        float* const target = c + x.placement.offset_c + i * p.stride_c + row * p.ldc + column;
        const double before = p.beta == 0 ? 0 : static_cast<double>(*target);
        *target =
            static_cast<float>(reference_element(one_product(p), a, b, before, row, column).value);
      }
  }
}

TEST(WebEngine, CertifiesARightProductAndNoOther) {
  const Variant v = parse_variant("family=register tile_m=32 tile_n=32 reg_m=4 reg_n=4");
  const DeviceLimits limits = profile_of(Json::object()).limits;
  Certification certification(v, {}, limits);
  const std::vector<CertificationCase> cases = certification_cases(v, {}, limits);
  ASSERT_EQ(certification.cases(), cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    certification.prepare(i);
    multiply(certification, cases[i]);
    EXPECT_TRUE(certification.compare()["ok"]) << certification.compare();
    // A canary that is overwritten, and an element that is off by more than any rounding.
    certification.result()[0] ^= 1;
    EXPECT_FALSE(certification.compare()["ok"]);
    certification.result()[0] ^= 1;
    auto* const element = reinterpret_cast<float*>(certification.result().data()) +
                          guarded_placement(cases[i].problem).offset_c;
    if (!std::isfinite(*element)) continue;
    *element += 1 + std::abs(*element);
    EXPECT_FALSE(certification.compare()["ok"]);
  }
}

}  // namespace
}  // namespace rooftile::web
