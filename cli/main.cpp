#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <system_error>
#include <tuple>

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/usage.h"
#include "core/error.h"
#include "core/groups.h"
#include "db/store.h"
#include "runtime/dispatch/context.h"
#include "runtime/dispatch/environment.h"
#include "runtime/host/host_advice.h"
#include "runtime/host/host_blas.h"
#include "runtime/tuned/wanted_device.h"

namespace rooftile {

std::filesystem::path Globals::database() const {
  return db.empty() ? default_database_path() : std::filesystem::path(db);
}

std::string Globals::wanted_device() const {
  return device.empty() ? environment("ROOFTILE_DEVICE") : device;
}

bool Globals::selects(const DeviceProfile& profile) const {
  return is_wanted(profile, wanted_device());
}

std::string Globals::matching() const {
  const std::string wanted = wanted_device();
  return wanted.empty() ? "" : fmt::format(" that matches '{}'", wanted);
}

void ProblemOptions::add_to(CLI::App& command, bool required) {
  for (const auto& [option, value, what] :
       {std::tuple("--m", &m, "Rows of op(A) and of C"),
        std::tuple("--n", &n, "Columns of op(B) and of C"),
        std::tuple("--k", &k, "Columns of op(A), which are the rows of op(B)")})
    command.add_option(option, *value, what)
        ->required(required)
        ->type_name("N")
        ->check(whole_number(1, std::int64_t{1} << 40));
  add_class_to(command);
}

void ProblemOptions::add_class_to(CLI::App& command) {
  command.add_flag("--trans-a", trans_a, "A is stored transposed (k x m)");
  command.add_flag("--trans-b", trans_b, "B is stored transposed (n x k)");
  command.add_option("--batch", batch, "Number of GEMMs of these sizes (default 1)")
      ->type_name("N")
      ->check(whole_number(1, std::int64_t{1} << 31));
  command
      .add_option("--type", type,
                  "Types of A, B and C as one word (default f32): f16, bf16_bf16, i8_i32, "
                  "f16xq4b32_f16, ...; docs/types.md has all")
      ->type_name("TYPES");
  command
      .add_option("--epilogue", epilogue,
                  "Steps that the kernel computes after the multiplication, such as "
                  "bias_column+gelu_erf+residual (default: none)")
      ->type_name("STEPS");
}

void ProblemOptions::add_groups_to(CLI::App& command) {
  command
      .add_option("--groups", groups,
                  "The m rows are in so many groups, each multiplied with the B of its expert; "
                  "docs/grouped.md")
      ->type_name("N")
      ->check(whole_number(1, kMostTunedGroups));
  command.add_option("--experts", experts, "Number of matrices B (default: one for each group)")
      ->type_name("N")
      ->check(whole_number(1, kMostTunedGroups));
  command
      .add_option("--skew", skew,
                  "Rows of the largest group over those of a mean one (default 1: rows choose "
                  "groups at random)")
      ->type_name("X")
      ->check(finite_number())
      ->check(CLI::Validator(
          [](const std::string& text) {
            return std::strtod(text.c_str(), nullptr) < 1 ? fmt::format("'{}' is less than 1", text)
                                                          : std::string();
          },
          ""));
  for (const char* option : {"--experts", "--skew"})
    command.get_option(option)->needs(command.get_option("--groups"));
  for (const char* option : {"--trans-a", "--batch"})
    command.get_option("--groups")->excludes(command.get_option(option));
}

Problem ProblemOptions::problem() const {
  Problem p = packed_problem(m, n, k, trans_a ? Transpose::kYes : Transpose::kNo,
                             trans_b ? Transpose::kYes : Transpose::kNo, batch);
  if (groups > 0) p = typical_problem(p, groups, experts, skew);
  p = retyped(p, parse_types(type));
  p.epilogue = parse_epilogue(epilogue);
  validate(p);
  return p;
}

std::vector<DeviceRecord> selected_records(const Globals& globals, const Store& store) {
  std::vector<DeviceRecord> devices = store.devices();
  const std::size_t all = devices.size();
  std::erase_if(devices, [&](const DeviceRecord& d) { return !globals.selects(d.profile); });
  if (devices.empty() && all > 0)
    fail(ErrorCode::kUnsupported, "{} knows no device{}; `rooftile db stats` lists its {}",
         store.path().string(), globals.matching(), all);
  return devices;
}

CLI::Option* add_devices_option(CLI::App& command, std::string& devices) {
  return command
      .add_option(
          "--devices", devices,
          "one: the device or the host; all: all tuned devices and the host at the same "
          "time where that is predicted to be faster (default: $ROOFTILE_DEVICES, else one)")
      ->type_name("WHICH")
      ->check(one_of({devices_names().begin(), devices_names().end()}));
}

CLI::Option* add_precision_option(CLI::App& command, std::string& precision) {
  return command
      .add_option(
          "--precision", precision,
          "Accuracy of results in single precision (default: $ROOFTILE_PRECISION, else standard)")
      ->type_name("NAME")
      ->check(one_of({precision_names().begin(), precision_names().end()}));
}

std::optional<Precision> asked_precision(const std::string& precision) {
  return precision.empty() ? std::nullopt : std::optional(parse_precision(precision));
}

std::vector<std::string> tier_names() {
  return {tier_choice_names().begin(), tier_choice_names().end()};
}

void print_host_advice() try {
  const std::string advice = host_advice(HostBlas::get().core_name(), vector_unit());
  if (!advice.empty()) fmt::print(stderr, "rooftile: {}\n", advice);
} catch (const Error&) {
  // Without a BLAS there is nothing to advise on. One that was asked for is missed at the start.
  if (!environment("ROOFTILE_BLAS").empty()) throw;
}

namespace {

int run(int argc, char** argv) {
  CLI::App app(
      "Rooftile: autotuned matrix multiplication on any Vulkan device.\n"
      "Run `rooftile tune` once per machine, then link librooftile or query the database.");
  app.name("rooftile");
  app.set_version_flag("--version", ROOFTILE_VERSION, "Print the version");
  app.formatter(std::make_shared<HelpText>());
  app.set_help_flag("-h,--help", "Print this help");
  app.require_subcommand(1);
  app.fallthrough();
  Globals globals;
  add_file(app, "--db", globals.db,
           "Tuning database (default: $ROOFTILE_DB, else rooftile/rooftile.db in the user's data "
           "folder)");
  app.add_option("--device", globals.device,
                 "Only devices whose name or UUID contains this text (default: $ROOFTILE_DEVICE, "
                 "else any)");
  app.footer(
      "`rooftile help <command>` shows the options of a command.\n"
      "Exit codes: 0 done; 1 it could not be done, because of a file, a device or the\n"
      "database; 2 the command line or an environment variable is wrong;\n"
      "130 interrupted.");
  Action action;
  add_devices(app, globals, action);
  add_calibrate(app, globals, action);
  add_tune(app, globals, action);
  add_report(app, globals, action);
  add_explain(app, globals, action);
  add_gemm(app, globals, action);
  add_quantize(app, action);
  add_gguf(app, action);
  add_run(app, globals, action);
  add_embed(app, globals, action);
  add_emit(app, globals, action);
  add_inspect(app, globals, action);
  add_db(app, globals, action);
  add_query(app, globals, action);
  add_web(app, globals, action);
  add_help(app, action);
  add_worker(app, action);
  add_manual(app, action);
  // Words of an unfinished command line are not for the parser.
  if (argc > 2 && std::string_view(argv[1]) == "complete") {
    print(complete(app, globals, {argv + 2, argv + argc}));
    return kDone;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "rooftile: {}\n", usage_message(app, error));
    return kUsage;
  }
  check_environment();
  // A worker is ended by its tuner, which reports the signal of any other death.
  if (!app.got_subcommand("worker")) clean_up_at_signals();
  return action();
}

/// Opens /dev/null for standard streams that are closed. Otherwise a file that a command opens
/// could get their number, and printed text would go into it. As in the C library for set-user-ID
/// programs, the replacement can neither be read from stdin nor be written through stdout and
/// stderr.
void fill_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)
      std::ignore = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// A command whose output is lost fails, even if everything else succeeded.
int checked_output(int code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return code;
  fail(ErrorCode::kIo, "cannot write to standard output: {}", std::strerror(errno));
}

int report(const char* what, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "rooftile: %s\n", what);
  return code;
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) {
  rooftile::fill_standard_streams();
  try {
    return rooftile::checked_output(rooftile::run(argc, argv));
  } catch (const rooftile::Error& error) {
    return rooftile::report(error.what(), error.code() == rooftile::ErrorCode::kInvalidArgument
                                              ? rooftile::kUsage
                                              : rooftile::kFailure);
  } catch (const std::system_error& error) {  // fmt::print throws it without the file's name.
    const std::string lost = "cannot write to standard output: " + error.code().message();
    return rooftile::report(std::ferror(stdout) != 0 ? lost.c_str() : error.what(),
                            rooftile::kFailure);
  } catch (const std::bad_alloc&) {
    return rooftile::report("out of memory", rooftile::kFailure);
  } catch (const std::exception& error) {
    return rooftile::report(error.what(), rooftile::kFailure);
  }
}
