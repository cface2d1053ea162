// A pointer that is null until it is set, once, while other threads may read it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace rooftile {

/// get(), -> and the comparison are thread-safe; of several calls of set(), the caller makes sure
/// that one comes first and alone.
template <typename T>
class SetOnce {
 public:
  void set(std::unique_ptr<T> value) {
    owner_ = std::move(value);
    pointer_.store(owner_.get(), std::memory_order_release);
  }
  T* get() const { return pointer_.load(std::memory_order_acquire); }
  T* operator->() const { return get(); }
  bool operator==(std::nullptr_t) const { return get() == nullptr; }

 private:
  std::unique_ptr<T> owner_;
  std::atomic<T*> pointer_ = nullptr;
};

}  // namespace rooftile
