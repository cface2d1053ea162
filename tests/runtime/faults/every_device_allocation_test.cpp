// A schedule of faults: every allocation that a call on the device makes on the calling thread
// fails once in its turn. The call is right, or returns OUT_OF_MEMORY with C untouched; nothing
// leaks, and the device answers afterwards. The number of points tried is printed; none is left
// out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <limits>
#include <memory>

#include "tests/support/c_api_fixture.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/resident_fixture.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

struct Args : CApi {
  using CApi::gemm_args_of;
};

/// A context over two tuned kernels, which are compiled before the schedule begins, and a host that
/// is slower.
class EveryDeviceAllocation : public ResidentTest {
 protected:
  void SetUp() override {
    ResidentTest::SetUp();
    open({fast_kernel(device_), fallback_variant()}, {}, {}, 1e5, slow_host());
    expect_right_on_device();
  }
  void TearDown() override {
    expect_right_on_device();
    ResidentTest::TearDown();
  }

  void expect_right_on_device() {
    Product product(problem_);
    rooftile_gemm_args args = Args::gemm_args_of(product);
    args.tier = ROOFTILE_TIER_DEVICE;
    ok(rooftile_gemm(context_, &args));
    product.expect_right();
  }

  /// Lets each allocation of call() fail. It returns its status and leaves its result in product_.
  void fail_each(const std::string& name, const std::function<rooftile_status()>& call) {
    rooftile_status status = ROOFTILE_OK;
    int points = 0;
    // A context allocates memory that it keeps in its first calls; a leak allocates in every pass.
    constexpr int kMostPasses = 8;
    long grown = std::numeric_limits<long>::max();
    for (int pass = 0; pass < kMostPasses && grown > 0; ++pass) {
      product_ = std::make_unique<Product>(problem_);
      const long live = FailingAllocations::live();
      points = at_every_allocation([&] { *product_ = Product(problem_); }, [&] { status = call(); },
                                   [&](bool failed) {
                                     if (status == ROOFTILE_OK) return product_->expect_right();
                                     EXPECT_TRUE(failed);
                                     EXPECT_EQ(status, ROOFTILE_OUT_OF_MEMORY)
                                         << rooftile_last_error();
                                     EXPECT_TRUE(product_->c_is_untouched());
                                   });
      ASSERT_FALSE(HasFailure()) << name << ", allocation " << points;
      grown = FailingAllocations::live() - live;
    }
    EXPECT_LE(grown, 0) << name << " leaks";
    EXPECT_GT(points, 0) << name;
    std::printf("%s: %d points tried, none skipped\n", name.c_str(), points);
  }

  /// Gives the database kernels for sizes that were not tuned, with the times that they are chosen
  /// by.
  void add_portfolio(const std::string& database) const {
    Store store(database);
    const Signature signature = signature_of(problem_);
    const std::vector<PortfolioRecord> kernels = {
        {.candidate = candidate_row(store, fallback_variant(), signature),
         .place = 0,
         .times = {{.m = 64, .n = 64, .k = 64, .ns = 1e5},
                   {.m = 96, .n = 17, .k = 33, .ns = 2e5}}}};
    store.put_portfolio(store.find_device(device_).value(), to_string(signature), kernels,
                        std::nullopt);
  }

  /// A context that was opened knows what its database holds.
  void expect_tuned(rooftile_context* opened) {
    const rooftile_gemm_args args = problem_args(problem_);
    rooftile_decision decision = {.struct_size = sizeof decision};
    ok(rooftile_explain_gemm(opened, &args, &decision));
    EXPECT_EQ(decision.tier, ROOFTILE_TIER_DEVICE);
  }

  Problem problem_ = padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 1, 0.5f);
  std::unique_ptr<Product> product_;
};

TEST_F(EveryDeviceAllocation, OfACallFailsInItsTurnAndTheCallIsRightOrRefused) {
  for (const rooftile_tier tier : {ROOFTILE_TIER_DEVICE, ROOFTILE_TIER_AUTO})
    for (const bool guarded : {false, true})
      fail_each(testing::PrintToString(tier) + (guarded ? ", guarded" : ""), [&] {
        const rooftile_guard guard = {.struct_size = sizeof guard, .check_spots = 1};
        rooftile_gemm_args args = Args::gemm_args_of(*product_);
        args.tier = tier;
        if (guarded) args.guard = &guard;
        return rooftile_gemm(context_, &args);
      });
}

TEST_F(EveryDeviceAllocation, OfABatchFailsInItsTurnAndTheCallIsRightOrRefused) {
  problem_ = padded_batch(problem_, 3, false);
  fail_each("batch", [&] {
    rooftile_gemm_args args = Args::gemm_args_of(*product_);
    args.tier = ROOFTILE_TIER_DEVICE;
    return rooftile_gemm(context_, &args);
  });
}

TEST_F(EveryDeviceAllocation, OfPackingFailsInItsTurnAndTheCallIsRightOrRefused) {
  fail_each("packed B", [&] {
    rooftile_gemm_args args = Args::gemm_args_of(*product_);
    args.tier = ROOFTILE_TIER_DEVICE;
    const rooftile_pack_args pack = {
        .struct_size = sizeof pack, .operand = ROOFTILE_OPERAND_B, .call = &args};
    rooftile_packed* packed = nullptr;
    rooftile_status status = rooftile_pack(context_, &pack, &packed);
    if (status != ROOFTILE_OK) return status;
    args.packed = packed;
    status = rooftile_gemm(context_, &args);
    ok(rooftile_packed_release(packed));
    return status;
  });
}

/// Buffers that are released whatever comes.
struct Buffers {
  std::array<rooftile_buffer*, 3> all = {};
  ~Buffers() {
    for (rooftile_buffer* buffer : all) rooftile_buffer_release(buffer);
  }
};

TEST_F(EveryDeviceAllocation, OfResidentDataFailsInItsTurnAndTheCallIsRightOrRefused) {
  create(1);  // The context reads the database for its resident side.
  fail_each("buffers, upload, call, download", [&] {
    Product& product = *product_;
    const rooftile_gemm_args args = problem_args(problem_);
    Buffers buffers;
    rooftile_status status = ROOFTILE_OK;
    const std::array<std::vector<float>*, 3> operands = {&product.a, &product.b, &product.c};
    for (std::size_t i = 0; i < operands.size() && status == ROOFTILE_OK; ++i) {
      const std::size_t bytes = operands[i]->size() * sizeof(float);
      status = rooftile_buffer_create(context_, bytes, &buffers.all[i]);
      if (status == ROOFTILE_OK)
        status = rooftile_buffer_upload(buffers.all[i], 0, operands[i]->data(), bytes);
    }
    const rooftile_resident_operands places = {.struct_size = sizeof places,
                                               .a = {buffers.all[0], 0},
                                               .b = {buffers.all[1], 0},
                                               .c = {buffers.all[2], 0}};
    if (status == ROOFTILE_OK) status = rooftile_resident_gemm(context_, &args, &places, nullptr);
    if (status == ROOFTILE_OK)
      status = rooftile_buffer_download(buffers.all[2], 0, product.c.data(),
                                        product.c.size() * sizeof(float));
    return status;
  });
}

// What the first use of device buffers reads of the database is read on this thread.
TEST_F(EveryDeviceAllocation, OfOpeningADatabaseFailsInItsTurn) {
  const std::string database = (folder_ / "opened.db").string();
  write_test_database(database, device_, {fast_kernel(device_), fallback_variant()}, {}, {},
                      slow_host());
  add_portfolio(database);
  const rooftile_options options = {.struct_size = sizeof options,
                                    .database_path = database.c_str()};
  rooftile_context* opened = nullptr;
  rooftile_buffer* buffer = nullptr;
  rooftile_status open_status = ROOFTILE_OK, status = ROOFTILE_OK;
  const int points = at_every_allocation(
      [&] { opened = nullptr, buffer = nullptr; },
      [&] {
        open_status = status = rooftile_open(&options, &opened);
        if (status == ROOFTILE_OK) status = rooftile_buffer_create(opened, 64, &buffer);
      },
      [&](bool failed) {
        EXPECT_TRUE(failed || status == ROOFTILE_OK) << rooftile_last_error();
        EXPECT_THAT(status, ::testing::AnyOf(ROOFTILE_OK, ROOFTILE_OUT_OF_MEMORY))
            << rooftile_last_error();
        EXPECT_EQ(opened != nullptr, open_status == ROOFTILE_OK);
        EXPECT_EQ(buffer != nullptr, status == ROOFTILE_OK);
        if (opened != nullptr) expect_tuned(opened);
        rooftile_buffer_release(buffer);
        rooftile_close(opened);
      });
  ASSERT_FALSE(HasFailure()) << "allocation " << points;
  std::printf("%d points tried, none skipped\n", points);
}

}  // namespace
}  // namespace rooftile
