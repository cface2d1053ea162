// Kills a tuner or its worker at random moments, over and over, and then looks for damage:
//   kill_stress [KILLS [SEED [WORKER]]]      10 kills, seed 1; WORKER: a program with a real worker
//                                            (build/rooftile), else one that makes its times up
// Fails when the file is not sound, when a problem that was reported as finished has no certified
// winner, when a worker outlives its tuner, when a tuner gives up because its worker was killed, or
// when the next run does not go on.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "core/clock.h"
#include "core/error.h"
#include "core/numbers/random.h"
#include "generator/version.h"
#include "runtime/device/device.h"
#include "tests/db/child_process.h"
#include "tests/support/file_text.h"
#include "tests/support/first_device.h"
#include "tests/support/scratch.h"
#include "tests/tuner/faults/made_up_tune.h"
#include "tuner/tune.h"

namespace rooftile {
namespace {

constexpr double kBudgetS = 3;    // of one run; the last run ends by itself
constexpr double kMostLifeS = 2;  // longest time before a tuner is killed
constexpr double kOrphanS = 10;   // time in which a worker must end

std::vector<TuneProblem> problems() {
  std::vector<TuneProblem> list;
  for (const std::int64_t m : {17, 33, 65, 129, 257, 300})
    list.push_back({packed_problem(m, 40 + m / 2, 48), ""});
  return list;
}

/// The tuner that is killed. It prints the finished problems.
int run_tuner(const std::filesystem::path& database, const std::string& worker) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Store store(database);
  const std::atomic<bool> stop = false;
  tune(store, first_device(), {.problems = problems(), .budget_s = kBudgetS, .worker = worker},
       {.problem_finished =
            [](const TuneResult& result) {
              if (!result.winner.empty()) std::cout << to_string(result.problem) << std::endl;
            },
        .message = [](const std::string& message) { std::cerr << message << "\n"; }},
       stop);
  return 0;
}

/// Whether the process exists and is no zombie.
bool lives(pid_t process) {
  const std::string stat = bytes_of_file(fmt::format("/proc/{}/stat", process));
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.substr(name_end, 3) != ") Z";
}

/// A running tuner and its output.
class Tuner {
 public:
  Tuner(const char* program, const std::filesystem::path& database, const std::string& worker) {
    if (::pipe2(lines_, O_CLOEXEC) != 0) fail(ErrorCode::kIo, "no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(lines_[1], STDOUT_FILENO);
      ::execl(program, program, "tuner", database.c_str(), worker.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(lines_[1]);
  }
  ~Tuner() { ::close(lines_[0]); }
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  pid_t pid() const { return pid_; }
  /// Reads its output for this long, or to the end.
  void listen(double seconds, std::set<std::string>& finished) {
    const double end_s = now_s() + seconds;
    while (true) {
      pollfd waiting = {.fd = lines_[0], .events = POLLIN, .revents = 0};
      const double left_s = end_s - now_s();
      if (left_s <= 0 || ::poll(&waiting, 1, 1 + static_cast<int>(left_s * 1e3)) <= 0) return;
      char chunk[512];
      const ssize_t size = ::read(lines_[0], chunk, sizeof chunk);
      if (size <= 0) return;
      said_.append(chunk, static_cast<std::size_t>(size));
      for (std::size_t end; (end = said_.find('\n')) != std::string::npos; said_.erase(0, end + 1))
        finished.insert(said_.substr(0, end));
    }
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return status;
  }

 private:
  pid_t pid_ = 0;
  int lines_[2] = {-1, -1};
  std::string said_;
};

struct Damage {
  std::size_t damaged_files = 0, lost_problems = 0, orphans = 0, open_journal = 0, gave_up = 0;
  bool any() const { return damaged_files + lost_problems + orphans + open_journal + gave_up > 0; }
};

Damage damage(const std::filesystem::path& database, const std::set<std::string>& finished) {
  Damage found;
  const Store store(database, OpenMode::kReadOnly);
  for (const std::string& line : store.check()) {
    ++found.damaged_files;
    fmt::print("{}\n", line);
  }
  for (const auto& entry : std::filesystem::directory_iterator(database.parent_path()))
    if (entry.path().string().find(".damaged-") != std::string::npos) ++found.damaged_files;
  const RowId device = *store.find_device(first_device());
  std::set<std::string> won;
  for (const TunedKernel& kernel : store.tuned_kernels(device, kGeneratorVersion))
    won.insert(to_string(kernel.problem));
  for (const std::string& problem : finished)
    if (!won.contains(problem)) {
      ++found.lost_problems;
      fmt::print("{} was finished and has no winner\n", problem);
    }
  // One journal entry of a candidate is the first strike, which one death leaves. Two strikes must
  // have been settled.
  std::map<RowId, int> strikes;
  for (const JournalRecord& entry : store.journal(device)) ++strikes[entry.candidate];
  for (const auto& [candidate, count] : strikes) found.open_journal += count > 1 ? 1 : 0;
  return found;
}

int stress(const char* program, int kills, std::uint64_t seed, const std::string& worker) {
  const ScratchFolder folder;
  const std::filesystem::path database = folder / "rooftile.db";
  {
    Store store(database);
    store_calibration(store, first_device());
  }
  Random random(seed);
  const auto fraction = [&] { return (static_cast<double>(random.symmetric()) + 1) / 2; };
  std::set<std::string> finished;
  Damage total;
  int tuners = 0, workers = 0;
  while (tuners + workers < kills) {
    Tuner tuner(program, database, worker);
    const double life_s =
        kMostLifeS * fraction() * fraction();  // Early moments are the critical ones.
    tuner.listen(life_s, finished);
    std::vector<pid_t> children = children_of(tuner.pid());
    if (!children.empty() && random.below(3) == 0) {
      ::kill(children.front(), SIGKILL);
      ++workers;
      tuner.listen(kMostLifeS * fraction() * fraction(), finished);
      children = children_of(tuner.pid());
    }
    ::kill(tuner.pid(), SIGKILL);
    ++tuners;
    const int status = tuner.wait();
    total.gave_up += WIFEXITED(status) && WEXITSTATUS(status) != 0 ? 1 : 0;
    tuner.listen(1, finished);  // output from before the kill
    const double end_s = now_s() + kOrphanS;
    while (std::any_of(children.begin(), children.end(), lives) && now_s() < end_s)
      ::poll(nullptr, 0, 5);
    total.orphans +=
        static_cast<std::size_t>(std::count_if(children.begin(), children.end(), lives));
    const Damage now = damage(database, finished);
    total.damaged_files += now.damaged_files;
    total.lost_problems += now.lost_problems;
  }
  Tuner last(program, database, worker);
  last.listen(10 * kBudgetS, finished);
  const bool went_on = last.wait() == 0;
  const Damage end = damage(database, finished);
  total.open_journal = end.open_journal;
  const Store store(database, OpenMode::kReadOnly);
  const RowId device = *store.find_device(first_device());
  fmt::print(
      "{} tuners and {} workers killed: {} damaged files, {} of {} finished problems lost, {} "
      "orphans, {} tuners that gave up, {} unsettled journal entries, {} candidates black-listed, "
      "{} with one strike; the last run "
      "{}\n",
      tuners, workers, total.damaged_files, total.lost_problems, finished.size(), total.orphans,
      total.gave_up, total.open_journal, store.black_listed(device).size(),
      store.journal(device).size(), went_on ? "went on to its end" : "failed");
  return total.any() || !went_on || finished.empty() ? 1 : 0;
}

int run(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto argument = [&](std::size_t i, const char* otherwise) {
    return i < arguments.size() ? arguments[i] : std::string(otherwise);
  };
  if (argument(0, "") == "worker") return made_up_worker([] {});
  if (argument(0, "") == "tuner") return run_tuner(argument(1, ""), argument(2, ""));
  return stress("/proc/self/exe", std::stoi(argument(0, "10")), std::stoull(argument(1, "1")),
                argument(2, ""));
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) {
  try {
    return rooftile::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "kill_stress: {}\n", error.what());
    return 1;
  }
}
