// Questions to a device, as data: is this kernel faster than that one, and by how much?
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/numbers/statistics.h"
#include "core/problem.h"
#include "core/variant.h"

namespace rooftile {

struct Experiment {
  std::string name;  ///< Shared by the problems of one question.
  Problem problem;
  Variant baseline, variant;
  double expected;  ///< Time of the variant over that of the baseline.
  double seconds;   ///< For its samples.
  std::string hypothesis;
};

/// Reads a CSV file: a line with the columns
/// experiment,m,n,k,trans_a,trans_b,batch,type,baseline,variant,expected,seconds,hypothesis, and
/// one line for each problem. The variant is what changes of the baseline's parameters; an empty
/// experiment, type, baseline, expected, seconds or hypothesis is that of the line before. Empty
/// lines and those with # in front are left out. Throws kIo with the line for whatever is wrong, an
/// unknown parameter included.
std::vector<Experiment> read_experiments(const std::filesystem::path& file);

/// "as expected": the interval of the measured ratio lies beyond half of the expected gain or loss
/// (the square root of the ratio); "not so": it lies on the other side; "open": it reaches over it.
/// Where nothing is expected (ratio 1): "faster", "slower" or "equal".
std::string_view verdict(double expected, const Interval& ratio);

}  // namespace rooftile
