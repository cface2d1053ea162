// Problems that a run tunes: built-in sets, and CSV files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.h"

namespace rooftile {

struct TuneProblem {
  Problem problem;
  std::string note;
  /// Importance of its time relative to the other problems'. The tuner decreases the sum of weight
  /// times the logarithm of time.
  double weight = 1;
};

/// Returns a built-in problem set: "default", "squares", "transformer", "llm", "deepbench",
/// "applications", "types". Throws kInvalidArgument.
std::vector<TuneProblem> problem_set(std::string_view name);
std::vector<std::string> problem_set_names();
/// Reads m,n,k,trans_a,trans_b,batch,note with a header line, with type,epilogue or with
/// type,epilogue,groups,skew before the note (empty: not grouped, a skew of 1); '#' lines are
/// comments. A problem that is listed twice is one of twice the weight. Errors name file and line.
std::vector<TuneProblem> read_problem_csv(const std::filesystem::path& file);

}  // namespace rooftile
