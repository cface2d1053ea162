// A schedule of faults: an allocation of the tuner fails, in a process of its own.
#include <cstdio>
#include <new>

#include "core/error.h"
#include "tests/support/failing_allocations.h"
#include "tests/tuner/faults/stack_fixture.h"

namespace rooftile {
namespace {

class OutOfMemory : public TuneStacks {
 protected:
  /// Tunes without the allocation that is chosen, and returns the exit status.
  int status() {
    FailingAllocations::fail_where(meets);
    try {
      run_and_note();
      FailingAllocations::heal();
      return 0;
    } catch (const std::bad_alloc&) {
      return kRefused;
    } catch (const Error& error) {
      FailingAllocations::heal();
      std::fprintf(stderr, "%s\n", error.what());
      return error.code() == ErrorCode::kOutOfMemory ? kRefused : 1;
    }
  }
};

TEST_F(OutOfMemory, ARunEndsAndTheNextGoesOn) {
  try_each(170, [&] { return status(); });
}

}  // namespace
}  // namespace rooftile
