// Results in the format T4 from one database into another, by the rules of an import.
#include "formats/t4_import.h"

#include <gmock/gmock.h>

#include "tests/formats/formats_fixture.h"

namespace rooftile {
namespace {

using T4ImportTest = FormatsTest;

/// All samples as text, without what T4 does not carry (times of day, keys).
std::vector<std::string> samples_of(const Store& store) {
  std::vector<std::string> samples;
  for (const DeviceRecord& device : store.devices())
    store.for_each_sample(device.id, [&](const StoredSample& stored) {
      const SampleRecord& s = stored.sample;
      samples.push_back(fmt::format(
          "{} {} {} {} {:.9g} {:.9g} {:.9g} {:.9g} {} {:.9g} {:.9g} {} {} {}",
          device.profile.device_uuid, stored.variant, to_string(*store.problem(s.problem)),
          name(s.status), s.kernel.median_ns, s.kernel.mad_ns, s.kernel.low_ns, s.kernel.high_ns,
          s.kernel.count, s.pack_ns, s.compile_ns, s.level, name(s.purpose), s.detail));
    });
  std::ranges::sort(samples);
  return samples;
}

TEST_F(T4ImportTest, AnExportIsReadAsTheSameSamples) {
  Store ours(file("ours.db")), theirs(file("theirs.db"));
  const std::string text = t4_of(ours, {fill(ours)});
  const T4Results results = read(text);
  EXPECT_EQ(results.problems, (std::vector{plain_problem(), fused_problem()}));
  const T4Import import = import_t4(theirs, results);
  EXPECT_EQ(import.illegal, 0u);
  EXPECT_EQ(import.added.samples, 16);
  EXPECT_EQ(import.added.devices, 1);
  std::vector<std::string> expected = samples_of(ours);
  ASSERT_EQ(expected.size(), 16u);
  // An import makes line breaks of strangers' messages question marks.
  for (std::string& line : expected) std::ranges::replace(line, '\n', '?');
  EXPECT_EQ(samples_of(theirs), expected);
  const DeviceProfile device = theirs.devices().front().profile;
  EXPECT_EQ(device.name, measured_device().name);
  EXPECT_EQ(device.vendor_id, measured_device().vendor_id);
  EXPECT_EQ(device.kind, measured_device().kind);
  EXPECT_EQ(device.limits.max_workgroup_size, measured_device().limits.max_workgroup_size);
}

TEST_F(T4ImportTest, ImportedResultsRankKernelsAndNoneIsUsedUncertified) {
  Store ours(file("ours.db")), theirs(file("theirs.db"));
  import_t4(theirs, read(t4_of(ours, {fill(ours)})));
  const RowId device = theirs.devices().front().id;
  EXPECT_TRUE(theirs.tuned_kernels(device, kGeneratorVersion).empty());
  EXPECT_TRUE(theirs.winners(device).empty());
  const std::vector<ImportedKernel> kernels = theirs.imported_kernels(device);
  ASSERT_EQ(kernels.size(), 4u);
  const auto first = std::ranges::find_if(kernels, [](const ImportedKernel& kernel) {
    return kernel.kernel.problem == plain_problem() && kernel.kernel.rank == 0;
  });
  ASSERT_NE(first, kernels.end());
  EXPECT_EQ(first->kernel.candidate.variant, parse_variant(kRegister));
  EXPECT_NEAR(first->kernel.kernel_ns, 1100.25, 1e-6);
}

TEST_F(T4ImportTest, AFileAddsNothingTheSecondTimeOrToTheDatabaseThatWroteIt) {
  Store ours(file("ours.db")), theirs(file("theirs.db"));
  const T4Results results = read(t4_of(ours, {fill(ours)}));
  EXPECT_TRUE(brought_anything(import_t4(theirs, results).added));
  EXPECT_FALSE(brought_anything(import_t4(theirs, results).added));
  const T4Import back = import_t4(ours, results);
  EXPECT_TRUE(back.own);
  EXPECT_FALSE(brought_anything(back.added));
  EXPECT_EQ(samples_of(ours).size(), 16u);
}

TEST_F(T4ImportTest, AnExportOfOneProblemHoldsNoOther) {
  Store ours(file("ours.db"));
  Problem wanted = fused_problem();
  wanted.beta = 0;  // does not count
  const T4Results results = read(t4_of(ours, {fill(ours)}, wanted));
  EXPECT_EQ(results.problems, std::vector{fused_problem()});
  EXPECT_EQ(results.results.size(), 8u);
}

TEST_F(T4ImportTest, AnExportHoldsImportedSamplesWithTheirOrigin) {
  Store ours(file("ours.db")), theirs(file("theirs.db"));
  import_t4(theirs, read(t4_of(ours, {fill(ours)})));
  const nlohmann::json json = nlohmann::json::parse(t4_of(theirs, {theirs.devices()[0].id}));
  ASSERT_EQ(json["results"].size(), 16u);
  for (const nlohmann::json& result : json["results"]) EXPECT_TRUE(result.contains("origin"));
}

TEST_F(T4ImportTest, KernelsThatTheDeviceCannotRunAreLeftOutAndCounted) {
  Store ours(file("ours.db")), theirs(file("theirs.db"));
  nlohmann::json json = nlohmann::json::parse(t4_of(ours, {fill(ours)}));
  json["results"][0]["configuration"]["tile_m"] = 65536;
  json["results"][1]["configuration"]["reg_m"] = 0;
  json["results"][2]["configuration"]["subgroup_size"] = 7;
  const T4Import import = import_t4(theirs, read(json.dump()));
  EXPECT_EQ(import.illegal, 3u);
  EXPECT_EQ(import.added.samples, 13);
}

TEST_F(T4ImportTest, KernelsThatReadWholeVectorsAreTakenForProblemsWithOddRows) {
  Store ours(file("ours.db")), theirs(file("theirs.db"));
  nlohmann::json json = nlohmann::json::parse(t4_of(ours, {fill(ours)}));
  for (const char* width : {"vector_width_a", "vector_width_b"})
    json["results"][0]["configuration"][width] = 4;
  json["results"][0]["configuration"]["unroll_k"] = 8;
  EXPECT_EQ(import_t4(theirs, read(json.dump())).illegal, 0u);
}

TEST_F(T4ImportTest, IdentitiesThatNoDriverReportsAreRefusedAndNothingIsAdded) {
  Store ours(file("ours.db")), theirs(file("theirs.db"));
  nlohmann::json json = nlohmann::json::parse(t4_of(ours, {fill(ours)}));
  json["metadata"]["rooftile"]["devices"][0]["uuid"] = "'; DROP TABLE devices; --";
  EXPECT_THROW(import_t4(theirs, read(json.dump())), Error);
  EXPECT_TRUE(theirs.devices().empty());
}

}  // namespace
}  // namespace rooftile
