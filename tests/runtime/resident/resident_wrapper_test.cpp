// The C++ classes in resident.h: ownership and exceptions.
#include <gtest/gtest.h>

#include <array>
#include <rooftile/rooftile.hpp>
#include <utility>

#include "tests/support/await.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

class ResidentWrapper : public ::testing::Test {
 protected:
  ResidentWrapper() {
    const std::string none = (folder_ / "none.db").string();
    session_ = std::make_unique<Session>(rooftile_options{.database_path = none.c_str()});
  }
  /// Computes x := 2 * one + x, for one element each.
  const rooftile_gemm_args add_two_{
      .m = 1, .n = 1, .k = 1, .alpha = 2, .beta = 1, .lda = 1, .ldb = 1, .ldc = 1};

  ScratchFolder folder_;
  ScopedEnvironment cache_{"ROOFTILE_CACHE", (folder_ / "cache").string()};
  std::unique_ptr<Session> session_;
};

TEST_F(ResidentWrapper, BuffersProductsAndLists) {
  const std::array<float, 3> values = {1, 1, 5};
  DeviceBuffer buffer(*session_, sizeof values);
  EXPECT_EQ(buffer.size(), 16u);
  buffer.upload(values.data(), sizeof values);
  const rooftile_resident_operands operands = {.a = buffer, .b = buffer.at(1), .c = buffer.at(2)};
  EXPECT_EQ(prepare(*session_, add_two_, operands).workspace_bytes, 0u);
  gemm(*session_, add_two_, operands).wait();

  float got = 0;
  DeviceList list(*session_);
  list.gemm(add_two_, operands);
  list.download(buffer, &got, sizeof got, 2 * sizeof(float));
  list.run().wait();
  EXPECT_EQ(got, 9.0f);
  DeviceRun run = list.run();
  EXPECT_TRUE(await("the run is finished", [&] { return run.finished(); }));
  EXPECT_TRUE(run.wait_for(std::chrono::seconds(1)));
  buffer.download(&got, sizeof got, 2 * sizeof(float));
  EXPECT_EQ(got, 11.0f);
}

TEST_F(ResidentWrapper, PackedOperands) {
  const std::array<float, 3> values = {1, 3, 5};
  DeviceBuffer buffer(*session_, sizeof values);
  buffer.upload(values.data(), sizeof values);
  PackedMatrix packed;
  packed = PackedMatrix(*session_, ROOFTILE_OPERAND_B, add_two_, {.b = buffer.at(1)}, {1, 7});
  EXPECT_EQ(packed.info().plain_copy, 1);
  EXPECT_GT(packed.info().device_bytes, 0u);
  rooftile_gemm_args args = add_two_;
  args.packed = packed.get();
  gemm(*session_, args, {.a = buffer, .c = buffer.at(2)}).wait();
  float got = 0;
  buffer.download(&got, sizeof got, 2 * sizeof(float));
  EXPECT_EQ(got, 2 * 1 * 3 + 5);

  args.a = &values[0];
  args.b = &values[1];
  args.c = &got;
  args.packed = nullptr;
  const PackedMatrix of_host(*session_, ROOFTILE_OPERAND_B, args);
  EXPECT_EQ(of_host.info().layouts, 0);  // No device is tuned.
  args.packed = of_host.get();
  session_->gemm(args);
  EXPECT_EQ(got, 11 + 6);
  EXPECT_THROW(PackedMatrix(*session_, ROOFTILE_OPERAND_B, add_two_), StatusError);
}

TEST_F(ResidentWrapper, HandlesMoveAndOutliveTheSession) {
  DeviceBuffer first(*session_, 4), second;
  rooftile_buffer* const handle = first.get();
  second = std::move(first);
  EXPECT_EQ(second.get(), handle);
  EXPECT_EQ(first.get(), nullptr);
  session_.reset();
  EXPECT_EQ(second.size(), 16u);
  { const DeviceBuffer gone = std::move(second); }
  std::size_t bytes = 0;
  EXPECT_EQ(rooftile_buffer_size(handle, &bytes), ROOFTILE_INVALID_ARGUMENT);
}

TEST_F(ResidentWrapper, FailuresAreExceptions) {
  const DeviceBuffer buffer(*session_, 16);
  float value = 0;
  try {
    buffer.download(&value, sizeof value, 1000);
    FAIL() << "bytes outside of the buffer were accepted";
  } catch (const StatusError& error) {
    EXPECT_EQ(error.status(), ROOFTILE_INVALID_ARGUMENT);
  }
  EXPECT_THROW(gemm(*session_, add_two_, {.a = buffer, .b = buffer, .c = buffer}), StatusError);
}

}  // namespace
}  // namespace rooftile
