// Work in a child process, so that a crash or a hang is a finding like any other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "bench/soak/soak_session.h"

namespace rooftile {

/// What a child tells, in memory that it shares with its parent.
class SharedReport {
 public:
  void begin(const std::string& line);
  void end(const SoakCase& test, const SoakVerdict& verdict);

  /// A message without its numbers, so that those of one kind count together.
  static std::string kind_of(std::string_view message);

  static constexpr std::size_t kText = 4096, kRefusals = 24, kRefusal = 160;
  struct Refusal {
    char what[kRefusal];
    std::uint64_t count;
  };
  std::atomic<std::uint64_t> begun{0};
  std::uint64_t cases = 0, kernels = 0, refused = 0, on_drawn_kernel = 0;
  std::uint64_t by_way[kWayNames.size()] = {};
  double worst_ratio = 0;
  char line[kText] = {};             ///< The case that runs, or was wrong.
  char wrong[kText] = {};            ///< "" as long as nothing is.
  Refusal refusals[kRefusals] = {};  ///< By the first words of their messages.
};

/// How the work ended: "" where it returned, else "it was ended by signal 11", "it hung", ...
/// report is cleared before. The work counts as hung where no case has begun for patience_s.
std::string run_in_child(SharedReport& report, const std::function<void()>& work,
                         double patience_s);

/// Memory that children share.
SharedReport& shared_report();

}  // namespace rooftile
