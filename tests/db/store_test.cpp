// Everything that is stored can be read, from the same Store and from one that is opened later.
#include <gmock/gmock.h>

#include "db/schema/schema.h"
#include "store_fixture.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

constexpr const char* kIsoTime =
    "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z";

bool same(const SampleRecord& a, const SampleRecord& b) {
  return a.run == b.run && a.candidate == b.candidate && a.problem == b.problem &&
         a.status == b.status && a.kernel.median_ns == b.kernel.median_ns &&
         a.kernel.mad_ns == b.kernel.mad_ns && a.kernel.low_ns == b.kernel.low_ns &&
         a.kernel.high_ns == b.kernel.high_ns && a.kernel.count == b.kernel.count &&
         a.pack_ns == b.pack_ns && a.compile_ns == b.compile_ns && a.detail == b.detail &&
         a.retaken == b.retaken && a.noisy == b.noisy && a.level == b.level &&
         a.purpose == b.purpose;
}

TEST_F(StoreTest, ANewFileHasTheNewestSchemaAndNoWarning) {
  Store store(file());
  EXPECT_EQ(store.schema_version(), kSchemaVersion);
  EXPECT_EQ(store.note(), "");
  EXPECT_EQ(store.path(), std::filesystem::canonical(file()));
  EXPECT_THAT(store.check(), IsEmpty());
  EXPECT_EQ(store.query("PRAGMA application_id").rows.at(0).at(0), std::to_string(0x526f6f66));
}

TEST_F(StoreTest, DeviceIsFoundByItsIdentityAndItsTextsFollowTheDriver) {
  Store store(file());
  DeviceProfile profile = example_device();
  EXPECT_EQ(store.find_device(profile), std::nullopt);
  const RowId id = store.device_id(profile);
  EXPECT_EQ(store.device_id(profile), id);

  profile.name = "another name";
  profile.limits.subgroup_size = 16;
  EXPECT_EQ(store.find_device(profile), id);
  EXPECT_EQ(store.device_id(profile), id);
  const std::vector<DeviceRecord> devices = store.devices();
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices[0].profile.name, "another name");
  EXPECT_EQ(devices[0].profile.limits.subgroup_size, 16u);
  EXPECT_THAT(devices[0].created_at, MatchesRegex(kIsoTime));
}

TEST_F(StoreTest, EveryPartOfTheIdentityMakesAnotherDevice) {
  Store store(file());
  const RowId id = store.device_id(example_device());
  const std::vector<void (*)(DeviceProfile&)> changes = {
      [](DeviceProfile& p) { p.device_uuid = "ff"; },
      [](DeviceProfile& p) { p.vendor_id = 1; },
      [](DeviceProfile& p) { p.device_id = 1; },
      [](DeviceProfile& p) { p.driver_id = 1; },
      [](DeviceProfile& p) { p.driver_version = 2; },
      [](DeviceProfile& p) { p.pipeline_cache_uuid = "ff"; }};
  for (const auto& change : changes) {
    DeviceProfile other = example_device();
    change(other);
    EXPECT_EQ(store.find_device(other), std::nullopt);
    EXPECT_NE(store.device_id(other), id);
  }
  EXPECT_THAT(store.devices(), SizeIs(1 + changes.size()));
}

TEST_F(StoreTest, NewestCalibrationCounts) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  EXPECT_THAT(store.latest_calibration(device), IsEmpty());

  const std::vector<Figure> first = {
      {.name = "device.fma.f32", .unit = "gflops", .value = 10, .mad = 0.5, .count = 5}};
  const std::vector<Figure> second = {
      {.name = "host.gemm.threads.512x512x512",
       .unit = "gflops",
       .value = 99.5,
       .mad = 0,
       .count = 3},
      {.name = "device.fma.f32", .unit = "gflops", .value = 12, .mad = 0.25, .count = 9}};
  store.add_calibration(device, first);
  store.add_calibration(device, second);
  EXPECT_EQ(store.latest_calibration(device), second);
  EXPECT_THAT(store.calibrations(device, Provenance::kOwn, 1)[0].at, MatchesRegex(kIsoTime));
}

TEST_F(StoreTest, CandidateIsOneRowPerHash) {
  Store store(file());
  const CandidateRecord candidate = example_candidate("abc");
  const RowId id = store.candidate_id(candidate);
  EXPECT_EQ(store.candidate_id(candidate), id);
  EXPECT_NE(store.candidate_id(example_candidate("abd")), id);
  const std::optional<CandidateRecord> found = store.candidate(id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, id);
  EXPECT_EQ(found->hash, "abc");
  EXPECT_EQ(found->signature, "f32.nt");
  EXPECT_EQ(found->variant, candidate.variant);
  EXPECT_EQ(store.candidate(id + 100), std::nullopt);
  EXPECT_THAT(store
                  .query("SELECT family, json_extract(parameters, '$.tile_n'), "
                         "json_extract(parameters, '$.stage')"
                         " FROM candidates WHERE hash = 'abc'")
                  .rows,
              ElementsAre(ElementsAre("tiled", "32", "shared")));
}

TEST_F(StoreTest, EveryParameterOfAVariantIsInItsJson) {
  Store store(file());
  store.candidate_id(example_candidate("abc"));
  std::vector<std::string> names;
  for (const auto& row :
       store.query("SELECT j.key FROM candidates, json_each(parameters) AS j").rows)
    names.push_back(row[0]);
  EXPECT_EQ(names, parameter_names());
}

TEST_F(StoreTest, ProblemIsOneRowPerValueOfEveryField) {
  Store store(file());
  const Problem problem = packed_problem(37, 129, 65);
  const RowId id = store.problem_id(problem);
  EXPECT_EQ(store.problem_id(problem), id);
  EXPECT_EQ(store.problem(id), problem);
  EXPECT_EQ(store.problem(id + 100), std::nullopt);
  const std::vector<void (*)(Problem&)> changes = {[](Problem& p) { p.m = 36; },
                                                   [](Problem& p) { p.n = 128; },
                                                   [](Problem& p) { p.k = 64; },
                                                   [](Problem& p) {
                                                     p.batch = 2;
                                                     p.stride_c = 37 * 129;
                                                   },
                                                   [](Problem& p) { p.stride_a = 5000; },
                                                   [](Problem& p) { p.stride_b = 50000; },
                                                   [](Problem& p) { p.lda = 200; },
                                                   [](Problem& p) { p.ldb = 200; },
                                                   [](Problem& p) { p.ldc = 200; },
                                                   [](Problem& p) {
                                                     p.grouping = {1, 3, 0};
                                                   },
                                                   [](Problem& p) {
                                                     p.grouping = {1, 4, 0};
                                                   },
                                                   [](Problem& p) {
                                                     p.grouping = {1, 4, 9};
                                                   },
                                                   [](Problem& p) {
                                                     p.grouping = {2, 4, 9};
                                                     p.stride_b = 65 * 129;
                                                   },
                                                   [](Problem& p) { p.alpha = 2; },
                                                   [](Problem& p) { p.beta = 1; },
                                                   [](Problem& p) { p.trans_a = Transpose::kYes; },
                                                   [](Problem& p) {
                                                     p.trans_b = Transpose::kYes;
                                                     p.ldb = 129;
                                                   }};
  for (const auto& change : changes) {
    Problem other = problem;
    change(other);
    const RowId other_id = store.problem_id(other);
    EXPECT_NE(other_id, id);
    EXPECT_EQ(store.problem(other_id), other);
  }
}

TEST_F(StoreTest, IllegalProblemIsRefused) {
  Store store(file());
  Problem problem = packed_problem(3, 5, 7);
  problem.lda = 2;
  EXPECT_EQ(error_of([&] { store.problem_id(problem); }).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([&] { store.log_untuned(1, problem); }).code(), ErrorCode::kInvalidArgument);
}

TEST_F(StoreTest, SamplesComeBackByDeviceAndProblemOverAllRuns) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  DeviceProfile newer_driver = example_device();
  newer_driver.driver_version = 2;
  const RowId other_device = store.device_id(newer_driver);
  const RowId candidate = store.candidate_id(example_candidate("abc"));
  const RowId problem = store.problem_id(packed_problem(37, 129, 65));
  const RowId other_problem = store.problem_id(packed_problem(38, 129, 65));
  const RowId run1 = store.begin_run(device, "1.0", "{}"),
              run2 = store.begin_run(device, "1.0", R"({"seed": 3})");
  const RowId elsewhere = store.begin_run(other_device, "1.0", "{}");

  std::vector<SampleRecord> expected = {measured(run1, candidate, problem, 1000)};
  for (const SampleStatus status :
       {SampleStatus::kCompileFailed, SampleStatus::kLaunchFailed, SampleStatus::kWrongResult,
        SampleStatus::kTimedOut, SampleStatus::kCrashed}) {
    SampleRecord failed;
    failed.run = run2;
    failed.candidate = candidate;
    failed.problem = problem;
    failed.status = status;
    failed.detail = std::string(name(status)) + ": line 3";
    expected.push_back(failed);
  }
  expected[0].retaken = 3;
  expected[0].noisy = 2;
  expected[0].purpose = SamplePurpose::kPortfolio;
  expected[0].level = 1.25;
  for (const SampleRecord& sample : expected) store.add_sample(sample);
  store.add_sample(measured(run1, candidate, other_problem, 1));
  store.add_sample(measured(elsewhere, candidate, problem, 2));
  store.end_run(run1, "finished");

  const std::vector<SampleRecord> found = store.samples(device, problem);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(same(found[i], expected[i])) << i;
  const auto runs =
      store.query("SELECT outcome, ended_at >= created_at, settings FROM runs ORDER BY id").rows;
  EXPECT_THAT(runs, ElementsAre(ElementsAre("finished", "1", "{}"),
                                ElementsAre("", "", R"({"seed": 3})"), ElementsAre("", "", "{}")));
}

TEST_F(StoreTest, MeasuredSampleWithoutAMeasurementIsRefused) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  const RowId run = store.begin_run(device, "1.0", "{}");
  SampleRecord sample = measured(run, store.candidate_id(example_candidate("abc")),
                                 store.problem_id(packed_problem(3, 5, 7)), 1000);
  sample.kernel.count = 0;
  EXPECT_EQ(error_of([&] { store.add_sample(sample); }).code(), ErrorCode::kInvalidArgument);
}

TEST_F(StoreTest, ValuesThatTheTablesRefuseAreInvalidArguments) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  const RowId candidate = store.candidate_id(example_candidate("abc"));
  EXPECT_EQ(error_of([&] { store.begin_run(device, "1.0", "not json"); }).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([&] { store.begin_run(device + 7, "1.0", "{}"); }).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([&] { store.black_list(device, candidate + 7, "x"); }).code(),
            ErrorCode::kInvalidArgument);
  const std::vector<Figure> twice = {{.name = "a", .unit = "ns"}, {.name = "a", .unit = "ns"}};
  EXPECT_EQ(error_of([&] { store.add_calibration(device, twice); }).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_THAT(store.latest_calibration(device), IsEmpty()) << "part of a calibration was stored";
}

TEST_F(StoreTest, RunSurvivesReopening) {
  RowId device = 0;
  {
    Store store(file());
    device = store.device_id(example_device());
    store.begin_run(device, "1.0", "{}");
  }
  Store store(file(), OpenMode::kReadOnly);
  EXPECT_EQ(store.find_device(example_device()), device);
  const Error error = error_of([&] { store.begin_run(device, "1.0", "{}"); });
  EXPECT_EQ(error.code(), ErrorCode::kDatabase);
  EXPECT_THAT(error.what(), HasSubstr(file().string()));
}

TEST_F(StoreTest, MovedStoreKeepsItsFile) {
  Store first(file());
  const RowId device = first.device_id(example_device());
  Store second = std::move(first);
  EXPECT_EQ(second.find_device(example_device()), device);
}

TEST_F(StoreTest, UncommittedTransactionLeavesNothing) {
  Store store(file());
  {
    Store::Transaction transaction(store);
    store.device_id(example_device());
  }
  EXPECT_THAT(store.devices(), IsEmpty());
  {
    Store::Transaction transaction(store);
    store.device_id(example_device());
    EXPECT_THAT(Store(file(), OpenMode::kReadOnly).devices(), IsEmpty())
        << "rows are visible before the commit";
    transaction.commit();
  }
  EXPECT_THAT(Store(file(), OpenMode::kReadOnly).devices(), SizeIs(1));
}

TEST_F(StoreTest, AFailedStatementInATransactionUndoesOnlyItself) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  const RowId candidate = store.candidate_id(example_candidate("abc"));
  const RowId problem = store.problem_id(packed_problem(3, 5, 7));
  const std::vector<WinnerRecord> good = {
      {.candidate = candidate, .problem = problem, .rank = 0, .kernel_ns = 5}};
  const std::vector<WinnerRecord> bad = {
      {.candidate = candidate + 9, .problem = problem, .rank = 0}};
  Store::Transaction transaction(store);
  EXPECT_EQ(error_of([&] { Store::Transaction nested(store); }).code(),
            ErrorCode::kInvalidArgument);
  store.put_winners(device, "b", good);
  EXPECT_EQ(error_of([&] { store.put_winners(device, "b", bad); }).code(),
            ErrorCode::kInvalidArgument);
  transaction.commit();
  EXPECT_THAT(store.winners(device), SizeIs(1));
}

}  // namespace
}  // namespace rooftile
