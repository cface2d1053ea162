// For tests whose forked child starts threads.
#pragma once

#include <gtest/gtest.h>

/// Skips the test under ThreadSanitizer.
#ifdef __SANITIZE_THREAD__
#define SKIP_WITH_THREAD_SANITIZER() \
  GTEST_SKIP() << "ThreadSanitizer mistakes threads of a child for those before the fork"
#else
#define SKIP_WITH_THREAD_SANITIZER() static_cast<void>(0)
#endif
