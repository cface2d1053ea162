// CSV files of problems, as `rooftile tune --shapes` reads them. What is read has a name and is a
// valid problem.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "core/problem.h"
#include "tests/fuzz/fuzz.h"
#include "tuner/problems/problem_sets.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  static const int file = ::memfd_create("shapes.csv", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  require(
      ::ftruncate(file, 0) == 0 && ::pwrite(file, bytes, count, 0) == static_cast<ssize_t>(count),
      "the file is written");
  read_or_refuse([&] {
    for (const TuneProblem& wanted : read_problem_csv(path)) {
      validate(wanted.problem);
      to_string(wanted.problem);
    }
  });
  return 0;
}
