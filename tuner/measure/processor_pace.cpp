#include "tuner/measure/processor_pace.h"

#include <algorithm>
#include <array>

#include "core/clock.h"
#include "core/numbers/statistics.h"
#include "tuner/measure/host_kernels.h"
#include "tuner/measure/own_processors.h"

namespace rooftile {
namespace {

constexpr std::size_t kPieces = 3;
constexpr std::uint64_t kTrips = 30'000;  // Iterations of a piece: some 0.1 ms.
constexpr int kUnbound = -1;

double median_piece_ns() {
  static const FmaFunction fma = host_kernels().fma;
  std::array<double, kPieces> ns;
  for (double& piece : ns) {
    const double start = now_ns();
    const float result = fma(kTrips);
    asm volatile("" : : "m"(result));
    piece = now_ns() - start;
  }
  return median(ns);
}

}  // namespace

ProcessorPace::ProcessorPace() {
  std::vector<int> processors = own_processors();
  if (processors.empty())
    processors.assign(std::max(1u, std::thread::hardware_concurrency()), kUnbound);
  piece_ns_.resize(processors.size());
  for (std::size_t i = 0; i < processors.size(); ++i)
    threads_.emplace_back([this, i, processor = processors[i]] { work(i, processor); });
}

ProcessorPace::~ProcessorPace() {
  {
    const std::lock_guard lock(mutex_);
    closes_ = true;
  }
  begin_.notify_all();
}

double ProcessorPace::slowest_ns() {
  std::unique_lock lock(mutex_);
  ++probes_;
  working_ = absent_ = threads_.size();
  begin_.notify_all();
  end_.wait(lock, [&] { return working_ == 0; });
  return *std::ranges::max_element(piece_ns_);
}

void ProcessorPace::work(std::size_t thread, int processor) {
  if (processor != kUnbound) bind_to(processor);
  std::uint64_t done = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return closes_ || probes_ > done; });
      if (closes_) return;
      ++done;
    }
    --absent_;
    while (absent_.load() > 0) std::this_thread::yield();
    piece_ns_[thread] = median_piece_ns();
    const std::lock_guard lock(mutex_);
    if (--working_ == 0) end_.notify_one();
  }
}

}  // namespace rooftile
