// Compares random calls over every way in with float64: random kernels of the legal space, types,
// epilogues, layouts, leading dimensions, scalars, special values, tiers and precisions, on the
// drivers that VK_DRIVER_FILES names. What is wrong is made as small as possible and printed as a
// line that --replay runs again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>

#include "bench/soak/child.h"
#include "bench/soak/draw.h"
#include "bench/soak/shrink.h"
#include "core/clock.h"
#include "core/error.h"
#include "runtime/device/device.h"

namespace rooftile {
namespace {

struct Options {
  double seconds = 60;
  std::uint64_t seed = 1, cases = UINT64_MAX;
  std::int64_t piece = -1;
  int calls = 2500, kernels = 8;
  double patience_s = 120, most_work = 4000;
  bool list = false, drop_in = false;
  std::string replay, replay_file;
};

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "rooftile-soak-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail(ErrorCode::kIo, "{}: cannot be made", name);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

DeviceProfile first_device() {
  const Enumeration found = enumerate_devices();
  if (found.devices.empty()) fail(ErrorCode::kDevice, "no Vulkan device: {}", found.note);
  return found.devices.front();
}

/// Runs cases, which a child calls, until one is wrong.
void run_cases(const std::vector<SoakCase>& cases, const std::filesystem::path& folder) {
  SharedReport& report = shared_report();
  const DeviceProfile device = first_device();
  SoakSession session(cases.front(), device, folder);
  for (const SoakCase& test : cases) {
    report.begin(to_string(test));
    report.end(test, session.run(test));
    if (report.wrong[0] != '\0') return;
  }
}

/// What is wrong with cases that share a session, in a child of their own; "": nothing.
std::string wrong_of(const std::vector<SoakCase>& cases, const Options& options,
                     const std::filesystem::path& folder) {
  SharedReport& report = shared_report();
  const std::string ended = run_in_child(
      report, [&] { run_cases(cases, folder); }, options.patience_s);
  return report.wrong[0] != '\0' ? report.wrong : ended;
}

/// What two findings of one cause have in common: the words without numbers, up to a case's own.
std::string kind_of(const std::string& wrong) {
  for (const char* part : {"wrote outside of C", "expected", "was changed", "wrote into", "signal"})
    if (wrong.find(part) != std::string::npos) return part;
  return SharedReport::kind_of(wrong).substr(0, 40);
}

/// Kernels in turn, each with its calls: what a child does.
void run_piece(std::uint64_t seed, const Options& options, double until_s,
               const std::filesystem::path& folder) {
  SharedReport& report = shared_report();
  const DeviceProfile device = first_device();
  CaseSource source(device.limits, seed, options.most_work);
  // The drop-in opens one database per process.
  const bool drop_in = options.drop_in || seed % 8 == 0;
  for (int kernel = 0; kernel < (drop_in ? 1 : options.kernels) && now_s() < until_s; ++kernel) {
    const SoakCase first = source.session(drop_in);
    report.begin(to_string(first));
    SoakSession session(first, device, folder);
    ++report.kernels;
    for (int call = 0; call < options.calls && now_s() < until_s; ++call) {
      const SoakCase test = source.next(first);
      report.begin(to_string(test));
      if (options.list) fmt::print("{}\n", report.line);
      report.end(test, session.run(test));
      if (report.wrong[0] != '\0') return;
    }
  }
}

struct Totals {
  std::uint64_t cases = 0, kernels = 0, refused = 0, on_drawn_kernel = 0, pieces = 0, findings = 0;
  std::array<std::uint64_t, kWayNames.size()> by_way = {};
  double worst_ratio = 0;
  std::map<std::string, std::uint64_t> refusals;

  void add(const SharedReport& report) {
    ++pieces;
    cases += report.cases;
    kernels += report.kernels;
    refused += report.refused;
    on_drawn_kernel += report.on_drawn_kernel;
    worst_ratio = std::max(worst_ratio, report.worst_ratio);
    for (std::size_t i = 0; i < by_way.size(); ++i) by_way[i] += report.by_way[i];
    for (const SharedReport::Refusal& refusal : report.refusals)
      if (refusal.count > 0) refusals[refusal.what] += refusal.count;
  }
  void print(double seconds) const {
    fmt::print(
        "{} cases on {} kernels in {:.0f} s, {} on the drawn kernel, {} refused, largest "
        "error {:.3f} of its bound, {} findings\n",
        cases, kernels, seconds, on_drawn_kernel, refused, worst_ratio, findings);
    for (std::size_t i = 0; i < by_way.size(); ++i)
      fmt::print("{}{} {}", i == 0 ? "" : ", ", kWayNames[i], by_way[i]);
    fmt::print("\n");
    for (const auto& [what, count] : refusals) fmt::print("refused {}: {}\n", count, what);
  }
};

/// Prints the finding of a piece as a line that can be replayed.
void print_finding(const std::string& line, const std::string& what, std::uint64_t piece,
                   const Options& options, const std::filesystem::path& folder) {
  constexpr int kMostTrials = 250;
  constexpr double kMostS = 120;
  const double start_s = now_s();
  fmt::print("FINDING {}\n  {}\n", what, line);
  const SoakCase test = parse_case(line);
  const std::string alone = wrong_of({test}, options, folder);
  if (alone.empty()) {
    fmt::print("  alone it is right; again with: --seed {} --piece {}{}\n", options.seed, piece,
               options.drop_in ? " --drop-in" : "");
  } else {
    const SoakCase small = shrunk(
        test,
        [&](const SoakCase& x) {
          return now_s() - start_s < kMostS &&
                 kind_of(wrong_of({x}, options, folder)) == kind_of(alone);
        },
        kMostTrials);
    fmt::print("  {}\n  replay: {}\n", wrong_of({small}, options, folder), to_string(small));
  }
  std::fflush(stdout);
}

int soak(const Options& options, const std::filesystem::path& folder) {
  const double start_s = now_s(), until_s = start_s + options.seconds;
  SharedReport& report = shared_report();
  Totals totals;
  for (std::uint64_t piece = options.piece < 0 ? 0 : static_cast<std::uint64_t>(options.piece);
       now_s() < until_s && totals.cases < options.cases; ++piece) {
    const std::uint64_t seed = Random(options.seed * 0x10001 + piece).next();
    const std::string ended = run_in_child(
        report, [&] { run_piece(seed, options, until_s, folder); }, options.patience_s);
    // Nothing has run: there is no device.
    if (report.begun == 0 && (report.wrong[0] != '\0' || !ended.empty()))
      fail(ErrorCode::kDevice, "{}", ended.empty() ? report.wrong : ended);
    totals.add(report);
    if (report.wrong[0] != '\0' || !ended.empty()) {
      ++totals.findings;
      const std::string line = report.line, what = ended.empty() ? report.wrong : ended;
      print_finding(line, what, piece, options, folder);
    }
    if (options.piece >= 0) break;
  }
  totals.print(now_s() - start_s);
  return totals.findings == 0 ? 0 : 1;
}

/// Throws kInvalidArgument for a line whose words do not go together.
SoakCase case_of_line(const std::string& line) {
  SoakCase test = parse_case(line);
  if (!goes_together(test))
    fail(ErrorCode::kInvalidArgument,
         "such a case is not made, for its words do not go together: {}", line);
  return test;
}

std::vector<SoakCase> cases_of_file(const std::string& name) {
  std::ifstream file(name);
  if (!file) fail(ErrorCode::kIo, "{}: cannot be read", name);
  std::vector<SoakCase> cases;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line.front() != '#') cases.push_back(case_of_line(line));
  if (cases.empty()) fail(ErrorCode::kInvalidArgument, "{}: no case", name);
  return cases;
}

/// Runs cases again, those in a row that share a session in one process.
int replay(const std::vector<SoakCase>& cases, const Options& options,
           const std::filesystem::path& folder) {
  int wrong = 0;
  std::uint64_t refused = 0;
  for (std::size_t begin = 0; begin < cases.size();) {
    std::size_t end = begin + 1;
    while (end < cases.size() && share_session(cases[begin], cases[end])) ++end;
    const std::vector<SoakCase> group(cases.begin() + static_cast<std::ptrdiff_t>(begin),
                                      cases.begin() + static_cast<std::ptrdiff_t>(end));
    const std::string what = wrong_of(group, options, folder);
    refused += shared_report().refused;
    if (!what.empty()) {
      ++wrong;
      fmt::print("WRONG {}\n  {}\n", shared_report().line, what);
    }
    begin = end;
  }
  fmt::print("{} cases, {} refused, {} wrong\n", cases.size(), refused, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) try {
  using namespace rooftile;
  Options options;
  CLI::App app("Compares random calls over every way in with float64.");
  app.add_option("--seconds", options.seconds, "time to run")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of all that is random");
  app.add_option("--cases", options.cases, "end after about so many cases");
  app.add_option("--kernels", options.kernels, "kernels of a process")->check(CLI::PositiveNumber);
  app.add_option("--calls", options.calls, "calls on a kernel")->check(CLI::PositiveNumber);
  app.add_option("--work", options.most_work,
                 "most statements of a kernel, for drivers whose compilers are slow")
      ->check(CLI::PositiveNumber);
  app.add_option("--piece", options.piece, "run only this process of the run");
  app.add_option("--patience", options.patience_s, "seconds until a case counts as hung")
      ->check(CLI::PositiveNumber);
  app.add_flag("--drop-in", options.drop_in, "only calls over the symbols of the drop-in");
  app.add_flag("--list", options.list, "print each case before it runs");
  app.add_option("--replay", options.replay, "a case, as it was printed");
  app.add_option("--replay-file", options.replay_file, "a file with a case in each line");
  CLI11_PARSE(app, argc, argv);
  const Folder folder;
  if (!options.replay.empty())
    return replay({case_of_line(options.replay)}, options, folder.path());
  if (!options.replay_file.empty())
    return replay(cases_of_file(options.replay_file), options, folder.path());
  return soak(options, folder.path());
} catch (const std::exception& error) {
  std::fprintf(stderr, "soak: %s\n", error.what());
  return 1;
}
