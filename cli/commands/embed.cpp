// Kernels to take along: tuned kernels as a C header, or as SPIR-V with a description.
#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <deque>
#include <filesystem>
#include <functional>

#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/usage.h"
#include "core/count_text.h"
#include "core/error.h"
#include "embed/embedding.h"
#include "runtime/device/device.h"
#include "runtime/verify/certify.h"
#include "tuner/problems/problem_sets.h"

namespace rooftile {
namespace {

struct EmbedArguments {
  std::string header, folder, set, shapes;
  std::vector<std::string> types, others;
};

EmbedFilter filter_of(const EmbedArguments& arguments) {
  EmbedFilter filter;
  for (const std::string& type : arguments.types) filter.types.push_back(parse_types(type));
  std::vector<TuneProblem> problems;
  if (!arguments.set.empty()) problems = problem_set(arguments.set);
  if (!arguments.shapes.empty()) problems = read_problem_csv(arguments.shapes);
  for (const TuneProblem& x : problems) filter.problems.push_back(x.problem);
  return filter;
}

/// The devices of a database that --device selects.
std::vector<DeviceRecord> devices_of(const Globals& globals, const Store& store) {
  std::vector<DeviceRecord> devices = store.devices();
  std::erase_if(devices, [&](const DeviceRecord& x) { return !globals.selects(x.profile); });
  return devices;
}

/// What the files say of how they were made: without folders, which concern this machine only.
std::string command_of(const Globals& globals, const EmbedArguments& arguments) {
  std::string text = "rooftile embed";
  const auto name = [](const std::string& file) {
    return std::filesystem::path(file).filename().string();
  };
  if (!globals.db.empty()) text += " --db " + name(globals.db);
  for (const std::string& other : arguments.others) text += " --with " + name(other);
  if (!globals.wanted_device().empty()) text += " --device " + globals.wanted_device();
  if (!arguments.set.empty()) text += " --set " + arguments.set;
  if (!arguments.shapes.empty()) text += " --shapes " + name(arguments.shapes);
  for (const std::string& type : arguments.types) text += " --type " + type;
  return text;
}

/// Certifies plain kernels on the first device of this machine. It is opened when it is needed.
class PlainCertifier {
 public:
  std::optional<std::string> operator()(const CandidateRecord& candidate) {
    try {
      if (!opened_) open();
      if (device_ == nullptr) return std::nullopt;
      const DeviceProfile& profile = device_->profile();
      const Signature signature = parse_signature(candidate.signature);
      const Certificate certificate = certify(
          *device_, Kernel(device_, candidate.variant, signature, ShaderCache({})), signature);
      if (!certificate.passed) fail(ErrorCode::kInternal, "{}", certificate.detail);
      return fmt::format("{} ({}): {:%Y-%m-%d}", profile.name, profile.driver_info,
                         fmt::gmtime(std::time(nullptr)));
    } catch (const Error& error) {
      fmt::print(stderr, "rooftile: the plain kernel of {} is not certified here: {}\n",
                 candidate.signature, error.what());
      if (device_ != nullptr && device_->lost()) device_ = nullptr;
      return std::nullopt;
    }
  }

 private:
  void open() {
    opened_ = true;
    const Enumeration found = enumerate_devices();
    if (!found.devices.empty()) device_ = Device::open(found.devices.front());
  }

  bool opened_ = false;
  std::shared_ptr<Device> device_;  ///< Null: there is none.
};

void write(const std::filesystem::path& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

void report(const Embedding& made, const EmbedFilter& filter) {
  for (const Types& types : filter.types)
    if (std::ranges::none_of(made.classes,
                             [&](const EmbeddedClass& x) { return x.signature.types == types; }))
      fmt::print(stderr, "rooftile: nothing of type {} is tuned\n", to_string(types));
  if (made.grouped > 0)
    fmt::print(stderr, "rooftile: {} left out, which a header does not compute\n",
               count_text(made.grouped, "grouped problem"));
  for (const LeftOut& x : made.left_out)
    fmt::print(stderr, "rooftile: {} of {} left out: {}\n", count_text(x.kernels, "kernel"),
               x.device, x.reason);
  if (made.missing > 0)
    fmt::print(stderr, "rooftile: {} of the list {} not tuned on any of the devices\n",
               count_text(made.missing, "problem"), made.missing == 1 ? "is" : "are");
  std::size_t fallbacks = 0;
  for (const EmbeddedClass& x : made.classes) fallbacks += x.facts.fallback >= 0 ? 1 : 0;
  if (fallbacks < made.classes.size())
    fmt::print(stderr,
               "rooftile: {} without a kernel for other devices, because the plain kernel of the "
               "class is certified neither in these databases nor on a device of this machine\n",
               count_text(made.classes.size() - fallbacks, "class"));
}

int embed(const Globals& globals, const EmbedArguments& arguments) {
  if (arguments.header.empty() && arguments.folder.empty())
    fail(ErrorCode::kInvalidArgument, "rooftile embed needs -o FILE or --spirv-dir FOLDER");
  const EmbedFilter filter = filter_of(arguments);
  std::deque<Store> stores;
  const std::filesystem::path own = globals.database();
  if (arguments.others.empty() || !globals.db.empty() || database_exists(own))
    stores.emplace_back(own, OpenMode::kReadOnly);
  for (const std::string& other : arguments.others) {
    std::error_code missing;
    const auto is_read = [&](const Store& store) {
      return std::filesystem::equivalent(other, store.path(), missing);
    };
    if (std::ranges::any_of(stores, is_read)) continue;
    stores.emplace_back(
        other, StoreOptions{.mode = OpenMode::kReadOnly, .foreign = true, .named = " with --with"});
  }
  std::vector<EmbedSource> sources;
  for (const Store& store : stores) sources.push_back({&store, devices_of(globals, store)});
  if (std::ranges::all_of(sources, [](const EmbedSource& x) { return x.devices.empty(); }))
    fail(ErrorCode::kUnsupported, "no device in these databases{}", globals.matching());
  PlainCertifier certifier;
  const Embedding made = make_embedding(sources, filter, std::ref(certifier));
  const std::string command = command_of(globals, arguments);
  const std::string what =
      fmt::format("{} of {} for {}, {} kB of SPIR-V", count_text(made.kernels.size(), "kernel"),
                  count_text(made.classes.size(), "class"),
                  count_text(made.devices.size(), "device"), (made.spirv_bytes() + 999) / 1000);
  if (arguments.header == "-") {
    fmt::print("{}", c_header(made, command));
  } else if (!arguments.header.empty()) {
    write(arguments.header, c_header(made, command));
    fmt::print("{}: {}\n", arguments.header, what);
  }
  if (!arguments.folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(arguments.folder, failed);
    if (failed) fail(ErrorCode::kIo, "{} cannot be made: {}", arguments.folder, failed.message());
    const std::vector<SpirvFile> files = spirv_files(made, command);
    for (const SpirvFile& file : files)
      write(std::filesystem::path(arguments.folder) / file.name, file.bytes);
    fmt::print(arguments.header == "-" ? stderr : stdout, "{}: {}, in {}\n", arguments.folder, what,
               count_text(files.size(), "file"));
  }
  report(made, filter);
  return kDone;
}

}  // namespace

void add_embed(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand(
      "embed", "Write tuned kernels as a C header that needs nothing but Vulkan");
  static EmbedArguments arguments;
  add_file(*command, "-o,--output", arguments.header, "The header (-: stdout)");
  add_file(*command, "--spirv-dir", arguments.folder,
           "Write the same as SPIR-V files and kernels.json, for other languages")
      ->type_name("FOLDER");
  CLI::Option* const set =
      command
          ->add_option("--set", arguments.set,
                       "Only the problems of this set that are tuned (default: all that are tuned)")
          ->type_name("NAME")
          ->check(one_of(problem_set_names()));
  add_file(*command, "--shapes", arguments.shapes,
           "Only the problems of this CSV file, as for tune")
      ->excludes(set);
  command
      ->add_option("--type", arguments.types,
                   "Only these types, such as f32 or f16_f16; may be given several times")
      ->type_name("TYPE");
  command
      ->add_option("--with", arguments.others,
                   "Also the devices of this tuning database: another machine's own, or an export; "
                   "may be given several times")
      ->type_name("FILE");
  command->footer(
      "Only certified kernels are taken. On devices that are not in the header, programs run\n"
      "the plain kernel of a class; if no database has its certificate, it is certified now,\n"
      "on the first device of this machine. --device selects the devices.\n"
      "Examples:\n  rooftile embed -o gemm_kernels.h\n"
      "  rooftile embed -o gemm_kernels.h --set llm --device H200\n"
      "  rooftile embed -o gemm_kernels.h --db laptop.db --with workstation.db --type f32\n"
      "  rooftile embed --spirv-dir kernels --type f16_f16");
  command->callback([&] { action = [&] { return embed(globals, arguments); }; });
}

}  // namespace rooftile
