#include "bench/contests/program.h"

#include <filesystem>

#include "core/error.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/environment.h"
#include "runtime/tuned/wanted_device.h"

namespace rooftile {

namespace {

std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

}  // namespace

std::string own_file(const std::string& name) {
  const std::filesystem::path folder = own_program().parent_path(), above = folder.parent_path();
  for (const std::filesystem::path& place : {folder, above, above / "lib"})
    if (std::filesystem::is_regular_file(place / name)) return (place / name).string();
  return name;
}

std::string own_command(const std::string& bench) {
  return fmt::format("'{}' {}", own_program().string(), bench);
}

std::string output_of(const std::string& command) {
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) fail(ErrorCode::kIo, "cannot run {}", command);
  std::string text;
  for (char buffer[4096]; const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe);)
    text.append(buffer, got);
  if (const int status = ::pclose(pipe); status != 0)
    fail(ErrorCode::kIo, "{} failed (status {})", command, status);
  return text;
}

std::vector<DeviceProfile> wanted_devices() {
  Enumeration found = enumerate_devices();
  if (found.devices.empty()) fail(ErrorCode::kDevice, "no Vulkan device: {}", found.note);
  const std::string wanted = environment("ROOFTILE_DEVICE");
  std::erase_if(found.devices, [&](const auto& device) { return !is_wanted(device, wanted); });
  if (found.devices.empty())
    fail(ErrorCode::kDevice, "no Vulkan device matches '{}' of ROOFTILE_DEVICE", wanted);
  return std::move(found.devices);
}

CLI::Option* WantedProblems::add_sizes(CLI::App& app, const std::string& what) {
  CLI::Option* const m = app.add_option("--m", m_, what)->check(CLI::PositiveNumber);
  CLI::Option* const n = app.add_option("--n", n_)->check(CLI::PositiveNumber)->needs(m);
  CLI::Option* const k = app.add_option("--k", k_)->check(CLI::PositiveNumber)->needs(m);
  m->needs(n, k);
  app.add_flag("--trans-a", trans_a_)->needs(m);
  app.add_flag("--trans-b", trans_b_)->needs(m);
  return m;
}

void WantedProblems::add_options(CLI::App& app) {
  app.add_option("--set", set_, "Built-in problems")->check(CLI::IsMember(problem_set_names()));
  app.add_option("--shapes", shapes_, "CSV with the columns m,n,k,trans_a,trans_b,batch,note");
  CLI::Option* const m = add_sizes(app);
  app.add_option("--batch", batch_, "Batch size of the problem (1)")
      ->needs(m)
      ->check(CLI::PositiveNumber);
  app.add_option(
      "--type", type_,
      "Of the operands, for every problem (f32): f16, bf16_bf16, i8_i32, f16xq4b32_f16, ...");
  app.add_option("--epilogue", epilogue_, "Epilogue of every GEMM: bias_column+relu, ...");
}

std::optional<Problem> WantedProblems::one() const {
  if (m_ == 0) return std::nullopt;
  const auto transpose = [](bool yes) { return yes ? Transpose::kYes : Transpose::kNo; };
  Problem p = packed_problem(m_, n_, k_, transpose(trans_a_), transpose(trans_b_), batch_);
  validate(p);
  return p;
}

std::vector<TuneProblem> WantedProblems::problems(const std::string& otherwise) const {
  const std::string& set = set_.empty() ? otherwise : set_;
  std::vector<TuneProblem> problems;
  if (const auto given = one())
    problems = {{*given, ""}};
  else if (!shapes_.empty())
    problems = read_problem_csv(shapes_);
  else if (!set.empty())
    problems = problem_set(set);
  for (TuneProblem& wanted : problems) {
    if (type_ != "f32") wanted.problem = retyped(wanted.problem, parse_types(type_));
    if (!epilogue_.empty()) wanted.problem.epilogue = parse_epilogue(epilogue_);
  }
  return problems;
}

CsvFile::CsvFile(const std::string& path, const std::string& header) : path_(path) {
  if (path_.empty()) return;
  file_.open(path_);
  if (!file_) fail(ErrorCode::kIo, "cannot write {}", path_);
  add(header);
}

void CsvFile::add(const std::string& line) {
  if (file_.is_open() && !(file_ << line << '\n' << std::flush))
    fail(ErrorCode::kIo, "cannot write all of {}", path_);
}

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '"');
  return '"' + text + '"';
}

}  // namespace rooftile
