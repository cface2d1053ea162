// Circles among units: a unit is a header and the source of the same name, and uses every unit
// whose header either of them includes. Units in a circle can only be understood, built and tested
// together.
#pragma once

#include <string>
#include <vector>

#include "tests/architecture/layers.h"

namespace rooftile {

/// Units of which each uses each other, if need be through others.
struct Circle {
  std::vector<std::string> units;  // "db/store", sorted
  /// The shortest way from one of them back to itself, one line for each step: who uses whom, and
  /// in which #include.
  std::vector<std::string> way;
};

/// All circles among the files that include each other; none for a file that includes itself.
std::vector<Circle> circles(const std::vector<Include>& includes);

}  // namespace rooftile
