// How processes end that were forked after the driver was in use.
#pragma once

namespace rooftile {

/// From now on a forked child that calls exit, or returns from main, ends before the exit handlers
/// that are registered by now. Among them are the driver's, and Mesa's joins threads that are the
/// parent's: it waits for ever where the child has made a thread in the memory of one of them.
/// Handlers that are registered later run, and streams of stdio are written out. Nothing changes
/// for this process. Thread-safe; more calls do nothing. The library stays loaded.
void end_children_without_earlier_handlers();

}  // namespace rooftile
