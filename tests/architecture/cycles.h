// Include cycles among units. A unit is a header and the source of the same name; it uses every
// unit whose header either of them includes. Units in a cycle can only be understood, built and
// tested together.
#pragma once

#include <string>
#include <vector>

#include "tests/architecture/layers.h"

namespace rooftile {

/// Units that all use each other, directly or indirectly.
struct Cycle {
  std::vector<std::string> units;  // "db/store", sorted
  /// The shortest path from one of them back to itself, one line per step: which unit uses which,
  /// and in which #include.
  std::vector<std::string> way;
};

/// All cycles among the files that include each other. A file that includes itself is no cycle.
std::vector<Cycle> cycles(const std::vector<Include>& includes);

}  // namespace rooftile
