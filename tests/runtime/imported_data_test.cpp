// Kernels that other machines measured, as candidates of this one
// (runtime/tuned/imported_data.h).
#include "runtime/tuned/imported_data.h"

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
    for (const RankedChoice& choice : imported_data(database_, shipped_, device_)
                                          .ranking.ranked(p, own_buffers(p), device_.limits))
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
  EXPECT_THAT(imported_data(database_, shipped_, device_).ranking.classes(), IsEmpty());
  EXPECT_THAT(imported_data({}, {}, device_).ranking.classes(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(database_));
}

TEST_F(ImportedRanking, PutsImportsBeforeWhatIsShipped) {
  measure(shipped_ / "card.db", {z_, y_});
  import_kernels({x_});
  EXPECT_THAT(order(problem_), ElementsAre("8x8", "16x16", "16x8"));
  EXPECT_THAT(order(near_), ElementsAre("8x8", "16x16", "16x8"));
  EXPECT_THAT(order(packed_problem(8, 8, 8, Transpose::kYes)), IsEmpty());
  EXPECT_TRUE(is_calibrated(imported_data(database_, shipped_, device_).ranking.rates()));
}

TEST_F(ImportedRanking, PutsThisDevicesRowFirstAndThenTheNewest) {
  const auto import_row = [&](const char* name, const DeviceProfile& card, const Variant& variant) {
    card_ = card;
    measure(folder_ / name, {variant});
    Store(database_).import_from(folder_ / name);
  };
  const DeviceProfile older = card_;
  DeviceProfile newer = card_;
  newer.device_uuid = "02";
  import_row("same.db", device_, x_);
  import_row("older.db", older, y_);
  import_row("newer.db", newer, z_);
  EXPECT_THAT(order(problem_), ElementsAre("8x8", "16x16", "16x8"));
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

TEST_F(ImportedRanking, LeavesOutWhatWasBlockedForThisDeviceElsewhere) {
  import_kernels({x_, y_});
  {
    Store store(folder_ / "same.db");
    store.black_list(store.device_id(device_), candidate_row(store, x_, signature_of(problem_)),
                     "hangs");
  }
  Store(database_).import_from(folder_ / "same.db");
  EXPECT_THAT(order(problem_), ElementsAre("16x8"));
}

TEST_F(ImportedRanking, LeavesOutBlockedKernelsOfAShippedPortfolio) {
  measure(shipped_ / "card.db", {y_});
  {
    Store store(shipped_ / "card.db");
    const RowId card = *store.find_device(card_);
    const auto record = [&](const Variant& variant, std::optional<int> place) {
      return PortfolioRecord{.candidate = candidate_row(store, variant, signature_of(problem_)),
                             .place = place,
                             .times = {{.m = 32, .n = 32, .k = 32, .ns = 10}}};
    };
    Variant unplaced = x_;
    unplaced.tile_n = 32;
    store.put_portfolio(card, to_string(signature_of(problem_)),
                        std::vector{record(x_, 0), record(z_, 1), record(unplaced, {})}, {});
    store.black_list(card, candidate_row(store, x_, signature_of(problem_)), "hangs");
  }
  EXPECT_THAT(order(near_), ElementsAre("16x16", "16x8"));
}

TEST_F(ImportedRanking, OfOtherSizesFollowsTheNearestPortfolio) {
  const auto with_portfolio = [&](const std::filesystem::path& file, const Variant& fast,
                                  const Variant& slow, double fast_ns) {
    measure(file, {y_, x_});
    Store store(file);
    std::vector<PortfolioRecord> records;
    for (const auto& [variant, ns] : {std::pair(fast, fast_ns), std::pair(slow, 9 * fast_ns)})
      records.push_back({.candidate = candidate_row(store, variant, signature_of(problem_)),
                         .place = static_cast<int>(records.size()),
                         .times = {{.m = 32, .n = 32, .k = 32, .ns = ns},
                                   {.m = 96, .n = 96, .k = 96, .ns = 2 * ns}}});
    store.put_portfolio(*store.find_device(card_), to_string(signature_of(problem_)), records, {});
  };
  with_portfolio(shipped_ / "card.db", x_, z_, 1e4);
  EXPECT_THAT(order(near_), ElementsAre("8x8", "16x16", "16x8"));
  with_portfolio(folder_ / "theirs.db", z_, x_, 1e5);
  Store(database_).import_from(folder_ / "theirs.db");
  EXPECT_THAT(order(near_), ElementsAre("16x16", "8x8", "16x8")) << "the import's, though slower";
}

TEST_F(ImportedRanking, OffersKernelsForGroupsBeforeThoseOfSingleProducts) {
  Problem grouped = problem_;
  grouped.m = 12 * problem_.m;
  grouped.grouping = {.experts = 12, .groups = 12, .largest = 2 * problem_.m};
  measure(shipped_ / "single.db", {x_});
  measure(shipped_ / "groups.db", {y_}, grouped);
  const std::vector<CertifiableKernel> kernels =
      certifiable_kernels(device_, imported_data({}, shipped_, device_).ranking, grouped,
                          own_buffers(grouped), device_.limits);
  ASSERT_GE(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].variant, y_);
  EXPECT_EQ(kernels[1].variant, x_);
  EXPECT_NEAR(kernels[1].expected_ns, 12 * kernels[0].expected_ns, 1) << "twelve times a group";
}

TEST_F(ImportedRanking, OffersKernelsOfWholeVectorsForOddRows) {
  Variant vectors = x_;
  vectors.vector_width_a = vectors.vector_width_b = vectors.unroll_k = 4;
  measure(shipped_ / "card.db", {vectors});
  Problem odd = packed_problem(61, 50, 70);
  odd.lda = 72, odd.ldb = odd.ldc = 52;  // As the staged operands have them.
  ASSERT_EQ(illegal_reason(vectors, device_.limits, odd, own_buffers(odd)).value_or(""), "");
  const std::vector<CertifiableKernel> kernels = certifiable_kernels(
      device_, imported_data({}, shipped_, device_).ranking, odd, own_buffers(odd), device_.limits);
  ASSERT_FALSE(kernels.empty());
  EXPECT_EQ(kernels[0].variant, vectors);
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
