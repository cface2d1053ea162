#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cli/command.h"
#include "core/error.h"

namespace rooftile {
namespace {

// As env and nohup have them.
constexpr int kCannotRun = 126, kNotFound = 127;

std::filesystem::path preloaded_library() {
  constexpr const char* kName = "librooftile_preload.so";
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::array places = {own / "blas" / kName, own / ROOFTILE_PRELOAD_FOLDER / kName,
                             own / ROOFTILE_PACKAGED_PRELOAD_FOLDER / kName};
  for (const std::filesystem::path& place : places)
    if (std::filesystem::exists(place)) return place.lexically_normal();
  fail(ErrorCode::kIo,
       "no {} beside this program: looked for {}, {} and {}; install Rooftile again", kName,
       places[0].string(), places[1].lexically_normal().string(),
       places[2].lexically_normal().string());
}

void set(const char* variable, const std::string& value) {
  if (!value.empty()) ::setenv(variable, value.c_str(), 1);
}

int run(const std::vector<std::string>& program, const std::string& tier, const Globals& globals) {
  if (program.empty())
    fail(ErrorCode::kInvalidArgument, "which program? rooftile run -- PROGRAM [ARGUMENT...]");
  std::string preload = preloaded_library().string();
  if (preload.find_first_of(" :") != std::string::npos)
    fail(ErrorCode::kIo,
         "{} cannot be preloaded: the loader ends names at spaces and colons; move or link "
         "Rooftile's folder to a place without",
         preload);
  // What the user preloads besides comes first, as tools that must do so expect.
  if (const char* others = std::getenv("LD_PRELOAD"); others != nullptr && *others != '\0')
    preload = others + (":" + preload);
  set("LD_PRELOAD", preload);
  set("ROOFTILE_DB", globals.db.empty() ? "" : std::filesystem::absolute(globals.db).string());
  set("ROOFTILE_DEVICE", globals.device);
  set("ROOFTILE_TIER", tier);

  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const int why = errno;
  fmt::print(stderr, "rooftile: cannot run {}: {}\n", argv[0], std::strerror(why));
  return why == ENOENT ? kNotFound : kCannotRun;
}

}  // namespace

void add_run(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand(
      "run",
      "Run a program with Rooftile in place of its BLAS' matrix products: run -- PROGRAM "
      "[ARGUMENT...]");
  command->footer(
      "Its exit code is the program's; 126: it could not be run, 127: it was not found.\n"
      "Examples:\n  rooftile run -- python3 script.py\n"
      "  rooftile run --tier device -- octave-cli script.m");
  static std::string tier;
  command
      ->add_option("--tier", tier,
                   "Where products are computed (default: $ROOFTILE_TIER, else auto)")
      ->check(CLI::IsMember({"auto", "device", "host", "host1", "host64"}));
  // From its first word on, the program's command line is nobody else's; a list of positional
  // arguments would take words in brackets apart.
  command->preparse_callback([&app](std::size_t) { app.prefix_command(); });
  command->callback([&] { action = [&] { return run(app.remaining(), tier, globals); }; });
}

}  // namespace rooftile
