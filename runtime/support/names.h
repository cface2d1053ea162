// Table of the C ABI's handles that may outlive their objects: they are names, not addresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/error.h"

namespace rooftile {

/// Returns a number that no handle of this process has had.
inline std::uintptr_t next_name() {
  static std::atomic<std::uintptr_t> next = 1;
  return next++;
}

/// Handle is an incomplete type of the C ABI; a pointer to it carries the name. Thread-safe.
template <typename Handle, typename Object>
class Names {
 public:
  /// `what` names the kind of object in messages.
  explicit Names(const char* what) : what_(what) {}

  Handle* add(std::shared_ptr<Object> object) {
    const std::uintptr_t name = next_name();
    const std::lock_guard lock(mutex_);
    objects_.emplace(name, std::move(object));
    return reinterpret_cast<Handle*>(name);
  }
  /// Throws kInvalidArgument for null and for a released handle.
  std::shared_ptr<Object> get(const Handle* handle) {
    if (handle == nullptr) fail(ErrorCode::kInvalidArgument, "the {} is null", what_);
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == objects_.end()) unknown();
    return found->second;
  }
  /// Null is allowed. The object is destroyed when its last user releases it.
  void release(const Handle* handle) {
    if (handle == nullptr) return;
    // Destroyed after the lock is released, because the destructor may wait for the device.
    std::shared_ptr<Object> released;
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == objects_.end()) unknown();
    released = std::move(found->second);
    objects_.erase(found);
  }

 private:
  [[noreturn]] void unknown() const {
    fail(ErrorCode::kInvalidArgument, "the {} was released or is not a valid handle", what_);
  }

  const char* const what_;
  std::mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

}  // namespace rooftile
