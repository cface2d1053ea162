#include "runtime/execute/staging_room.h"

#include <limits>
#include <utility>

namespace rooftile {

StagingRoom::Place::Place(StagingRoom& room, std::uint64_t bytes) : room_(room), bytes_(bytes) {
  room_.let_in(bytes_);
}

StagingRoom::Place::~Place() { room_.let_out(bytes_); }

bool StagingRoom::Place::become_alone() {
  {
    const std::lock_guard lock(room_.mutex_);
    if (room_.calls_ == 1) return false;
  }
  room_.let_out(std::exchange(bytes_, std::numeric_limits<std::uint64_t>::max()));
  room_.let_in(bytes_);
  return true;
}

StagingRoom::State StagingRoom::state() const {
  const std::lock_guard lock(mutex_);
  return {calls_, static_cast<int>(next_ - admitted_)};
}

void StagingRoom::let_in(std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const std::uint64_t number = next_++;
  const auto is_next_and_fits = [&] {
    return admitted_ == number &&
           (calls_ == 0 || (bytes <= most_bytes_ && bytes_ <= most_bytes_ - bytes));
  };
  while (!is_next_and_fits()) {
    const std::uint32_t seen = changes_;
    lock.unlock();
    changes_.wait(seen);
    lock.lock();
  }
  ++admitted_;
  ++calls_;
  bytes_ += bytes;
  tell_waiting();
}

void StagingRoom::let_out(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  --calls_;
  bytes_ -= bytes;
  tell_waiting();
}

void StagingRoom::tell_waiting() {
  ++changes_;
  changes_.notify_all();
}

}  // namespace rooftile
