// The child process that compiles and runs candidates, so that a hang or crash affects nothing
// else.
#pragma once

namespace rooftile {

/// Serves requests from standard input until it closes; returns the process's exit code. Replies go
/// to the original standard output, which nothing else in the process can write to: standard output
/// is redirected to standard error, because drivers print.
int run_worker();

}  // namespace rooftile
