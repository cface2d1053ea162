// Calls on device buffers on a device that hangs. Time is counted in waits that failed.
#include <rooftile/resident.h>

#include "tests/support/fast_kernel.h"
#include "tests/support/faulty_driver.h"
#include "tests/support/resident_fixture.h"

namespace rooftile {
namespace {

using DriverCall = FaultyDriver::Call;

class ResidentFaults : public ResidentTest {
 protected:
  void SetUp() override {
    ResidentTest::SetUp();
    open({fast_kernel(device_)});
  }
  void TearDown() override {
    FaultyDriver::heal();
    ResidentTest::TearDown();
  }
  /// How long a download waits for a call that never ends, in seconds.
  double patience_s() {
    const rooftile_resident_operands operands = operands_of(product_);
    const ProblemArgs problem(product_);
    // A fallback without a certificate is checked here, and not where the device hangs.
    ok(rooftile_resident_prepare(context_, &problem.args, &operands, nullptr));
    FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
    ok(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr));
    EXPECT_EQ(rooftile_buffer_download(operands.c.buffer, 0, product_.c.data(),
                                       product_.c.size() * sizeof(float)),
              ROOFTILE_TIMEOUT);
    return FaultyDriver::waited_in_vain_ns() * 1e-9;
  }

  Product product_{padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 1, 0.5f)};
};

TEST_F(ResidentFaults, TheFirstCallOfAKernelMayWaitForTheCompiler) {
  const bool compiles_late = device_.kind == DeviceKind::kSoftware;  // At the first dispatch.
  EXPECT_NEAR(patience_s(), (compiles_late ? 60 : 0) + 10, 1e-6);
}

TEST_F(ResidentFaults, LaterCallsOfAKernelDoNot) {
  expect_right(product_);
  EXPECT_NEAR(patience_s(), 10, 1e-6);
}

// A process that is stopped finds its wait over when it goes on, and the work unfinished.
TEST_F(ResidentFaults, AWaitThatAStopCutsShortGoesOn) {
  const rooftile_resident_operands operands = operands_of(product_);
  const ProblemArgs problem(product_);
  ok(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr));
  FaultyDriver::fail_once(DriverCall::kWait, VK_TIMEOUT);
  download_c(product_, operands.c);
  EXPECT_EQ(FaultyDriver::failed(DriverCall::kWait), 1);
  product_.expect_right();
}

}  // namespace
}  // namespace rooftile
