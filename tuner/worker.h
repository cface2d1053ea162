// The child process that compiles and runs candidates, so that one that hangs or crashes takes
// nothing with it.
#pragma once

namespace rooftile {

/// Serves requests from standard input until it closes; returns the process's exit code. Replies go
/// to the original standard output, which nothing else in the process can write to (drivers print):
/// standard output becomes standard error.
int run_worker();

}  // namespace rooftile
