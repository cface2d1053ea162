// Samples of other devices: those of the nearest device come first, then those of the nearest
// sizes.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "db/sqlite/connection.h"
#include "store_fixture.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StoreTransferTest : public StoreTest {
 protected:
  struct Identity {
    std::string uuid;
    std::uint32_t vendor, product, driver, version;
    DeviceKind kind;
  };
  RowId device(const Identity& identity) {
    DeviceProfile profile = example_device(identity.uuid);
    profile.device_uuid = identity.uuid;
    profile.vendor_id = identity.vendor;
    profile.device_id = identity.product;
    profile.driver_id = identity.driver;
    profile.driver_version = identity.version;
    profile.kind = identity.kind;
    return store_.device_id(profile);
  }
  void add(RowId on, const Problem& problem, int tile_m, double ns) {
    const RowId run = store_.begin_run(on, "1.0", "{}");
    store_.add_sample(measured(run, store_.candidate_id(candidate(tile_m)),
                               store_.problem_id(problem), ns - 40));  // packing takes 40 ns
  }
  static CandidateRecord candidate(int tile_m) {
    return example_candidate(fmt::format("hash{}", tile_m), tile_m);
  }
  std::vector<double> times(RowId of, const Problem& problem, std::size_t limit = 100) {
    std::vector<double> ns;
    for (const TransferSample& sample : store_.transfer_samples(of, problem, limit))
      ns.push_back(sample.ns);
    return ns;
  }

  Store store_{file()};
  const RowId here_ = device({"aa", 1, 2, 3, 4, DeviceKind::kDiscrete});
  const RowId kind_ = device({"bb", 9, 9, 9, 9, DeviceKind::kDiscrete});
  const RowId driver_ = device({"cc", 1, 9, 3, 9, DeviceKind::kIntegrated});
  const RowId product_ = device({"dd", 1, 2, 9, 9, DeviceKind::kIntegrated});
  const RowId same_ = device({"aa", 1, 2, 3, 5, DeviceKind::kDiscrete});
  const RowId stranger_ = device({"ee", 9, 9, 9, 9, DeviceKind::kSoftware});
  const Problem problem_ = packed_problem(64, 64, 64);
};

TEST_F(StoreTransferTest, DevicesAreOrderedBySimilarity) {
  std::vector<std::pair<RowId, Nearness>> found;
  for (const NearDevice& near : store_.nearest_devices(here_))
    found.emplace_back(near.device, near.nearness);
  EXPECT_THAT(found, ElementsAre(std::pair(same_, Nearness::kSameDevice),
                                 std::pair(product_, Nearness::kSameProduct),
                                 std::pair(driver_, Nearness::kSameDriver),
                                 std::pair(kind_, Nearness::kSameKind)));
  EXPECT_THAT(store_.nearest_devices(99), IsEmpty());
}

TEST_F(StoreTransferTest, NearDevicesBeforeNearSizesBeforeFastKernels) {
  add(kind_, problem_, 16, 1000);
  add(product_, packed_problem(512, 512, 512), 16, 3000);
  add(product_, packed_problem(100, 100, 100), 16, 2000);
  add(product_, packed_problem(100, 100, 100), 32, 1900);
  add(product_, packed_problem(100, 100, 100), 32, 1950);  // a second, slower time
  add(same_, packed_problem(4096, 4096, 4096), 64, 4000);
  add(stranger_, problem_, 16, 41);
  add(here_, problem_, 16, 41);
  add(same_, packed_problem(64, 64, 64, Transpose::kYes), 16, 41);
  EXPECT_THAT(times(here_, problem_), ElementsAre(4000, 1900, 2000, 3000, 1000));
  EXPECT_THAT(times(here_, problem_, 2), ElementsAre(4000, 1900));
  const auto samples = store_.transfer_samples(here_, problem_, 100);
  ASSERT_THAT(samples, SizeIs(5));
  EXPECT_EQ(samples[2].from.device, product_);
  EXPECT_EQ(samples[2].from.nearness, Nearness::kSameProduct);
  EXPECT_EQ(samples[2].problem, packed_problem(100, 100, 100));
  EXPECT_EQ(samples[2].variant, example_variant(16));
}

TEST_F(StoreTransferTest, FailedBlockedAndUnknownKernelsAreSkipped) {
  const RowId run = store_.begin_run(same_, "1.0", "{}");
  SampleRecord failed =
      measured(run, store_.candidate_id(candidate(128)), store_.problem_id(problem_), 1);
  failed.status = SampleStatus::kWrongResult;
  store_.add_sample(failed);
  for (const int tile_m : {8, 16, 32, 64}) add(same_, problem_, tile_m, 1000 + tile_m);
  store_.black_list(same_, store_.candidate_id(candidate(8)), "hung there");
  store_.black_list(here_, store_.candidate_id(candidate(16)), "hung here");
  Connection(file(), Access::kReadWrite, 1000)
      .database()
      .exec("UPDATE candidates SET variant = 'family=future' WHERE hash = 'hash32'");
  EXPECT_THAT(times(here_, problem_), ElementsAre(1064));
}

TEST_F(StoreTransferTest, AnEqualDeviceElsewhereIsTheNearest) {
  add(here_, problem_, 16, 1000);
  add(same_, problem_, 16, 2000);
  std::filesystem::path exported = folder_ / "export.db";
  const RowId rows[] = {here_};
  {
    Store other(folder_ / "other.db");
    DeviceProfile profile = store_.devices()[0].profile;
    const RowId run = other.begin_run(other.device_id(profile), "1.0", "{}");
    other.add_sample(
        measured(run, other.candidate_id(candidate(32)), other.problem_id(problem_), 500 - 40));
    other.black_list(1, other.candidate_id(candidate(64)), "hung");
    other.export_to(exported, rows);
  }
  add(same_, problem_, 64, 1500);
  store_.import_from(exported);
  EXPECT_THAT(times(here_, problem_), ElementsAre(500, 2000))
      << "neither own samples nor kernels that hung on a similar device are returned";
  EXPECT_EQ(store_.transfer_samples(here_, problem_, 1)[0].from.nearness, Nearness::kSame);
}

}  // namespace
}  // namespace rooftile
