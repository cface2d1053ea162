#include "generator/emit.h"

#include <unistd.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/kernel_options.h"
#include "cli/output_file.h"
#include "cli/usage.h"
#include "cli/wgsl.h"
#include "core/error.h"
#include "formats/result_json.h"
#include "generator/compile.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "generator/web/adapter.h"

namespace rooftile {
namespace {

struct EmitArguments {
  ProblemOptions problem;
  KernelOptions kernel;
  std::string limits = "device", spirv, pack, target = "vulkan";
  bool list_space = false, json = false;

  bool wgsl() const { return target == "wgsl"; }
};

// Lanes of the subgroups that WGSL is emitted for where the kernel does not say: those of most
// discrete GPUs.
constexpr std::uint32_t kWebLanes = 32;

/// Returns WebGPU's guaranteed minimum (--limits minimum), or an adapter with all optional
/// features. Its subgroups have as many lanes as the kernel's.
DeviceProfile web_target(const Globals& globals, const EmitArguments& arguments) {
  if (!globals.device.empty())
    fail(ErrorCode::kInvalidArgument,
         "--target wgsl is for any adapter of WebGPU, not for --device {}", globals.device);
  if (arguments.limits == "minimum")
    return {.name = "WebGPU's guaranteed minimum", .limits = webgpu_limits({})};
  const int lanes = with_settings({}, arguments.kernel.settings()).subgroup_size;
  const std::uint32_t size = lanes > 0 ? static_cast<std::uint32_t>(lanes) : kWebLanes;
  return {.name = "WebGPU with its optional features",
          .limits = webgpu_limits({.shader_f16 = true,
                                   .subgroups = true,
                                   .subgroup_min_size = size,
                                   .subgroup_max_size = size,
                                   .packed_4x8_integer_dot_product = true})};
}

/// The device, or one without features that is named after the standard's guarantees.
DeviceProfile target_of(const Globals& globals, const EmitArguments& arguments) {
  if (arguments.wgsl()) return web_target(globals, arguments);
  if (arguments.limits == "minimum") {
    if (!globals.device.empty())
      fail(ErrorCode::kInvalidArgument,
           "--limits minimum checks against Vulkan's guarantees, not against --device {}",
           globals.device);
    return {.name = "Vulkan's guaranteed minimum"};
  }
  try {
    return selected_devices(globals).front();
  } catch (const Error& error) {
    fail(error.code(), "{}; --limits minimum needs no device", error.what());
  }
}

int list_space(const DeviceProfile& target, const ParameterSettings& settings,
               const ProblemOptions& problem, bool json) {
  const std::vector<Variant> kernels = kernels_with(settings, target, problem);
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Variant& v : kernels)
      list.push_back({{"variant", to_string(v)}, {"parameters", configuration_json(v)}});
    print_json({{"target", target.name}, {"kernels", std::move(list)}});
    return kDone;
  }
  for (const Variant& v : kernels) fmt::print("{}\n", to_string(v));
  return kDone;
}

void write_spirv(const Shader& shader, const std::string& path) {
  if (path == "-" && ::isatty(STDOUT_FILENO) == 1)
    fail(ErrorCode::kInvalidArgument, "SPIR-V is binary; name a file or redirect the output");
  const std::vector<std::uint32_t> words = compile(shader);
  if (path == "-") {  // The caller checks the standard output.
    std::fwrite(words.data(), sizeof(std::uint32_t), words.size(), stdout);
    return;
  }
  OutputFile file(path);
  file.write(std::span<const std::uint32_t>(words));
  file.commit();
}

int emit(const Globals& globals, const EmitArguments& arguments) {
  if (arguments.wgsl() && arguments.problem.groups > 0)
    fail(ErrorCode::kUnsupported, "kernels of grouped products are for Vulkan; leave --groups out");
  const DeviceProfile target = target_of(globals, arguments);
  const ParameterSettings settings = arguments.kernel.settings();
  if (arguments.list_space) return list_space(target, settings, arguments.problem, arguments.json);
  const auto [variant, reason] = chosen_kernel(target, arguments.problem, settings);
  if (reason) {
    fmt::print(stderr, "rooftile: this kernel is illegal here: {}\n", *reason);
    return kFailure;
  }
  const Signature signature = signature_of(arguments.problem.problem());
  if (const auto skipped = skip_reason(variant, target, signature);
      skipped && arguments.pack.empty())
    fmt::print(stderr, "rooftile: the tuner does not try this kernel: {}\n", *skipped);
  const Dialect dialect = arguments.wgsl() ? Dialect::kWeb : Dialect::kVulkan;
  const Operand packed = arguments.pack == "a" ? Operand::kA : Operand::kB;
  const Shader shader = arguments.pack.empty() ? emit_gemm(variant, signature, dialect)
                                               : emit_pack(variant, signature, packed, dialect);
  if (!arguments.spirv.empty())
    write_spirv(shader, arguments.spirv);
  else
    fmt::print("{}", arguments.wgsl() ? wgsl_of(shader) : shader.glsl);
  return kDone;
}

}  // namespace

void add_emit(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand(
      "emit", "Print the GLSL, SPIR-V or WGSL of a kernel, or why it is illegal");
  command->footer(
      "Without a family, the kernel is the one that the device gets for the problem\n"
      "before anything is tuned (a large one where no sizes are given). Parameters\n"
      "that are left out get values that are legal for the device, the types and the\n"
      "rest.\n"
      "Examples:\n  rooftile emit --m 1 --n 4096 --k 4096 --type f16 --trans-b\n"
      "  rooftile emit --family tiled\n"
      "  rooftile emit --family vector --type f16xq4b32_f16 --epilogue bias_column+relu\n"
      "  rooftile emit --groups 64 --m 4096 --n 1024 --k 2048\n"
      "  rooftile emit --list-space --family register --type i8_i32 --trans-b | head\n"
      "  rooftile emit --variant \"family=tiled tile_m=32\" --spirv kernel.spv\n"
      "  rooftile emit --target wgsl --family tiled --type f16");
  static EmitArguments arguments;
  arguments.problem.add_to(*command, false);
  arguments.problem.add_groups_to(*command);
  command->get_option("--groups")->needs(command->get_option("--m"));
  arguments.kernel.add_to(*command);
  CLI::Option* const pack =
      command
          ->add_option("--pack", arguments.pack, "Print the kernel that packs this operand instead")
          ->type_name("OPERAND")
          ->check(one_of({"a", "b"}));
  CLI::Option* const spirv = add_file(
      *command, "--spirv", arguments.spirv,
      "Write SPIR-V to this file (-: stdout); with --target wgsl that which WGSL is made of");
  command
      ->add_option(
          "--limits", arguments.limits,
          "Limits that make a kernel legal: those of the device (the first of several; for wgsl "
          "an adapter with all features), or what the standard guarantees (default device)")
      ->type_name("LIMITS")
      ->check(one_of({"device", "minimum"}));
  command
      ->add_option("--target", arguments.target,
                   "vulkan: GLSL for Vulkan (default); wgsl: WGSL for WebGPU, which node makes "
                   "with what scripts/web-tools installs")
      ->type_name("TARGET")
      ->check(one_of({"vulkan", "wgsl"}));
  CLI::Option* const list =
      command
          ->add_flag(
              "--list-space", arguments.list_space,
              "Print the kernels that `rooftile tune` chooses from, one a line: those that are "
              "legal and have the given parameters, types, transposes, epilogue and sizes; those "
              "with atomic additions only with `rooftile tune --atomics`. It adds split-K "
              "kernels in as many parts of k as fill the device")
          ->excludes(pack)
          ->excludes(spirv);
  add_json(*command, arguments.json)->needs(list);
  command->callback([&] { action = [&] { return emit(globals, arguments); }; });
}

}  // namespace rooftile
