#include "tuner/measure/free_processors.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>

#include "core/clock.h"
#include "tuner/measure/matching_files.h"
#include "tuner/measure/processor_time.h"

namespace rooftile {
namespace {

constexpr double kTick = 0.01;        // Linux counts processors' time in hundredths of a second.
constexpr double kDecisionS = 0.3;    // Least time of measurements on which a decision rests.
constexpr double kPauseS = 0.1;       // In which others show what they use.
constexpr double kLeastOthers = 0.3;  // Processors of others that are worth a pause.
constexpr double kNextPauseS = 3;     // After one that showed nothing.
constexpr double kRounding = 0.25;    // A program that holds a processor may use a little less.
constexpr double kStillHeld = 0.5;    // Share of the time.

double sum(const ProcessorUse& use) {
  return std::accumulate(use.busy_s.begin(), use.busy_s.end(), 0.0,
                         [](double s, const auto& entry) { return s + entry.second; });
}

void bind_all_threads(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(static_cast<std::size_t>(processor), &set);
  constexpr std::string_view kThreads = "/proc/self/task/";
  for (const std::string& thread : matching_files(std::string(kThreads) + "*"))
    ::sched_setaffinity(std::atoi(thread.c_str() + kThreads.size()), sizeof set, &set);
}

}  // namespace

std::vector<int> own_processors() {
  cpu_set_t set = {};
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  return processors;
}

ProcessorUse processor_use_now() {
  ProcessorUse use{.wall_s = now_s(), .own_s = 1e-9 * processor_time_now().cpu_ns, .busy_s = {}};
  std::ifstream stat("/proc/stat");
  std::string word;
  while (stat >> word && word.starts_with("cpu")) {
    // user, nice, system, idle, iowait, irq, softirq, steal. Programs that run at a lower priority
    // make way, and what a hypervisor takes can be avoided nowhere.
    double ticks[7] = {};
    for (double& x : ticks) stat >> x;
    stat.ignore(1 << 10, '\n');
    if (word.size() > 3)
      use.busy_s[std::atoi(word.c_str() + 3)] = kTick * (ticks[0] + ticks[2] + ticks[5] + ticks[6]);
  }
  return use;
}

ProcessorUse operator-(const ProcessorUse& later, const ProcessorUse& earlier) {
  ProcessorUse use{.wall_s = later.wall_s - earlier.wall_s,
                   .own_s = later.own_s - earlier.own_s,
                   .busy_s = later.busy_s};
  for (auto& [processor, s] : use.busy_s)
    if (const auto before = earlier.busy_s.find(processor); before != earlier.busy_s.end())
      s -= before->second;
  return use;
}

std::vector<int> held_processors(const ProcessorUse& pause) {
  if (pause.busy_s.empty() || !(pause.wall_s > 0)) return {};
  std::vector<std::pair<double, int>> busiest;
  for (const auto& [processor, s] : pause.busy_s) busiest.emplace_back(-s, processor);
  std::ranges::sort(busiest);
  const double used = (sum(pause) - pause.own_s) / pause.wall_s;
  const auto held = static_cast<std::size_t>(
      std::clamp(std::floor(used + kRounding), 0.0, static_cast<double>(pause.busy_s.size()) - 1));
  std::vector<int> processors;
  for (std::size_t i = 0; i < held; ++i) processors.push_back(busiest[i].second);
  return processors;
}

FreeProcessors::System FreeProcessors::this_process() {
  return {.all = own_processors(),
          .use = processor_use_now,
          .pause = [](double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); },
          .bind = bind_all_threads};
}

FreeProcessors::FreeProcessors(System system) : system_(std::move(system)), free_(system_.all) {}

FreeProcessors::~FreeProcessors() {
  free_ = system_.all;
  restrict_to_free();
}

void FreeProcessors::restrict_to_free() {
  if (!free_.empty()) system_.bind(free_);
}

ProcessorUse FreeProcessors::use() const {
  ProcessorUse use = system_.use();
  std::erase_if(use.busy_s, [&](const auto& entry) {
    return std::ranges::find(system_.all, entry.first) == system_.all.end();
  });
  return use;
}

void FreeProcessors::begin() {
  if (all() < 2) return;
  if (suspected_) {
    const ProcessorUse before = use();
    system_.pause(kPauseS);
    const std::vector<int> held = held_processors(use() - before);
    std::vector<int> free = system_.all;
    std::erase_if(free,
                  [&](int processor) { return std::ranges::find(held, processor) != held.end(); });
    if (free != free_) {
      free_ = std::move(free);
      restrict_to_free();
    }
    suspected_ = false;
    next_pause_s_ = before.wall_s + kNextPauseS;
    measured_ = {};
  }
  began_ = use();
}

void FreeProcessors::end() {
  if (all() < 2) return;
  const ProcessorUse now = use() - began_;
  measured_.wall_s += now.wall_s;
  measured_.own_s += now.own_s;
  for (const auto& [processor, s] : now.busy_s) measured_.busy_s[processor] += s;
  if (measured_.wall_s < kDecisionS) return;
  double inside = -measured_.own_s, outside = 0;
  for (const auto& [processor, s] : measured_.busy_s)
    (std::ranges::find(free_, processor) != free_.end() ? inside : outside) += s;
  const double held = static_cast<double>(all() - free());
  if (outside < kStillHeld * held * measured_.wall_s) {
    free_ = system_.all;
    restrict_to_free();
  }
  suspected_ = inside > kLeastOthers * measured_.wall_s && began_.wall_s >= next_pause_s_;
  measured_ = {};
}

double FreeProcessors::to_all(double workgroups) const {
  if (free() == all() || workgroups < 1) return 1;
  return std::ceil(workgroups / static_cast<double>(all())) /
         std::ceil(workgroups / static_cast<double>(free()));
}

}  // namespace rooftile
