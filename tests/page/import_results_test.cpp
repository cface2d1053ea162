#include "web/exchange/import_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/numbers/random.h"
#include "generator/version.h"
#include "tests/support/refusal.h"
#include "web/exchange/winners.h"

namespace rooftile::web {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

const char* const kFast = "family=register tile_m=32 tile_n=32 reg_m=4 reg_n=4";
const char* const kSlow = "family=naive tile_m=16 tile_n=16";

/// What the page exports.
Json exported() {
  const auto kernel = [](const char* variant, const Json& samples) {
    return Json{{"variant", variant}, {"samples_ns", samples}, {"failed", nullptr}};
  };
  return {{"format", "rooftile-web-results"},
          {"version", 1},
          {"browser", "Some Browser 1"},
          {"adapter", {{"vendor", "nvidia"}, {"name", "Some GPU"}, {"software", false}}},
          {"rates", {{"device.fma.f32", 1000.5}, {"device.level.memory.bandwidth", 400}}},
          {"problems",
           {{{"problem",
              {{"m", 64},
               {"n", 96},
               {"k", 128},
               {"batch", 1},
               {"trans_a", false},
               {"trans_b", true},
               {"types", "f32"}}},
             {"kernels",
              {kernel(kFast, {1000, 1010, 1005}), kernel(kSlow, {9000, 9050}),
               Json{{"variant", kSlow}, {"samples_ns", Json::array()}, {"failed", "hung"}}}}}}}};
}

Problem problem_of_export() { return packed_problem(64, 96, 128, Transpose::kNo, Transpose::kYes); }

std::string refusal(const Json& json) {
  const std::string message = message_of([&] { parse_results(json.dump(), "results.json"); });
  EXPECT_THAT(message, ::testing::AnyOf("", HasSubstr("results.json")));
  return message;
}

class ImportResults : public ::testing::Test {
 protected:
  ImportResults()
      : folder_(::testing::TempDir() + "web-import-" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ImportResults() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST(ParseResults, ReadsWhatThePageExports) {
  const Results results = parse_results(exported().dump(), "results.json");
  EXPECT_EQ(results.device.name, "Some GPU");
  EXPECT_EQ(results.device.driver_name, "WebGPU");
  EXPECT_EQ(results.device.driver_info, "Some Browser 1");
  EXPECT_EQ(results.figures.size(), 2u);
  ASSERT_EQ(results.problems.size(), 1u);
  EXPECT_EQ(results.problems[0].problem, problem_of_export());
  ASSERT_EQ(results.problems[0].kernels.size(), 3u);
  EXPECT_EQ(results.problems[0].kernels[0].variant, parse_variant(kFast));
  EXPECT_TRUE(results.problems[0].kernels[2].samples_ns.empty());
}

TEST(ParseResults, RefusesWhatThePageDoesNotWrite) {
  EXPECT_EQ(refusal(exported()), "");
  struct Change {
    const char* pointer;
    Json value;
  };
  const Change changes[] = {{"/format", "other"},
                            {"/version", 2},
                            {"/version", "1"},
                            {"/adapter", 3},
                            {"/problems", Json::object()},
                            {"/problems/0/problem/m", 0},
                            {"/problems/0/problem/m", -5},
                            {"/problems/0/problem/n", 1e9},
                            {"/problems/0/problem/k", "64"},
                            {"/problems/0/problem/types", "f99"},
                            {"/problems/0/kernels/0/variant", "family=teapot"},
                            {"/problems/0/kernels/0/variant", "<script>alert(1)</script>"},
                            {"/problems/0/kernels/0/samples_ns/0", -1},
                            {"/problems/0/kernels/0/samples_ns/0", "fast"},
                            {"/problems/0/kernels/0/samples_ns/0", 1e300},
                            {"/problems/0/kernels/0/samples_ns/0", 1e-3},
                            {"/problems/0/kernels/0/failed", 17},
                            {"/problems/0/problem/trans_b", "true"},
                            {"/problems/0/problem/trans_a", nullptr},
                            {"/problems/0/problem/m", 0xffffffffffffffffu},
                            {"/problems/0/baseline_ns", -5},
                            {"/problems", Json::array()},
                            {"/adapter/software", "yes"},
                            {"/rates/device.fma.f32", -1},
                            {"/rates/x", 1}};
  for (const Change& change : changes) {
    Json json = exported();
    json[Json::json_pointer(change.pointer)] = change.value;
    EXPECT_NE(refusal(json), "") << change.pointer << " " << change.value;
  }
}

TEST(ParseResults, MakesTextOfStrangersPrintable) {
  Json json = exported();
  json["adapter"]["name"] = "GPU\x1b[31m\n<b>\xc3\xa9" + std::string(1000, 'x');
  json["browser"] = "line\r\nbreak";
  const Results results = parse_results(json.dump(), "results.json");
  EXPECT_THAT(results.device.name, ::testing::StartsWith("GPU?[31m?<b>??xxx"));
  EXPECT_EQ(results.device.name.size(), 200u);
  EXPECT_EQ(results.device.driver_info, "line??break");
}

TEST(ParseResults, SurvivesDamage) {
  const std::string whole = exported().dump();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(parse_results(whole.substr(0, length), "results.json"), Error) << length;
  Random random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    for (int changes = 0; changes < 3; ++changes)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    try {
      parse_results(text, "results.json");
    } catch (const Error&) {  // Anything else fails the test.
    }
  }
  EXPECT_THROW(parse_results(std::string(1'000'000, '['), "results.json"), Error);
  EXPECT_THROW(parse_results("{\"a\":" + std::string(1'000'000, '['), "results.json"), Error);
}

TEST_F(ImportResults, SeedSearchesOfTheKindAndCertifyNothing) {
  Store store(folder_ / "ours.db");
  DeviceProfile own;
  own.name = "Own GPU";
  own.device_uuid = std::string(32, '1');
  own.pipeline_cache_uuid = std::string(32, '2');
  own.kind = DeviceKind::kDiscrete;
  const RowId device = store.device_id(own);
  const ImportReport report =
      import_results(store, parse_results(exported().dump(), "results.json"));
  EXPECT_EQ(report.devices, 1);
  EXPECT_EQ(report.runs, 1);
  EXPECT_EQ(report.samples, 2);
  const auto seeds = store.transfer_samples(device, problem_of_export(), 10);
  ASSERT_EQ(seeds.size(), 2u);
  EXPECT_EQ(seeds[0].variant, parse_variant(kFast));
  EXPECT_DOUBLE_EQ(seeds[0].ns, 1005);
  for (const DeviceRecord& record : store.devices()) {
    EXPECT_TRUE(store.tuned_kernels(record.id, kGeneratorVersion).empty());
    EXPECT_TRUE(store.winners(record.id).empty());
  }
  EXPECT_TRUE(store.imported_times(device).empty()) << "it was measured by another device";
  std::vector<ImportedTime> times;
  for (const DeviceRecord& record : store.devices())
    if (record.id != device) times = store.imported_times(record.id);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].problem, problem_of_export());
  EXPECT_EQ(store.candidate(times[0].candidate)->variant, parse_variant(kFast));
  EXPECT_DOUBLE_EQ(times[0].kernel_ns, 1005);
  EXPECT_EQ(times[0].tried, 2);
}

TEST_F(ImportResults, AddNothingTheSecondTime) {
  Store store(folder_ / "ours.db");
  const Results results = parse_results(exported().dump(), "results.json");
  EXPECT_TRUE(brought_anything(import_results(store, results)));
  EXPECT_FALSE(brought_anything(import_results(store, results)));
  Json later = exported();
  later["problems"][0]["kernels"][0]["samples_ns"] = {900};
  EXPECT_EQ(import_results(store, parse_results(later.dump(), "results.json")).samples, 2);
}

TEST_F(ImportResults, LeaveOutKernelsThatNoAdapterRuns) {
  Json json = exported();
  json["problems"][0]["kernels"][0]["variant"] =
      "family=register tile_m=65536 tile_n=65536 reg_m=1 reg_n=1";
  json["problems"][0]["kernels"][1]["variant"] = "family=register tile_m=0 reg_m=0";
  Store store(folder_ / "ours.db");
  EXPECT_EQ(import_results(store, parse_results(json.dump(), "results.json")).samples, 0);
}

TEST_F(ImportResults, KnownKernelsOfAPageAreTheWinnersOfTheDatabase) {
  EXPECT_EQ(known_kernels(nullptr, "1.2.3"),
            Json({{"version", "1.2.3"}, {"known", Json::array()}}));
  Store store(folder_ / "ours.db");
  DeviceProfile own;
  own.device_uuid = own.pipeline_cache_uuid = std::string(32, '1');
  const RowId device = store.device_id(own);
  const Problem p = problem_of_export();
  const RowId candidate =
      store.candidate_id({.hash = "abc", .signature = "f32.nt", .variant = parse_variant(kFast)});
  const WinnerRecord winner{
      .candidate = candidate, .problem = store.problem_id(p), .kernel_ns = 1000};
  store.put_winners(device, to_string(bucket_of(p)), std::vector{winner});
  const Json known = known_kernels(&store, "1")["known"];
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(parse_variant(known[0]["variant"].get<std::string>()), parse_variant(kFast));
  EXPECT_EQ(known[0]["problem"]["trans_b"], true);
}

}  // namespace
}  // namespace rooftile::web
