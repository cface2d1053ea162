// What is kept, as in a list, waits for the certificate of its kernel: on a machine where nothing
// is tuned it would otherwise keep the fallback (runtime/tuned/on_demand_kernels.h).
#include <future>
#include <thread>

#include "db/store.h"
#include "generator/priors/default_kernel.h"
#include "generator/version.h"
#include "runtime/abi/handles.h"
#include "runtime/resident/resident.h"
#include "tests/support/changed_shader.h"
#include "tests/support/faults_fixture.h"
#include "tests/support/resident_fixture.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AwaitedCertificates : public ResidentTest {
 protected:
  /// One row of 7 for a vector kernel, and 5 rows for one of a block of registers.
  const Problem row_ = packed_problem(1, 7, 65, Transpose::kNo, Transpose::kYes),
                block_ = packed_problem(37, 19, 33);

  std::string kernel_of(const Problem& p) {
    Product product(p);
    return prepared(product, operands_of(product)).kernel;
  }
  std::string wanted(const Problem& p) const { return short_name(default_kernel(device_, p)); }
  void add(rooftile_list* list, const Product& product,
           const rooftile_resident_operands& operands) {
    const ProblemArgs problem(product);
    ok(rooftile_list_gemm(list, &problem.args, &operands));
  }
};

TEST_F(AwaitedCertificates, PreparingNamesTheCertifiedKernelAtOnce) {
  open({});
  for (const Problem& p : {row_, block_, retyped(row_, parse_types("i8_i32")),
                           retyped(block_, parse_types("f16_f16"))}) {
    ASSERT_NE(wanted(p), short_name(fallback_variant())) << to_string(p);
    EXPECT_EQ(kernel_of(p), wanted(p)) << to_string(p);
  }
}

TEST_F(AwaitedCertificates, WhatAnotherCardFoundComesBeforeTheTables) {
  const Variant theirs =
      parse_variant("family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4");
  import_measured(folder_ / "imported.db", another_card(device_), {theirs});
  context_ = opened(folder_ / "imported.db");
  EXPECT_EQ(kernel_of(block_), short_name(theirs));
}

TEST_F(AwaitedCertificates, AListGetsTheCertifiedKernelAndLogsTheWait) {
  const ScopedEnvironment log("ROOFTILE_LOG", "decisions");
  open({});
  for (const Problem& p : {row_, block_}) {
    Product product(p);
    const rooftile_resident_operands operands = operands_of(product);
    rooftile_list* list = nullptr;
    ok(rooftile_list_create(context_, &list));
    EXPECT_THAT(
        said_by([&] { add(list, product, operands); }),
        AllOf(HasSubstr("s for kernels for " + to_string(signature_of(p)) + " to be certified on"),
              HasSubstr("f32, on device buffers: device; kernel " + wanted(p) + "\n")));
    EXPECT_THAT(said_by([&] { add(list, product, operands); }), IsEmpty());
    for (const std::string& kernel : list_names().get(list)->list->kernels())
      EXPECT_EQ(kernel, wanted(p));
    run(list);
    download_c(product, operands.c);
    product.expect_right();
    ok(rooftile_list_release(list));
  }
}

TEST_F(AwaitedCertificates, ADeterministicContextKeepsTheFallback) {
  const ScopedEnvironment deterministic("ROOFTILE_DETERMINISTIC", "1");
  open({});
  for (const Problem& p : {row_, block_}) EXPECT_EQ(kernel_of(p), short_name(fallback_variant()));
}

TEST_F(AwaitedCertificates, AClassWithoutTunedEpilogueIsWaitedForAsWell) {
  open({parse_variant("family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4")});
  Problem p = block_;
  p.epilogue = parse_epilogue("bias_column+relu");
  Product product(p);
  // A plain kernel before a pass over C would need a workspace.
  EXPECT_EQ(prepared(product, operands_of(product)).workspace_bytes, 0u);
}

TEST_F(AwaitedCertificates, TheNextKernelIsWaitedForWhereTheFirstIsWrong) {
  open({});
  const auto kernels = default_kernels(device_, device_.limits, row_, own_buffers(row_));
  ASSERT_GT(kernels.size(), 1u);
  ShaderCache(folder_ / "cache")
      .spirv(changed(emit_gemm(kernels.front().variant, signature_of(row_)), "alpha * sum",
                     "1.01 * alpha * sum"));
  std::string kernel;
  expect_one_line(said_by([&] { kernel = kernel_of(row_); }), "is not certified on");
  EXPECT_EQ(kernel, short_name(kernels[1].variant));
}

TEST_F(AwaitedCertificates, ManyThreadsWaitForTheSameAndForOtherKernels) {
  open({});
  std::vector<Product> products;
  std::vector<rooftile_resident_operands> operands;
  for (int t = 0; t < 6; ++t) {
    products.emplace_back(t % 2 == 0 ? row_ : block_);
    operands.push_back(operands_of(products.back()));
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < products.size(); ++t)
      threads.emplace_back([&, t] {
        EXPECT_EQ(prepared(products[t], operands[t]).kernel, wanted(products[t].problem));
      });
  }
}

/// A device of its own, and a background thread that hangs until it is let go.
class HangingCompiler : public AwaitedCertificates {
 protected:
  void SetUp() override {
    AwaitedCertificates::SetUp();
    open_with(std::chrono::milliseconds(20));
  }
  void open_with(std::chrono::milliseconds patience) {
    const std::shared_ptr<Device> device = Device::open(device_);
    on_demand_ = std::make_shared<OnDemandKernels>(
        device_, "", folder_ / "cache",
        [this, let_go = begins_] {
          let_go.wait();
          return Device::open(device_);
        },
        patience);
    const auto compiled = std::make_shared<KernelCache>(folder_ / "cache");
    resident_ = std::make_shared<Resident>(
        device,
        std::make_shared<const KernelChooser>(
            device_, DeviceRates(), KernelRanking(device_.limits, {}, {}), on_demand_, compiled),
        KernelHashes(), compiled, [device] { return device; });
  }
  void TearDown() override {
    if (!released_) release();
    AwaitedCertificates::TearDown();
  }
  void release() {
    released_ = true;
    let_go_.set_value();
  }
  std::string chosen(const Problem& p, AwaitCertificate await) {
    const auto memory = [&](std::int64_t elements) {
      return resident_->create_memory(static_cast<std::uint64_t>(4 * elements));
    };
    const auto a = memory(p.m * p.k), b = memory(p.n * p.k), c = memory(p.m * p.n);
    ResidentWork work;
    work.call.problem = p;
    work.call.a = {&a->buffer}, work.call.b = {&b->buffer}, work.call.c = {&c->buffer};
    work.uses = {a, b, c};
    return short_name(resident_->product(work, await).kernel()->variant());
  }

  std::promise<void> let_go_;
  const std::shared_future<void> begins_ = let_go_.get_future().share();
  bool released_ = false;
  std::shared_ptr<OnDemandKernels> on_demand_;
  std::shared_ptr<Resident> resident_;
};

TEST_F(HangingCompiler, IsWaitedForWithinABoundAndSaidOnce) {
  const std::string fallback = short_name(fallback_variant());
  EXPECT_THAT(said_by([&] { EXPECT_EQ(chosen(row_, AwaitCertificate::kNo), fallback); }),
              IsEmpty());
  expect_one_line(said_by([&] { EXPECT_EQ(chosen(row_, AwaitCertificate::kYes), fallback); }),
                  "no kernel for " + to_string(signature_of(row_)) + " was certified on " +
                      device_.name + " within 0.02 s");
  // Others wait behind the same one.
  EXPECT_THAT(said_by([&] { EXPECT_EQ(chosen(block_, AwaitCertificate::kYes), fallback); }),
              IsEmpty());
  release();
  on_demand_->wait();
  for (const Problem& p : {row_, block_}) EXPECT_EQ(chosen(p, AwaitCertificate::kNo), wanted(p));
}

TEST_F(HangingCompiler, IsSaidEvenBeforeItHasBegun) {
  open_with(std::chrono::milliseconds(0));
  expect_one_line(said_by([&] { chosen(row_, AwaitCertificate::kYes); }), "was certified on");
  EXPECT_THAT(said_by([&] { chosen(block_, AwaitCertificate::kYes); }), IsEmpty());
}

TEST_F(HangingCompiler, AGroupedCallGetsTheFallbackAfterTheBound) {
  Problem p = row_;
  p.m = 4, p.grouping = {.experts = 2, .groups = 2};
  p.stride_b = p.n * p.k;
  ASSERT_TRUE(is_grouped(p));
  const auto memory = [&](std::int64_t elements) {
    return resident_->create_memory(static_cast<std::uint64_t>(4 * elements));
  };
  const auto a = memory(p.m * p.k), b = memory(2 * p.n * p.k), c = memory(p.m * p.n);
  ResidentWork work;
  work.call.problem = p;
  work.call.a = {&a->buffer}, work.call.b = {&b->buffer}, work.call.c = {&c->buffer};
  ResidentGroups groups;
  groups.known = {{.expert = 0, .rows = 3}, {.expert = 1, .rows = 1}};
  work.call.groups = std::make_shared<const ResidentGroups>(groups);
  work.uses = {a, b, c};
  expect_one_line(
      said_by([&] {
        EXPECT_EQ(short_name(resident_->product(work, AwaitCertificate::kNo).kernel()->variant()),
                  short_name(fallback_variant()));
      }),
      "was certified on");
}

}  // namespace
}  // namespace rooftile
