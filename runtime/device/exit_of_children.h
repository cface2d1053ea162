// Exit of processes that were forked after the driver was in use.
#pragma once

namespace rooftile {

/// After this call, a forked child that calls exit or returns from main skips the exit handlers
/// that were registered before the call. The driver's handlers are among them, and Mesa's joins
/// threads of the parent: it waits forever where the child has created a thread in the memory of
/// one of them. Handlers that are registered later run, and stdio streams are flushed. Nothing
/// changes for this process. Thread-safe; further calls do nothing. The library stays loaded.
void end_children_without_earlier_handlers();

}  // namespace rooftile
