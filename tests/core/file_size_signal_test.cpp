#include "core/file_size_signal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "tests/support/forked_child.h"

namespace rooftile {
namespace {

/// Writes beyond a limit in a child and returns its status: 0 where that failed with EFBIG.
int status_of_write(bool protect) {
  return in_a_child([&] {
    const rlimit most = {.rlim_cur = 10, .rlim_max = 10};
    const int file = ::fileno(std::tmpfile());
    bool refused = ::setrlimit(RLIMIT_FSIZE, &most) == 0;
    for (int i = 0; i < 2; ++i) {
      if (protect) {
        const NoFileSizeSignal none, nested;
        refused &= ::pwrite(file, "more", 4, 10) == -1 && errno == EFBIG;
      }
      sigset_t pending;
      ::sigpending(&pending);
      refused &= sigismember(&pending, SIGXFSZ) == 0;
    }
    if (!protect) refused &= ::pwrite(file, "more", 4, 10) == -1;
    return refused;
  });
}

TEST(NoFileSizeSignal, MakesAWriteBeyondTheLimitFail) {
  EXPECT_EQ(status_of_write(true), 0);
  const int status = status_of_write(false);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << status;
}

}  // namespace
}  // namespace rooftile
