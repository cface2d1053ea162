// A problem's ranked list keeps the kernel that is fastest without packing, too. A shell script is
// the fake worker: packed kernels are fast, and packing for them is slow.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "generator/space.h"
#include "tests/support/scratch.h"
#include "tests/tuner/scripted_worker.h"
#include "tests/tuner/tune_alone.h"

namespace rooftile {
namespace {

class PrepackedTest : public ::testing::Test {
 protected:
  PrepackedTest() {
    profile_.device_uuid = "00";
    profile_.name = "packer";
    set_small_workgroups(profile_.limits);
    device_ = store_.device_id(profile_);
    run_ = store_.begin_run(device_, "1", "{}");
  }

  /// Packed kernels take half as long, and prepacked_ns where operands were packed before. packing
  /// is the time of packing in ns as a shell expression, in which $n counts the timings.
  std::filesystem::path worker(const std::string& packing, double prepacked_ns) {
    const auto reply = [](double kernel_ns, const std::string& packing_ns) {
      constexpr double kPackNs = 123;  // stands for what the shell computes
      std::string text = to_json(TimeReply{.hash = "x",
                                           .kernel_ns = {kernel_ns, kernel_ns + 1},
                                           .pack_ns = kPackNs,
                                           .compile_ns = 1e6,
                                           .estimate_ns = kernel_ns})
                             .dump();
      const std::string number = JsonValue(kPackNs).dump();
      return text.replace(text.find(number), number.size(), packing_ns);
    };
    const std::string passed = to_json(Certificate{.passed = true, .cases = 3}).dump();
    const std::filesystem::path file = folder_ / "worker";
    WorkerScript(file)
        << "while read -r request; do\n  case \"$request\" in\n"
        << "    *certify*) echo '" << passed << "' ;;\n"
        << "    *'\"prepacked\":true'*packed_b=yes* | *packed_b=yes*'\"prepacked\":true'*) echo '"
        << reply(prepacked_ns, "0") << "' ;;\n"
        << "    *packed_b=yes*) n=$((n + 1)); echo '" << reply(1e6, "'" + packing + "'") << "' ;;\n"
        << "    *) echo '" << reply(2e6, "0") << "' ;;\n  esac\ndone\n";
    return file;
  }

  /// The problem's list, best first.
  std::vector<RankedKernel> tuned(const std::string& packing, double prepacked_ns = 1e6) {
    WorkerProcess worker(this->worker(packing, prepacked_ns), {{"operation", "open"}});
    Budget budget(600);
    std::atomic<bool> stop = false;
    CandidateRunner runner(store_, worker, budget, stop, {.device = device_, .run = run_});
    std::vector<Variant> space;
    for (const char* text : {"reg_m=2 reg_n=2", "reg_m=4 reg_n=2", "reg_m=2 reg_n=4",
                             "reg_m=4 reg_n=4", "reg_m=4 reg_n=4 vector_width_b=4 packed_b=yes"})
      space.push_back(
          parse_variant("family=register tile_m=16 tile_n=32 unroll_k=4 " + std::string(text)));
    const DeviceRates rates = {.fma_gflops = 1e6};
    const TuneOptions options = {.problems = {{problem_, ""}}};
    tune_alone({.store = store_,
                .runner = runner,
                .device = profile_,
                .rates = rates,
                .space = space,
                .options = options},
               device_, problem_, 60);
    return store_.winners(device_);
  }

  static bool packs(const RankedKernel& winner) {
    return winner.kernel.candidate.variant.packed_b == Packed::kYes;
  }

  /// Whether each kernel of the problem's list packs B, best first.
  std::vector<bool> packed_kernels(const std::string& packing) {
    std::vector<bool> packed;
    for (const RankedKernel& winner : tuned(packing)) packed.push_back(packs(winner));
    return packed;
  }

  ScratchFolder folder_;
  Store store_{folder_ / "rooftile.db"};
  DeviceProfile profile_;
  RowId device_ = 0, run_ = 0;
  const Problem problem_ = packed_problem(33, 64, 65);
};

TEST_F(PrepackedTest, TheFastestKernelWithoutPackingIsListedAfterTheWinners) {
  const std::vector<bool> packed = packed_kernels("5000000");
  // The default is the first, because the others, which take as long, do not replace it.
  ASSERT_GE(packed.size(), 5u);
  EXPECT_FALSE(packed[0] || packed[1] || packed[2] || packed[3]);
  EXPECT_TRUE(packed[4]);
}

TEST_F(PrepackedTest, AWinnerThatPacksIsListedOnce) {
  const std::vector<bool> packed = packed_kernels("100000");
  ASSERT_GE(packed.size(), 2u);
  EXPECT_TRUE(packed[0]);
  EXPECT_EQ(std::ranges::count(packed, true), 1);
}

TEST_F(PrepackedTest, UnevenPackingLeavesTheTimesOfTheKernelAlone) {
  const std::vector<RankedKernel> winners = tuned("$((1000000 * n))");
  const auto packed = std::ranges::find_if(winners, packs);
  ASSERT_NE(packed, winners.end());
  EXPECT_NEAR(packed->kernel.kernel_ns, 1e6, 1e3);
  EXPECT_GT(packed->kernel.pack_ns, 0);
}

class PrepackedTimes : public PrepackedTest, public ::testing::WithParamInterface<double> {};
INSTANTIATE_TEST_SUITE_P(AroundThatOfACall, PrepackedTimes, testing::Values(0.9e6, 1.05e6, 3e6));

TEST_P(PrepackedTimes, KernelAndPackingAddUpToTheTimeOfACall) {
  const std::vector<RankedKernel> winners = tuned("100000", GetParam());
  const auto packed = std::ranges::find_if(winners, packs);
  ASSERT_NE(packed, winners.end());
  EXPECT_NEAR(packed->kernel.kernel_ns + packed->kernel.pack_ns, 1.1e6, 1e4);
  // A kernel alone that takes longer than the call of which it is a part was disturbed.
  EXPECT_NEAR(packed->kernel.kernel_ns, GetParam() < 1.1e6 ? GetParam() : 1e6, 1e4);
}

}  // namespace
}  // namespace rooftile
