// Files in the format T4 from other tuners, damaged ones and hostile ones.
#include "formats/t4_read.h"

#include <gmock/gmock.h>

#include <fstream>

#include "core/groups.h"
#include "core/numbers/random.h"
#include "formats/result_json.h"
#include "tests/formats/formats_fixture.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// What Kernel Tuner 1.x writes for its results of one of Rooftile's kernels.
nlohmann::json of_kernel_tuner() {
  const auto result = [](int tile, double ms) {
    return nlohmann::json{
        {"timestamp", "2026-01-02 03:04:05.678+00:00"},
        {"configuration",
         {{"family", "register"}, {"tile_m", tile}, {"tile_n", 32.0}, {"reg_m", 4}, {"reg_n", 4}}},
        {"times",
         {{"compilation", 12.5},
          {"benchmark", 3.5},
          {"framework", 1},
          {"search_algorithm", 0},
          {"validation", 0},
          {"runtimes", {ms * 1.5, ms, ms * 0.5}}}},
        {"invalidity", "correct"},
        {"correctness", 1},
        {"measurements", {{{"name", "time"}, {"value", ms}, {"unit", "ms"}}}},
        {"objectives", {"time"}}};
  };
  nlohmann::json json = {{"results", {result(32, 0.5), result(64, 0.25), result(32, 1)}},
                         {"schema_version", "1.0.0"},
                         {"metadata", {{"timeunit", "milliseconds"}}}};
  nlohmann::json& failed = json["results"][2];
  failed["invalidity"] = "compile";
  failed["measurements"][0]["value"] = "CompilationFailedConfig";
  return json;
}

T4Defaults named() {
  return {.problem = plain_problem(), .device = [] { return measured_device(); }};
}

class T4ReadTest : public FormatsTest {
 protected:
  static std::string refusal(const nlohmann::json& json, const T4Defaults& defaults = named()) {
    const std::string message =
        message_of([&] { read(json.dump(), defaults); }, ErrorCode::kInvalidArgument);
    if (message.empty()) return message;
    EXPECT_THAT(message, StartsWith("results.json cannot be imported: "));
    EXPECT_THAT(message, HasSubstr("nothing of it was imported"));
    return message;
  }
  std::filesystem::path written(const std::string& text) const {
    std::ofstream(file("some.json"), std::ios::binary) << text;
    return file("some.json");
  }
};

TEST_F(T4ReadTest, ReadsWhatKernelTunerWrites) {
  const T4Results results = read(of_kernel_tuner().dump(), named());
  ASSERT_EQ(results.results.size(), 3u);
  EXPECT_EQ(results.problems, std::vector{plain_problem()});
  ASSERT_EQ(results.devices.size(), 1u);
  EXPECT_EQ(results.devices[0].device_uuid, measured_device().device_uuid);
  EXPECT_EQ(results.results[0].variant, parse_variant(kRegister));
  const SampleRecord& sample = results.results[0].sample;
  EXPECT_EQ(sample.status, SampleStatus::kMeasured);
  EXPECT_DOUBLE_EQ(sample.kernel.median_ns, 0.5e6);
  EXPECT_DOUBLE_EQ(sample.kernel.mad_ns, 0.25e6);
  EXPECT_EQ(sample.kernel.count, 3u);
  EXPECT_DOUBLE_EQ(sample.compile_ns, 12.5e6);
  EXPECT_EQ(results.results[1].variant.tile_m, 64);
  EXPECT_EQ(results.results[2].sample.status, SampleStatus::kCompileFailed);
  EXPECT_EQ(results.origin, "");
}

TEST_F(T4ReadTest, TakesTheTimeWhereThereAreNoRunsAndItsUnit) {
  nlohmann::json json = of_kernel_tuner();
  json["results"][0]["times"]["runtimes"] = nlohmann::json::array();
  json["results"][1]["times"].erase("runtimes");
  json["results"][1]["measurements"][0]["unit"] = "us";
  const T4Results results = read(json.dump(), named());
  EXPECT_DOUBLE_EQ(results.results[0].sample.kernel.median_ns, 0.5e6);
  EXPECT_EQ(results.results[0].sample.kernel.count, 1u);
  EXPECT_DOUBLE_EQ(results.results[1].sample.kernel.median_ns, 250);
}

TEST_F(T4ReadTest, TakesTheUnitOfTheFileWhereAMeasurementHasNone) {
  nlohmann::json json = of_kernel_tuner();
  json["results"][0]["times"]["runtimes"] = {2, 4, 3};
  json["metadata"]["timeunit"] = "microseconds";
  // nlohmann::json writes keys in their order: the unit comes before the results.
  EXPECT_DOUBLE_EQ(read(json.dump(), named()).results[0].sample.kernel.median_ns, 3000);
}

TEST_F(T4ReadTest, LeavesOutConfigurationsThatWereNeverRun) {
  nlohmann::json json = of_kernel_tuner();
  json["results"][0] = {{"invalidity", "constraints"}};
  const T4Results results = read(json.dump(), named());
  EXPECT_EQ(results.results.size(), 2u);
  EXPECT_EQ(results.never_run, 1u);
}

TEST_F(T4ReadTest, AsksForTheProblemAndTheDeviceThatAFileDoesNotName) {
  EXPECT_THAT(refusal(of_kernel_tuner(), {.device = [] { return measured_device(); }}),
              HasSubstr("result 1: it has no 'problem'"));
  EXPECT_THAT(refusal(of_kernel_tuner(), {.device = [] { return measured_device(); }}),
              HasSubstr("--m, --n, --k"));
  const T4Defaults no_device = {.problem = plain_problem(), .device = []() -> DeviceProfile {
                                  fail(ErrorCode::kInvalidArgument, "name it with --device");
                                }};
  EXPECT_THAT(refusal(of_kernel_tuner(), no_device), HasSubstr("name it with --device"));
}

TEST_F(T4ReadTest, RefusesKernelsOfOtherProgramsByTheNameOfTheirParameter) {
  nlohmann::json json = of_kernel_tuner();
  json["results"][1]["configuration"] = {{"MWG", 64}, {"NWG", 64}, {"KWG", 16}};
  EXPECT_THAT(refusal(json), HasSubstr("result 2: no kernel of Rooftile has the parameter 'KWG'"));
  json["results"][1]["configuration"] = {{"tile_m", 64}};
  EXPECT_THAT(refusal(json), HasSubstr("result 2: its configuration does not name a family"));
}

TEST_F(T4ReadTest, RefusesWhatIsNoT4AndSaysWhere) {
  EXPECT_EQ(refusal(of_kernel_tuner()), "");
  struct Change {
    const char* pointer;
    nlohmann::json value;
    const char* says;
  };
  const nlohmann::json huge(std::vector<int>(300, 1));
  const Change changes[] = {
      {"/schema_version", "2.0.0", "schema_version"},
      {"/schema_version", 1, "schema_version"},
      {"/metadata", 3, "metadata"},
      {"/metadata/timeunit", "fortnights", "fortnights"},
      {"/metadata/rooftile", {{"devices", 3}}, "devices"},
      {"/metadata/rooftile", {{"devices", {{{"uuid", 7}}}}}, "uuid"},
      {"/metadata/rooftile",
       {{"devices", {{{"uuid", "1"}, {"pipeline_cache_uuid", "2"}, {"limits", 3}}}}},
       "limits"},
      {"/results", nlohmann::json::object(), "results"},
      {"/results", nlohmann::json::array(), "no result"},
      {"/results/0", 5, "result 1: it is 5"},
      {"/results/0/configuration", "family=naive", "configuration"},
      {"/results/0/configuration/family", "teapot", "teapot"},
      {"/results/0/configuration/tile_m", -1, "tile_m is '-1'"},
      {"/results/0/configuration/tile_m", 1.5, "tile_m"},
      {"/results/0/configuration/tile_m", 1e300, "tile_m"},
      {"/results/0/configuration/tile_m", nullptr, "tile_m"},
      {"/results/0/configuration/tile_m", {32}, "tile_m"},
      {"/results/1/invalidity", "excellent", "result 2: its 'invalidity' is 'excellent'"},
      {"/results/1/invalidity", 5, "result 2: 'invalidity'"},
      {"/results/1/correctness", "yes", "correctness"},
      {"/results/1/times", 5, "times"},
      {"/results/1/times/runtimes", "fast", "runtimes"},
      {"/results/1/times/runtimes/0", "fast", "fast"},
      {"/results/1/times/runtimes/0", -1, "run"},
      {"/results/1/times/runtimes/0", 1e300, "run"},
      {"/results/1/times/runtimes/0", 1e-12, "run"},
      {"/results/1/times/compilation", -5, "compilation"},
      {"/results/1/measurements", "none", "measurements"},
      {"/results/1/measurements", huge, "measurements"},
      {"/results/1/measurements/0", 5, "measurement"},
      {"/results/1/measurements/0/value", "soon", "'time'"},
      {"/results/1/measurements/0/value", nullptr, "'time'"},
      {"/results/1/measurements/0/unit", "parsecs", "parsecs"},
      {"/results/1/measurements/0/unit", 3, "unit"},
      {"/results/1/problem", 3, "problem"},
      {"/results/1/problem", {{"m", 0}, {"n", 1}, {"k", 1}}, "'m'"},
      {"/results/1/problem", {{"m", 1e9}, {"n", 1}, {"k", 1}}, "'m'"},
      {"/results/1/problem", {{"m", 0xffffffffffffffffu}, {"n", 1}, {"k", 1}}, "'m'"},
      {"/results/1/problem", {{"m", 4}, {"n", 4}, {"k", 4}, {"lda", 2}}, "lda"},
      {"/results/1/problem", {{"m", 4}, {"n", 4}, {"k", 4}, {"type", "f99"}}, "f99"},
      {"/results/1/problem", {{"m", 4}, {"n", 4}, {"k", 4}, {"epilogue", "boil"}}, "boil"},
      {"/results/1/problem", {{"m", 4}, {"n", 4}, {"k", 4}, {"trans_a", "yes"}}, "trans_a"},
      {"/results/1/problem", {{"m", 4}, {"n", 4}, {"k", 4}, {"alpha", "1"}}, "alpha"},
      {"/results/1/problem", {{"m", 4}, {"n", 4}, {"k", 4}, {"groups", 0}}, "'groups'"},
      {"/results/1/problem",
       {{"m", 4}, {"n", 4}, {"k", 4}, {"groups", 2}, {"largest", 5}},
       "'largest'"},
      {"/results/1/problem",
       {{"m", 4}, {"n", 4}, {"k", 4}, {"groups", 2}, {"batch", 3}},
       "no batch"},
      {"/results/1/problem",
       {{"m", 4}, {"n", 4}, {"k", 4}, {"groups", 2}, {"trans_a", true}},
       "not transposed"},
      {"/results/1/device", 1, "device"},
      {"/results/1/device", -1, "device"},
      {"/results/1/purpose", "fun", "fun"},
  };
  for (const Change& change : changes) {
    nlohmann::json json = of_kernel_tuner();
    json[nlohmann::json::json_pointer(change.pointer)] = change.value;
    EXPECT_THAT(refusal(json), HasSubstr(change.says)) << change.pointer << " " << change.value;
  }
  for (const char* missing : {"configuration", "times", "invalidity", "correctness"}) {
    nlohmann::json json = of_kernel_tuner();
    json["results"][1].erase(missing);
    EXPECT_THAT(refusal(json), HasSubstr(std::string("result 2: it has no '") + missing))
        << missing;
  }
}

TEST_F(T4ReadTest, GroupsAreReadAsTheyAreWritten) {
  Problem p = typical_problem(packed_problem(500, 40, 64), 8, 9, 4);
  EXPECT_EQ(parse_problem(problem_json(p)), p);
  p = typical_problem(retyped(packed_problem(500, 40, 64), parse_types("f32xq4b32z")), 8, 0, 1);
  p.epilogue = parse_epilogue("bias_column+relu");
  EXPECT_EQ(parse_problem(problem_json(p)), p);
}

TEST_F(T4ReadTest, SurvivesDamage) {
  const std::string whole = of_kernel_tuner().dump();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(read(whole.substr(0, length), named()), Error) << length;
  Random random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string text = whole;
    for (int changes = 0; changes < 3; ++changes)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    try {
      read(text, named());
    } catch (const Error&) {  // Anything else fails the test.
    }
  }
}

TEST_F(T4ReadTest, RefusesNestingAndValuesWithoutEndBeforeTheyTakeMemory) {
  for (const std::string& opened :
       {std::string("{\"results\":") + std::string(1'000'000, '['),
        std::string("{\"results\":[{\"times\":") + std::string(1'000'000, '['),
        std::string("{\"elsewhere\":") + std::string(1'000'000, '[')})
    EXPECT_THROW(read(opened, named()), Error);
  std::string many = "{\"results\":[{\"configuration\":[";
  for (int i = 0; i < 300'000; ++i) many += "0,";
  EXPECT_THAT(message_of([&] { read(many + "0]}]}", named()); }),
              HasSubstr("result 1 has more than"));
}

TEST_F(T4ReadTest, KeepsControlCharactersOutOfMessages) {
  nlohmann::json json = of_kernel_tuner();
  json["results"][0]["configuration"]["\x1b[31mred"] = 1;
  EXPECT_THAT(refusal(json), ::testing::Not(HasSubstr("\x1b")));
  json = of_kernel_tuner();
  json["results"][0]["invalidity"] = "\x1b[31m\nfoo";
  EXPECT_THAT(refusal(json), ::testing::Not(HasSubstr("\x1b")));
}

TEST_F(T4ReadTest, TellsItsFilesFromOthersByTheirFirstKeys) {
  EXPECT_TRUE(is_t4_file(written(of_kernel_tuner().dump())));
  EXPECT_TRUE(
      is_t4_file(written("  {\"metadata\": {\"results\": 3, \"a\": [{}]}, \"schema_version\"")));
  EXPECT_FALSE(is_t4_file(written(R"({"format": "rooftile-web-results", "results": []})")));
  EXPECT_FALSE(is_t4_file(written(R"({"metadata": {"results": []}})")));
  EXPECT_FALSE(is_t4_file(written("SQLite format 3")));
  EXPECT_TRUE(is_t4_file(written("\xef\xbb\xbf" + of_kernel_tuner().dump())))
      << "a byte order mark";
  EXPECT_FALSE(is_t4_file(written("[]")));
  for (const std::string& damaged :
       {std::string(R"({"metadata": {"a": NaN}, "results": [)"), "{" + std::string(100, '[')})
    EXPECT_TRUE(is_t4_file(written(damaged))) << "the reader tells what is wrong";
  EXPECT_FALSE(is_t4_file(written("")));
  EXPECT_FALSE(is_t4_file(file("missing.json")));
  EXPECT_FALSE(is_t4_file(folder_.path()));
}

}  // namespace
}  // namespace rooftile
