// Results that the page of `rooftile web` exports (docs/web.md has the format). The file comes from
// a stranger: everything is checked before it is used, and nothing of it is executed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/figure.h"
#include "core/problem.h"
#include "core/variant.h"

namespace rooftile::web {

struct MeasuredKernel {
  Variant variant;
  std::vector<double> samples_ns;  ///< Empty: it failed.
};
struct MeasuredProblem {
  Problem problem;
  std::vector<MeasuredKernel> kernels;
};
struct Results {
  DeviceProfile device;  ///< Its driver is named "WebGPU"; names are printable.
  std::vector<Figure> figures;
  std::vector<MeasuredProblem> problems;
};

/// Whether a file begins as such results do, not as a database.
bool is_results_file(const std::filesystem::path& file);

/// Throws kIo for a file that cannot be read, and kInvalidArgument, naming the file and what is
/// wrong, for anything that the page does not write: another format or version, sizes or times out
/// of range, kernels that this version does not know.
Results read_results(const std::filesystem::path& file);
/// Same from the text. name: of the file, for messages.
Results parse_results(const std::string& text, const std::string& name);

}  // namespace rooftile::web
