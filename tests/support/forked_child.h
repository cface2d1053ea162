// A part of a test in a forked child.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rooftile {

/// Runs body in a child process and returns the status of waitpid: 0 if body returned true and no
/// assertion in it failed. Neither exit handlers nor destructors of the parent run in the child.
template <typename Body>
int in_a_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // Turns a hang into a failure.
    bool right = false;
    try {
      right = body();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(right && !::testing::Test::HasFailure() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

}  // namespace rooftile
