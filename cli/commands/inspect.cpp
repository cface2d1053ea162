#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/command.h"
#include "cli/inspect_kernels.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "core/error.h"
#include "core/files/text_file.h"
#include "inspect/inspection.h"
#include "tuner/worker/kernel_inspector.h"

namespace rooftile {
namespace {

struct InspectArguments {
  ProblemOptions problem;
  KernelOptions kernel;
  std::string hash, assembly, output, page, label, keep, sass;
  std::vector<std::string> files;
  std::vector<std::string> given;  // options, but for FILE and --page
  bool ranked = false, space = false, priors = false, defaults = false, portfolio = false,
       json = false, details = false, given_type = false;
  std::int64_t limit = 20;
  double time_limit_s = 60;

  /// Whether an option says which kernels, so that parameters of kernels would be ignored.
  bool chooses_a_list() const { return ranked || priors || defaults || portfolio || !hash.empty(); }
};

std::vector<KernelToInspect> chosen_kernels(const DeviceProfile& device, const Globals& globals,
                                            const InspectArguments& arguments) {
  const auto most = static_cast<std::size_t>(arguments.limit);
  const ProblemOptions& problem = arguments.problem;
  const std::string types = arguments.given_type ? problem.type : "";
  if (arguments.chooses_a_list() && !arguments.kernel.settings().empty())
    fail(ErrorCode::kInvalidArgument,
         "parameters of kernels go with --list-space or with none of the options that choose "
         "kernels");
  if (!arguments.hash.empty()) return {stored_kernel(globals, arguments.hash)};
  if (arguments.ranked) {
    if (problem.m == 0 || problem.n == 0 || problem.k == 0)
      fail(ErrorCode::kInvalidArgument, "--ranked needs --m, --n and --k");
    return ranked_kernels(device, globals, problem.problem(), most);
  }
  if (arguments.space) return kernels_of_space(device, problem, arguments.kernel.settings(), most);
  if (arguments.priors) return prior_kernels(device, problem, types);
  if (arguments.portfolio) return portfolio_kernels(device, globals, problem, types);
  if (arguments.defaults) return family_default_kernels(device, problem, types);
  return {one_kernel(device, problem, arguments.kernel.settings())};
}

/// Writes to a file, or to stdout where its name is empty or "-".
void write_text(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    fmt::print("{}", text);
    return;
  }
  OutputFile file(path);
  file.write(text);
  file.commit();
}

/// Prints where the inspection is, on a terminal only.
void show_progress(std::size_t done, std::size_t all) {
  if (all > 1 && can_redraw(STDERR_FILENO))
    fmt::print(stderr, "\r{}/{} kernels{}", done, all, done == all ? "\n" : "");
}

void write_inspection(const Inspection& inspection, const InspectArguments& arguments) {
  if (!arguments.page.empty()) write_text(arguments.page, inspection_page({inspection}));
  write_text(arguments.output,
             arguments.json
                 ? inspection_json(inspection) + "\n"
                 : inspection_text(inspection,
                                   arguments.details ? Details::kForAll : Details::kForOneKernel));
}

int inspect_device(const Globals& globals, const InspectArguments& arguments) {
  const DeviceProfile device = selected_devices(globals).front();
  const std::vector<KernelToInspect> kernels = chosen_kernels(device, globals, arguments);
  if (!arguments.assembly.empty() && kernels.size() != 1)
    fail(ErrorCode::kInvalidArgument,
         "--assembly writes the assembly of one kernel, and these options choose {}",
         kernels.size());
  const std::atomic<bool>& stop = stop_on_signals();
  KernelInspector inspector(device, arguments.time_limit_s, {}, arguments.keep);
  Inspection inspection{.label = arguments.label,
                        .device = device.name,
                        .driver = fmt::format("{} {}", device.driver_name, device.driver_info),
                        .kernels = {}};
  std::string assembly;
  for (const KernelToInspect& kernel : kernels) {
    InspectedKernel inspected =
        kernel.illegal ? illegal_kernel(kernel.variant, kernel.signature, *kernel.illegal)
                       : inspector.inspect(kernel.variant, kernel.signature, stop);
    if (stop.load()) return kInterrupted;
    inspected.inspection.origin = kernel.origin;
    assembly = std::move(inspected.assembly);
    inspection.kernels.push_back(std::move(inspected.inspection));
    show_progress(inspection.kernels.size(), kernels.size());
  }
  if (!arguments.assembly.empty()) {
    if (assembly.empty())
      fail(ErrorCode::kUnsupported, "{} gives no assembly of this kernel", device.name);
    write_text(arguments.assembly, assembly);
    if (arguments.assembly == "-") return kDone;
  }
  write_inspection(inspection, arguments);
  const bool any = std::ranges::any_of(inspection.kernels, [](const KernelInspection& kernel) {
    return kernel.compilation == Compilation::kCompiled;
  });
  return any ? kDone : kFailure;
}

/// Reads what nvdisasm or cuobjdump printed.
int inspect_sass(const InspectArguments& arguments) {
  constexpr std::array<std::string_view, 5> kOutputs = {"--sass", "--json", "--details", "--output",
                                                        "--label"};
  for (const std::string& option : arguments.given)
    if (std::ranges::find(kOutputs, option) == kOutputs.end())
      fail(ErrorCode::kInvalidArgument, "--sass and {} do not go together", option);
  write_inspection({.label = arguments.label,
                    .device = "NVIDIA",
                    .driver = "SASS",
                    .kernels = {inspect_listing(arguments.sass, read_text_file(arguments.sass))}},
                   arguments);
  return kDone;
}

/// Puts what earlier runs have written as JSON, each on its device, on one page.
int merge(const InspectArguments& arguments) {
  if (arguments.page.empty())
    fail(ErrorCode::kInvalidArgument, "showing files of earlier runs needs --page");
  if (!arguments.given.empty())
    fail(ErrorCode::kInvalidArgument, "files of earlier runs and {} do not go together",
         arguments.given.front());
  std::vector<Inspection> devices;
  for (const std::string& path : arguments.files) {
    const std::string text = read_text_file(path);
    try {
      devices.push_back(parse_inspection(text));
    } catch (const Error& error) {
      fail(error.code(), "{}: {}", path, error.what());
    }
    if (devices.back().label.empty())
      devices.back().label = std::filesystem::path(path).stem().string();
  }
  write_text(arguments.page, inspection_page(devices));
  return kDone;
}

void add_choices(CLI::App& command, InspectArguments& arguments) {
  CLI::Option* const hash =
      command
          .add_option("--hash", arguments.hash,
                      "The kernel of the tuning database whose hash begins so")
          ->type_name("HEX")
          ->check(not_empty());
  CLI::Option* const ranked = command.add_flag(
      "--ranked", arguments.ranked,
      "The best kernels for --m, --n and --k: as tuned, else as predicted by the model from "
      "measured rates or from those published of the GPU, else those that the tuner tries first");
  CLI::Option* const space =
      command.add_flag("--list-space", arguments.space,
                       "Kernels of the search space with the given parameters, types and sizes");
  CLI::Option* const priors = command.add_flag(
      "--priors", arguments.priors, "The kernels that the tuner tries first on such a device");
  CLI::Option* const defaults =
      command.add_flag("--defaults", arguments.defaults,
                       "The kernel of each family that is taken where no parameters are given");
  CLI::Option* const portfolio = command.add_flag(
      "--portfolio", arguments.portfolio,
      "The portfolios of the device that are in the database; without one, the kernels with which "
      "the tuner begins a portfolio on such a device");
  const std::array choices = {hash, ranked, space, priors, defaults, portfolio};
  for (std::size_t i = 0; i < choices.size(); ++i)
    for (std::size_t j = i + 1; j < choices.size(); ++j) choices[i]->excludes(choices[j]);
  command
      .add_option("--limit", arguments.limit, "At most this many kernels of a list (default 20)")
      ->type_name("N")
      ->check(whole_number(1, 100000));
}

void add_outputs(CLI::App& command, InspectArguments& arguments) {
  command.add_flag(
      "--details", arguments.details,
      "Print all statistics and the main loop of every kernel, not only of a single one");
  command.add_flag("--json", arguments.json, "Print JSON; docs/inspect.schema.json describes it");
  add_file(command, "-o,--output", arguments.output, "Write text or JSON to this file");
  add_file(command, "--assembly", arguments.assembly,
           "Write the assembly of the kernel to this file (-: stdout, and nothing else)");
  add_file(command, "--sass", arguments.sass,
           "Compile nothing, but read this listing of a function by nvdisasm or cuobjdump -sass");
  add_file(command, "--page", arguments.page,
           "Write a page, which needs no network, to this file: of this device, or of the files");
  command
      .add_option("--label", arguments.label,
                  "A name for this device on the page and in the output (default: none)")
      ->type_name("TEXT");
  add_file(command, "--keep", arguments.keep,
           "Keep what the compiler says in this folder, and compile only kernels that it lacks");
  command
      .add_option("--time-limit", arguments.time_limit_s,
                  "Seconds that the compiler may take for a kernel (default 60)")
      ->type_name("SECONDS")
      ->check(positive_number());
}

}  // namespace

void add_inspect(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand(
      "inspect", "Show what the driver's compiler makes of kernels: registers, spills, main loop");
  command->footer(
      "Kernels are compiled but not run. docs/inspect.md describes the output.\n"
      "Examples:\n  rooftile inspect --family tiled --trans-b\n"
      "  rooftile inspect --ranked --m 4096 --n 4096 --k 4096 --type f16\n"
      "  rooftile inspect --priors --json -o gpu.json\n"
      "  rooftile inspect --page gpus.html gpu.json other-gpu.json");
  static InspectArguments arguments;
  CLI::Option* const files =
      command
          ->add_option("files", arguments.files,
                       "JSON of earlier runs, to show with --page side by side; no kernel is then "
                       "compiled")
          ->type_name("FILE");
  arguments.problem.add_to(*command, false);
  arguments.problem.add_groups_to(*command);
  command->get_option("--groups")->needs(command->get_option("--m"));
  arguments.kernel.add_to(*command);
  add_choices(*command, arguments);
  add_outputs(*command, arguments);
  command->callback([&, command, files] {
    arguments.given_type = command->count("--type") > 0;
    for (const CLI::Option* option : command->get_options({}))
      if (option != files && option->get_name() != "--page" && option->count() > 0)
        arguments.given.push_back(option->get_name());
    action = [&] {
      if (!arguments.files.empty()) return merge(arguments);
      return arguments.sass.empty() ? inspect_device(globals, arguments) : inspect_sass(arguments);
    };
  });
}

}  // namespace rooftile
