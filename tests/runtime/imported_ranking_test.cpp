// Kernels that other machines measured, as candidates of this one
// (runtime/tuned/imported_ranking.h).
#include "runtime/tuned/imported_ranking.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "db/store.h"
#include "runtime/tuned/certifiable_kernels.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ImportedRanking : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(shipped_);
    device_.device_uuid = device_.pipeline_cache_uuid = "00";
    device_.name = "fake";
    device_.vendor_id = 1;
    device_.device_id = 2;
    device_.driver_id = 3;
    card_ = device_;
    card_.device_uuid = "01";
    ++card_.driver_version;
  }

  /// Another machine's database, in which the card has this ranked list for the problem.
  void measure(const std::filesystem::path& file, const std::vector<Variant>& ranked) const {
    measure(file, ranked, problem_);
  }
  void measure(const std::filesystem::path& file, const std::vector<Variant>& ranked,
               const Problem& p) const {
    Store store(file);
    const RowId row = store.device_id(card_);
    store.add_calibration(row, to_figures(fast_host()));
    std::vector<PlantedKernel> kernels;
    for (const Variant& variant : ranked) kernels.push_back({variant});
    plant_winners(store, row, p, kernels);
  }
  void import_kernels(const std::vector<Variant>& ranked) const {
    measure(folder_ / "theirs.db", ranked);
    Store(database_).import_from(folder_ / "theirs.db");
  }
  std::vector<std::string> order(const Problem& p) const {
    std::vector<std::string> tiles;
    for (const RankedChoice& choice :
         imported_ranking(database_, shipped_, device_).ranked(p, own_buffers(p), device_.limits))
      tiles.push_back(
          fmt::format("{}x{}", choice.candidate->variant.tile_m, choice.candidate->variant.tile_n));
    return tiles;
  }

  ScratchFolder folder_;
  const std::filesystem::path database_ = folder_ / "rooftile.db", shipped_ = folder_ / "devices";
  const Problem problem_ = packed_problem(64, 48, 80), near_ = packed_problem(60, 48, 80);
  DeviceProfile device_, card_;
  const Variant x_ = parse_variant("family=register tile_m=8 tile_n=8 reg_m=4 reg_n=4"),
                y_ = parse_variant("family=register tile_m=16 tile_n=8 reg_m=4 reg_n=4"),
                z_ = parse_variant("family=register tile_m=16 tile_n=16 reg_m=4 reg_n=4");
};

TEST_F(ImportedRanking, IsEmptyWhereNothingIsThere) {
  std::filesystem::remove(shipped_);
  EXPECT_THAT(imported_ranking(database_, shipped_, device_).classes(), IsEmpty());
  EXPECT_THAT(imported_ranking({}, {}, device_).classes(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(database_));
}

TEST_F(ImportedRanking, PutsImportsBeforeWhatIsShipped) {
  measure(shipped_ / "card.db", {z_, y_});
  import_kernels({x_});
  EXPECT_THAT(order(problem_), ElementsAre("8x8", "16x16", "16x8"));
  EXPECT_THAT(order(near_), ElementsAre("8x8", "16x16", "16x8"));
  EXPECT_THAT(order(packed_problem(8, 8, 8, Transpose::kYes)), IsEmpty());
  EXPECT_TRUE(is_calibrated(imported_ranking(database_, shipped_, device_).rates()));
}

TEST_F(ImportedRanking, PutsThisDevicesRowFirst) {
  measure(shipped_ / "card.db", {y_});
  import_kernels({y_});
  card_ = device_;
  measure(folder_ / "same.db", {x_});
  Store(database_).import_from(folder_ / "same.db");
  EXPECT_THAT(order(problem_), ElementsAre("8x8", "16x8"));
}

TEST_F(ImportedRanking, LeavesOutOtherProductsAndDrivers) {
  ++card_.driver_id;
  measure(shipped_ / "driver.db", {x_});
  import_kernels({x_});
  --card_.driver_id;
  ++card_.vendor_id;
  measure(shipped_ / "vendor.db", {y_});
  EXPECT_THAT(order(problem_), IsEmpty());
}

TEST_F(ImportedRanking, LeavesOutWhatWasBlockedThere) {
  for (const auto& file : {shipped_ / "card.db", folder_ / "theirs.db"}) {
    measure(file, {x_, y_});
    Store store(file);
    store.black_list(*store.find_device(card_), candidate_row(store, x_, signature_of(problem_)),
                     "hangs");
  }
  EXPECT_THAT(order(problem_), ElementsAre("16x8"));
  std::filesystem::remove(shipped_ / "card.db");
  import_kernels({x_, y_});
  EXPECT_THAT(order(problem_), ElementsAre("16x8"));
}

TEST_F(ImportedRanking, OfOtherSizesFollowsTheNearestPortfolio) {
  const auto with_portfolio = [&](const std::filesystem::path& file, const Variant& fast,
                                  const Variant& slow) {
    measure(file, {y_, x_});
    Store store(file);
    std::vector<PortfolioRecord> records;
    for (const auto& [variant, ns] : {std::pair(fast, 1e5), std::pair(slow, 9e5)})
      records.push_back({.candidate = candidate_row(store, variant, signature_of(problem_)),
                         .place = static_cast<int>(records.size()),
                         .times = {{.m = 32, .n = 32, .k = 32, .ns = ns},
                                   {.m = 96, .n = 96, .k = 96, .ns = 2 * ns}}});
    store.put_portfolio(*store.find_device(card_), to_string(signature_of(problem_)), records, {});
  };
  with_portfolio(shipped_ / "card.db", x_, z_);
  EXPECT_THAT(order(near_), ElementsAre("8x8", "16x16", "16x8"));
  with_portfolio(folder_ / "theirs.db", z_, x_);
  Store(database_).import_from(folder_ / "theirs.db");
  EXPECT_THAT(order(near_), ElementsAre("16x16", "8x8", "16x8"));
}

TEST_F(ImportedRanking, OffersKernelsForGroupsBeforeThoseOfSingleProducts) {
  Problem grouped = problem_;
  grouped.m = 12 * problem_.m;
  grouped.grouping = {.groups = 12, .largest = 2 * problem_.m};
  measure(shipped_ / "single.db", {x_});
  measure(shipped_ / "groups.db", {y_}, grouped);
  const std::vector<CertifiableKernel> kernels =
      certifiable_kernels(device_, imported_ranking({}, shipped_, device_), grouped,
                          own_buffers(grouped), device_.limits);
  ASSERT_GE(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].variant, y_);
  EXPECT_EQ(kernels[1].variant, x_);
}

TEST_F(ImportedRanking, PassesOverAFileThatCannotBeRead) {
  measure(shipped_ / "b.db", {x_});
  std::ofstream(shipped_ / "a.db") << "no database";
  std::ofstream(database_) << "no database either";
  testing::internal::CaptureStderr();
  EXPECT_THAT(order(problem_), ElementsAre("8x8"));
  order(problem_);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("a.db should hold the data of a measured device"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

}  // namespace
}  // namespace rooftile
