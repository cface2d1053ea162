#include "tuner/measure/processor_handover.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "tuner/measure/own_processors.h"

namespace rooftile {
namespace {

// Round trips per sample, so that the clock's own cost is negligible.
constexpr int kSamples = 5, kRoundTrips = 50;

/// The counter is odd on the way there and even on the way back. It has a cache line of its own.
struct alignas(64) Ball {
  std::atomic<int> at = 0;
};

double shortest_round_trip_ns(Ball& ball) {
  double shortest = std::numeric_limits<double>::infinity();
  int hits = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    const double start = now_ns();
    for (int i = 0; i < kRoundTrips; ++i) {
      ball.at.store(++hits, std::memory_order_release);
      ++hits;
      while (ball.at.load(std::memory_order_acquire) != hits) {
      }
    }
    shortest = std::min(shortest, (now_ns() - start) / kRoundTrips);
  }
  return shortest;
}

}  // namespace

std::optional<double> processor_handover_ns() {
  const OwnProcessors own;
  const std::vector<int> processors = own.all();
  if (processors.size() < 2 || !bind_to(processors.front())) return std::nullopt;
  Ball ball;
  enum class There { kNotYet, kYes, kNever };
  std::atomic<There> there = There::kNotYet;
  const std::jthread returner([&] {
    const bool is_bound = bind_to(processors.back());
    there = is_bound ? There::kYes : There::kNever;
    for (int i = 0; is_bound && i < kSamples * kRoundTrips; ++i) {
      while (ball.at.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      ball.at.store(2 * i + 2, std::memory_order_release);
    }
  });
  while (there == There::kNotYet) std::this_thread::yield();
  if (there == There::kNever) return std::nullopt;
  return shortest_round_trip_ns(ball);
}

}  // namespace rooftile
