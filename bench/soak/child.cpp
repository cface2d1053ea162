#include "child.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "core/clock.h"
#include "core/error.h"

namespace rooftile {
namespace {

void copy_text(char* to, std::size_t size, std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

[[noreturn]] void work_and_exit(SharedReport& report, const std::function<void()>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    work();
  } catch (const std::exception& error) {
    copy_text(report.wrong, SharedReport::kText, fmt::format("exception: {}", error.what()));
  }
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace

std::string SharedReport::kind_of(std::string_view message) {
  std::string kind;
  for (const char letter : message.substr(0, kRefusal - 1))
    if (letter < '0' || letter > '9') kind += letter;
  return kind;
}

void SharedReport::begin(const std::string& text) {
  copy_text(line, kText, text);
  ++begun;
}

void SharedReport::end(const SoakCase& test, const SoakVerdict& verdict) {
  ++cases;
  ++by_way[static_cast<std::size_t>(test.way)];
  if (verdict.kernel == short_name(test.kernel)) ++on_drawn_kernel;
  worst_ratio = std::max(worst_ratio, verdict.worst_ratio);
  if (!verdict.refused.empty()) {
    ++refused;
    const std::string kind = kind_of(verdict.refused);
    for (Refusal& refusal : refusals) {
      if (refusal.count == 0) copy_text(refusal.what, kRefusal, kind);
      if (kind != refusal.what) continue;
      ++refusal.count;
      break;
    }
  }
  copy_text(wrong, kText, verdict.wrong);
}

SharedReport& shared_report() {
  static SharedReport* const report = [] {
    void* const memory = ::mmap(nullptr, sizeof(SharedReport), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail(ErrorCode::kOutOfMemory, "no memory for the report");
    return new (memory) SharedReport;
  }();
  return *report;
}

std::string run_in_child(SharedReport& report, const std::function<void()>& work,
                         double patience_s) {
  new (&report) SharedReport;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) fail(ErrorCode::kInternal, "fork: {}", std::strerror(errno));
  if (child == 0) work_and_exit(report, work);
  std::uint64_t seen = 0;
  double since = now_s();
  while (true) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      if (WIFSIGNALED(status)) return fmt::format("ended by signal {}", WTERMSIG(status));
      return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit code {}", WEXITSTATUS(status));
    }
    if (const std::uint64_t begun = report.begun; begun != seen) {
      seen = begun;
      since = now_s();
    }
    if (now_s() - since > patience_s) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return fmt::format("no case ended in {} s", patience_s);
    }
    ::usleep(5000);
  }
}

}  // namespace rooftile
