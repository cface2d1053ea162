#include "db/tables/process_identity.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace rooftile {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::int64_t start_ticks(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  // The second field is the program's name in parentheses. It may itself hold blanks, newlines and
  // parentheses.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  constexpr int kFieldsBetweenStateAndStart = 18;  // fields 4 to 21
  std::string state, skipped;
  fields >> state;
  for (int i = 0; i < kFieldsBetweenStateAndStart; ++i) fields >> skipped;
  std::int64_t ticks = 0;
  const bool ended = state == "Z" || state == "X" || state == "x";
  return fields >> ticks && !ended ? ticks : 0;
}

}  // namespace

ProcessIdentity identify_process(std::int64_t pid) {
  std::error_code unreadable;
  return {.pid = pid,
          .start_ticks = start_ticks(pid),
          .boot_id = first_line("/proc/sys/kernel/random/boot_id"),
          .pid_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", unreadable).string()};
}

bool is_gone(const ProcessIdentity& recorded, const ProcessIdentity& now) {
  if (recorded.boot_id.empty() || now.boot_id.empty()) return false;
  if (recorded.boot_id != now.boot_id) return true;
  if (recorded.pid_namespace != now.pid_namespace) return false;
  return now.start_ticks == 0 || now.start_ticks != recorded.start_ticks;
}

bool is_gone(const JournalRecord& record) {
  return is_gone({.pid = record.pid,
                  .start_ticks = record.process_start_ticks,
                  .boot_id = record.boot_id,
                  .pid_namespace = record.pid_namespace},
                 identify_process(record.pid));
}

bool is_of_another_boot(const JournalRecord& record) {
  const std::string boot_id = identify_process(record.pid).boot_id;
  return !record.boot_id.empty() && !boot_id.empty() && record.boot_id != boot_id;
}

}  // namespace rooftile
