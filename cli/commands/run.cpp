#include <fmt/ranges.h>
#include <fmt/std.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/set_user_id.h"
#include "cli/usage.h"
#include "core/error.h"
#include "core/hash.h"
#include "runtime/dispatch/environment.h"
#include "runtime/host/host_blas.h"
#include "runtime/kernel/shader_cache.h"

namespace rooftile {
namespace {

// Same codes as env and nohup.
constexpr int kCannotRun = 126, kNotFound = 127;

std::filesystem::path preloaded_library() {
  constexpr const char* kName = "librooftile_preload.so";
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::array places = {own / "blas" / kName, own / ROOFTILE_PRELOAD_FOLDER / kName,
                             own / ROOFTILE_PACKAGED_PRELOAD_FOLDER / kName};
  for (const std::filesystem::path& place : places)
    if (std::error_code unknown; std::filesystem::exists(place, unknown))
      return place.lexically_normal();
  fail(ErrorCode::kIo,
       "no {} beside this program: looked for {}, {} and {}; install Rooftile again", kName,
       places[0].string(), places[1].lexically_normal().string(),
       places[2].lexically_normal().string());
}

/// The loader treats spaces and colons in LD_PRELOAD as separators.
bool can_be_preloaded(const std::filesystem::path& path) {
  return path.string().find_first_of(" :") == std::string::npos;
}

/// Creates the folder if necessary. Returns whether it belongs to this user and no other user may
/// write into it, because its content is loaded into programs.
bool is_own_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder.parent_path(), ignored);
  ::mkdir(folder.c_str(), 0700);
  struct stat status = {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Creates a link to the library whose own path has neither a space nor a colon. The link is not
/// removed, because the program's descendants inherit LD_PRELOAD. The drop-in follows it to find
/// librooftile.so.
std::filesystem::path link_to(const std::filesystem::path& library) {
  const char* const runtime_folder = std::getenv("XDG_RUNTIME_DIR");
  std::vector<std::filesystem::path> folders = {default_cache_folder() / "preload"};
  if (runtime_folder != nullptr && *runtime_folder == '/')
    folders.push_back(std::filesystem::path(runtime_folder) / "rooftile-preload");
  folders.push_back(fmt::format("/tmp/rooftile-preload-{}", ::geteuid()));
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path own = folder / hash_hex(library.string());
    const std::filesystem::path link = own / library.filename();
    if (!link.is_absolute() || !can_be_preloaded(link) || !is_own_folder(folder) ||
        !is_own_folder(own))
      continue;
    std::error_code error;
    if (std::filesystem::read_symlink(link, error) == library) return link;
    // Renaming is atomic: programs that start meanwhile find the old link or the new one.
    const std::filesystem::path made = own / fmt::format("{}", ::getpid());
    std::filesystem::create_symlink(library, made, error);
    if (!error) std::filesystem::rename(made, link, error);
    if (!error) return link;
  }
  fail(ErrorCode::kIo,
       "{} cannot be preloaded, because of the space or colon in its path, and no link to it could "
       "be made in {}; name a folder without either in ROOFTILE_CACHE",
       library.string(), fmt::join(folders, ", "));
}

void set(const char* variable, const std::string& value) {
  if (!value.empty()) ::setenv(variable, value.c_str(), 1);
}

struct RunOptions {
  std::string tier, precision;
};

/// Warns about routines that Rooftile does not replace: when preloaded, it does not see their calls
/// and cannot warn later.
void warn_about_precision() {
  const auto value = [](const char* variable) {
    const char* const text = std::getenv(variable);
    return std::string_view(text == nullptr ? "" : text);
  };
  std::string_view wanted = value("ROOFTILE_PRECISION");
  if (wanted.empty() && value("ROOFTILE_TIER") == "host64") wanted = "exact64";
  if ((wanted != "high" && wanted != "exact64") || value("ROOFTILE_LOG") == "off") return;
  fmt::print(
      stderr,
      "rooftile: precision {} holds for sgemm and its batches, sgemv, ssyrk, ssymm, strmm and "
      "strsm; other single-precision routines of BLAS and LAPACK compute in float32\n",
      wanted);
}

int run(const std::vector<std::string>& program, const RunOptions& run_options,
        const Globals& globals) {
  refuse_set_user_id();
  if (program.empty())
    fail(ErrorCode::kInvalidArgument,
         "the program is missing: rooftile run -- PROGRAM [ARGUMENT...]");
  std::filesystem::path library;
  try {
    library = preloaded_library();
    if (!can_be_preloaded(library)) library = link_to(library);
  } catch (const Error& error) {
    fmt::print(stderr, "rooftile: {}\n", error.what());
    return kCannotRun;
  }
  // Otherwise the program's first call of BLAS would abort it.
  if (!environment("ROOFTILE_BLAS").empty()) HostBlas::get();
  std::string preload = library.string();
  // Libraries that the user preloads come first, because some tools require it.
  if (const char* others = std::getenv("LD_PRELOAD"); others != nullptr && *others != '\0')
    preload = others + (":" + preload);
  set("LD_PRELOAD", preload);
  // The program may change its working directory, so the path must be absolute.
  std::error_code nowhere;
  set("ROOFTILE_DB",
      globals.db.empty() ? "" : std::filesystem::absolute(globals.db, nowhere).string());
  if (nowhere)
    fail(ErrorCode::kIo, "--db {} cannot be resolved: {}; name the file by its absolute path",
         globals.db, nowhere.message());
  set("ROOFTILE_DEVICE", globals.device);
  set("ROOFTILE_TIER", run_options.tier);
  set("ROOFTILE_PRECISION", run_options.precision);
  warn_about_precision();

  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  leave_signals_to_program();
  ::execvp(argv[0], argv.data());
  const int why = errno;
  fmt::print(stderr, "rooftile: cannot run {}: {}\n", argv[0], std::strerror(why));
  return why == ENOENT ? kNotFound : kCannotRun;
}

}  // namespace

void add_run(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand(
      "run", "Run a program whose calls of BLAS for matrix products are computed by Rooftile");
  command->footer(
      "Its exit code is the program's; 126: it could not be run, 127: it was not found.\n"
      "Examples:\n  rooftile run -- python3 script.py\n"
      "  rooftile run --tier device -- octave-cli script.m");
  static RunOptions run_options;
  command
      ->add_option("--tier", run_options.tier,
                   "Where GEMMs are computed (default: $ROOFTILE_TIER, else auto)")
      ->type_name("TIER")
      ->check(one_of(tier_names()));
  add_precision_option(*command, run_options.precision);
  // Everything from the first word of the program's command line on belongs to the program. A list
  // of positional arguments would split words in brackets.
  command->prefix_command();
  command->preparse_callback([&app](std::size_t) { app.prefix_command(); });
  command->callback([&] {
    // prefix_command() takes a mistyped option for the program.
    if (const auto words = app.remaining(); !words.empty() && words.front().starts_with('-'))
      throw CLI::ExtrasError(words);
    action = [&] { return run(app.remaining(), run_options, globals); };
  });
}

}  // namespace rooftile
