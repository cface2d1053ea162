// Exit of processes that were forked while the driver was in use.
#pragma once

namespace rooftile {

/// Exists while a thread loads drivers or opens a device. Forks of other threads wait for its end,
/// for a second at most. A child that is forked meanwhile, or before the function below was
/// called, skips all exit handlers of its parent: the loader's would wait for a lock that this
/// thread holds and that no thread unlocks in the child. Thread-safe. The library stays loaded.
class LoadingDrivers {
 public:
  LoadingDrivers();
  ~LoadingDrivers();
  LoadingDrivers(const LoadingDrivers&) = delete;
  LoadingDrivers& operator=(const LoadingDrivers&) = delete;
};

/// After this call, a forked child that calls exit or returns from main skips the exit handlers
/// that were registered before the call. The driver's handlers are among them, and Mesa's joins
/// threads of the parent: it waits forever where the child has created a thread in the memory of
/// one of them. Handlers that are registered later run, and stdio streams are flushed. Nothing
/// changes for this process. Call it while a LoadingDrivers exists. Thread-safe; further calls do
/// nothing.
void end_children_without_earlier_handlers();

}  // namespace rooftile
