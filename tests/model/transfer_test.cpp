// Transfer paths of operands: predicted from rates, within what the operands permit.
#include "runtime/model/transfer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/model/random_inputs.h"

namespace rooftile {
namespace {

/// Staging runs at 10 GB/s in each direction; importing takes 1 us, and the device copies at 20
/// GB/s.
DeviceRates importing() {
  return {.upload_gbps = 10,
          .download_gbps = 10,
          .import_ns = 1e3,
          .import_upload_gbps = 20,
          .import_download_gbps = 20};
}
/// The rates of a discrete card, whose kernels read host memory across the link.
DeviceRates far_away() {
  DeviceRates rates = importing();
  rates.import_read_extra_ns = rates.import_write_extra_ns = 0.2;
  return rates;
}

Problem square(float beta = 0) {
  Problem p = packed_problem(512, 512, 512);
  p.beta = beta;
  return p;
}
constexpr double kBytes = 4.0 * 512 * 512;

TransferPaths transfer_paths(const Problem& p, const DeviceRates& rates,
                             const OperandPlaces& places = {}) {
  return transfers(p, places, rates).transfer_paths;
}

TEST(PredictedTransfer, WithoutImportEverythingIsStaged) {
  DeviceRates rates = importing();
  rates.import_ns = 0;
  const Transfers t = transfers(square(1), {}, rates);
  EXPECT_EQ(t.transfer_paths, (TransferPaths{TransferPath::kStaged, TransferPath::kStaged,
                                             TransferPath::kStaged, TransferPath::kStaged}));
  EXPECT_DOUBLE_EQ(t.in_ns, 3 * kBytes / 10);
  EXPECT_DOUBLE_EQ(t.out_ns, kBytes / 10);
  EXPECT_EQ(t.ns(), t.staged_ns());
  EXPECT_EQ(t.link_bytes, 4 * kBytes);
}

TEST(PredictedTransfer, KernelsWorkInPlaceWhereImportedMemoryIsAsFast) {
  const Transfers t = transfers(square(), {}, importing());
  EXPECT_EQ(t.transfer_paths, (TransferPaths{TransferPath::kInPlace, TransferPath::kInPlace,
                                             TransferPath::kNone, TransferPath::kInPlace}));
  EXPECT_EQ(t.in_ns, 2e3);
  EXPECT_EQ(t.out_ns, 1e3);
  EXPECT_EQ(t.link_bytes, 0);
  EXPECT_DOUBLE_EQ(t.staged_ns(), 3 * kBytes / 10);
}

TEST(PredictedTransfer, SlowImportedMemoryIsCopiedByTheDevice) {
  const Transfers t = transfers(square(), {}, far_away());
  EXPECT_EQ(t.transfer_paths, (TransferPaths{TransferPath::kCopied, TransferPath::kCopied,
                                             TransferPath::kNone, TransferPath::kCopied}));
  EXPECT_DOUBLE_EQ(t.in_ns, 2 * (1e3 + kBytes / 20));
  EXPECT_EQ(t.link_bytes, 3 * kBytes);
  // A matrix-vector product reads the matrix once, and copying also crosses the link once.
  DeviceRates rates = far_away();
  rates.import_read_extra_ns = 0.04;
  EXPECT_EQ(transfer_paths(packed_problem(1, 4096, 4096), rates).b, TransferPath::kInPlace);
  EXPECT_EQ(transfer_paths(packed_problem(2, 4096, 4096), rates).b, TransferPath::kCopied);
}

TEST(PredictedTransfer, SmallOperandsAreStaged) {
  // Staging 10 kB at 10 GB/s takes as long as an import.
  EXPECT_EQ(transfer_paths(packed_problem(16, 16, 16), importing()).a, TransferPath::kStaged);
  EXPECT_EQ(transfer_paths(packed_problem(48, 16, 48), importing()).a, TransferPath::kStaged);
  EXPECT_EQ(transfer_paths(packed_problem(56, 16, 56), importing()).a, TransferPath::kInPlace);
}

TEST(PredictedTransfer, ImportTimeMayGrowWithTheSize) {
  DeviceRates rates = importing();
  rates.import_growth_ns = 0.2;
  EXPECT_EQ(transfer_paths(square(), rates).a, TransferPath::kCopied)
      << "the direct rate includes the import";
  rates.import_upload_gbps = 0;
  EXPECT_EQ(transfer_paths(square(), rates).a, TransferPath::kStaged);
}

TEST(PredictedTransfer, RowsThatLoadsDoNotDivideAreStagedWithPadding) {
  Problem p = square();
  p.lda = 514;
  p.ldb = 516;
  p.ldc = 513;
  EXPECT_EQ(transfer_paths(p, importing()),
            (TransferPaths{TransferPath::kStaged, TransferPath::kInPlace, TransferPath::kNone,
                           TransferPath::kInPlace}));
  EXPECT_EQ(transfer_paths(p, far_away()),
            (TransferPaths{TransferPath::kStaged, TransferPath::kStaged, TransferPath::kNone,
                           TransferPath::kStaged}))
      << "gaps belong to the caller: they are neither copied nor written";
  Problem halves = retyped(square(), parse_types("f16"));
  EXPECT_EQ(transfer_paths(halves, importing()).a, TransferPath::kInPlace);
  halves.lda = 516;  // 8 bytes more than a multiple of whole loads
  EXPECT_EQ(transfer_paths(halves, importing()).a, TransferPath::kStaged);
  Problem batch = packed_problem(512, 512, 512, Transpose::kNo, Transpose::kNo, 3);
  EXPECT_EQ(transfer_paths(batch, far_away()).a, TransferPath::kCopied);
  batch.stride_a += 4;
  EXPECT_EQ(transfer_paths(batch, far_away()).a, TransferPath::kStaged);
  EXPECT_EQ(transfer_paths(batch, importing()).a, TransferPath::kInPlace);
  batch.stride_a += 1;
  EXPECT_EQ(transfer_paths(batch, importing()).a, TransferPath::kStaged);
}

TEST(PredictedTransfer, AnOldCThatIsNeededIsWrittenByTheHostOnly) {
  EXPECT_EQ(transfer_paths(square(1), importing()),
            (TransferPaths{TransferPath::kInPlace, TransferPath::kInPlace, TransferPath::kCopied,
                           TransferPath::kStaged}));
  EXPECT_EQ(transfer_paths(square(), importing(), {.c_is_checked = true}).c_out,
            TransferPath::kStaged);
  Problem p = square();
  p.epilogue.residual = true;  // The residual may alias C.
  EXPECT_EQ(transfer_paths(p, importing()).c_out, TransferPath::kStaged);
  // Words of two elements are written as a whole.
  EXPECT_EQ(transfer_paths(retyped(square(), parse_types("f16_f16")), importing()).c_out,
            TransferPath::kCopied);
}

TEST(PredictedTransfer, ResidentOperandsAreNotTransferred) {
  const Transfers t =
      transfers(square(1), {.a = Residency::kDevice, .c = Residency::kDevice}, importing());
  EXPECT_EQ(t.transfer_paths, (TransferPaths{TransferPath::kNone, TransferPath::kInPlace,
                                             TransferPath::kNone, TransferPath::kNone}));
  EXPECT_EQ(t.out_ns + t.staged_out_ns, 0);
}

TEST(PredictedTransfer, OperandsBeyondTheFootprintLimitAreStaged) {
  Problem p = square();
  p.lda = 1024;
  const double gaps = 4.0 * (511 * 1024 + 512);
  EXPECT_EQ(transfer_paths(p, importing(), {.max_binding_bytes = gaps}).a, TransferPath::kInPlace);
  EXPECT_EQ(transfer_paths(p, importing(), {.max_binding_bytes = gaps - 1}),
            (TransferPaths{TransferPath::kStaged, TransferPath::kInPlace, TransferPath::kNone,
                           TransferPath::kInPlace}));
}

TEST(PredictedTransfer, QuantisedWeightsAreStaged) {
  EXPECT_EQ(transfer_paths(retyped(square(), parse_types("f32xq4b32")), importing()).b,
            TransferPath::kStaged);
}

TEST(PredictedTransfer, SlicesAddUpAndShowThePathsOfTheFirst) {
  const Transfers first = transfers(square(), {}, importing()),
                  second = transfers(square(1), {}, importing()), both = first + second;
  EXPECT_EQ(both.transfer_paths, first.transfer_paths);
  EXPECT_EQ(both.in_ns, first.in_ns + second.in_ns);
  EXPECT_DOUBLE_EQ(both.staged_ns(), first.staged_ns() + second.staged_ns());
  EXPECT_EQ(both.link_bytes, second.link_bytes);
  EXPECT_EQ((Transfers{} + first).transfer_paths, first.transfer_paths);
}

RC_GTEST_PROP(PredictedTransfer, NeverTakesLongerThanStaging, ()) {
  const Call call = random_call();
  const Transfers t = transfers(
      call.problem, {.a = call.a, .b = call.b, .c = call.c, .c_is_checked = call.c_is_checked},
      random_device());
  RC_ASSERT(t.in_ns <= t.staged_in_ns * (1 + 1e-12));
  RC_ASSERT(t.out_ns <= t.staged_out_ns * (1 + 1e-12));
  RC_ASSERT((t.transfer_paths.c_in != TransferPath::kNone) ==
            (call.c == Residency::kHost && call.problem.beta != 0.0f));
}

}  // namespace
}  // namespace rooftile
