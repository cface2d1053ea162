// A schedule of faults: the disk is full from a write of a tuning run on.
#include <cerrno>
#include <cstdio>

#include "core/error.h"
#include "tests/support/failing_writes.h"
#include "tests/tuner/faults/stack_fixture.h"

namespace rooftile {
namespace {

class DiskIsFull : public TuneStacks {
 protected:
  /// Tunes with the disk full from the chosen write on, and returns the exit status.
  int status() {
    const FailingWrites full(meets, ENOSPC);
    try {
      run_and_note();
      return 0;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo) << error.what();
      EXPECT_THAT(error.what(), ::testing::HasSubstr(file_.string()));
      return HasFailure() ? 1 : kRefused;
    }
  }
};

TEST_F(DiskIsFull, ARunEndsAndTheNextGoesOn) {
  try_each(9, [&] { return status(); });
}

}  // namespace
}  // namespace rooftile
