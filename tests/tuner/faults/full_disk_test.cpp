// A schedule of faults: the disk is full from the n-th write of a tuning run on.
#include <cstdio>

#include "core/error.h"
#include "tests/support/failing_writes.h"
#include "tests/tuner/faults/tune_fixture.h"

namespace rooftile {
namespace {

TEST_F(TuneFaults, OnAFullDiskARunEndsAndTheNextGoesOn) {
  constexpr int kPoints = 12;
  make_database();
  long writes = 0;
  {
    const FailingWrites counted(FailingWrites::kNever, ENOSPC);
    run();
    writes = FailingWrites::written();
  }
  int refused = 0;
  for (const long point : points(writes, kPoints)) {
    SCOPED_TRACE(point);
    make_database();
    finished_.clear();
    {
      const FailingWrites full(static_cast<int>(point), ENOSPC);
      try {
        run();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kIo) << error.what();
        EXPECT_THAT(error.what(), ::testing::HasSubstr(file_.string()));
        ++refused;
      }
    }
    expect_nothing_lost();
    run();
    expect_nothing_lost();
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(refused, 0);
  std::printf("of %ld writes, %d ended the run\n", writes, refused);
}

}  // namespace
}  // namespace rooftile
