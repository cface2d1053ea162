#include "generator/emit.h"

#include <unistd.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/kernel_options.h"
#include "cli/output_file.h"
#include "cli/usage.h"
#include "core/error.h"
#include "generator/compile.h"
#include "generator/rules.h"
#include "generator/space.h"

namespace rooftile {
namespace {

struct EmitArguments {
  ProblemOptions problem;
  KernelOptions kernel;
  std::string limits = "device", spirv, pack;
  bool list_space = false;
};

/// The limits to check against, and the name of the device or standard that has them.
struct Target {
  std::string name;
  DeviceLimits limits;
};

Target target_of(const Globals& globals, const EmitArguments& arguments) {
  if (arguments.limits == "minimum") {
    if (!globals.device.empty())
      fail(ErrorCode::kInvalidArgument,
           "--limits minimum checks against Vulkan's guarantees, not against --device {}",
           globals.device);
    return {"Vulkan's guaranteed minimum", {}};
  }
  try {
    const DeviceProfile device = selected_devices(globals).front();
    return {device.name, device.limits};
  } catch (const Error& error) {
    fail(error.code(), "{}; --limits minimum needs no device", error.what());
  }
}

int list_space(const Target& target, const ParameterSettings& settings, const Legality& illegal) {
  for (const Variant& v : kernels_with(settings, target.limits, illegal, target.name))
    fmt::print("{}\n", to_string(v));
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
  const Target target = target_of(globals, arguments);
  const Legality illegal = legality_for(target.limits, arguments.problem);
  const ParameterSettings settings = arguments.kernel.settings();
  if (arguments.list_space) return list_space(target, settings, illegal);
  const Family family = with_settings({}, settings).family;
  const auto [variant, reason] =
      complete(family, settings, target.limits, legal_variants(target.limits), illegal);
  if (reason) {
    fmt::print(stderr, "rooftile: this kernel is illegal here: {}\n", *reason);
    return kFailure;
  }
  const Signature signature = signature_of(arguments.problem.problem());
  const Shader shader =
      arguments.pack.empty()
          ? emit_gemm(variant, signature)
          : emit_pack(variant, signature, arguments.pack == "a" ? Operand::kA : Operand::kB);
  if (arguments.spirv.empty())
    fmt::print("{}", shader.glsl);
  else
    write_spirv(shader, arguments.spirv);
  return kDone;
}

}  // namespace

void add_emit(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command =
      app.add_subcommand("emit", "Print the GLSL or SPIR-V of a kernel, or why it is illegal");
  command->footer(
      "The family is naive unless it is given. Parameters that are left out get values\n"
      "that are legal for the device, the types and the rest.\n"
      "Examples:\n  rooftile emit --family tiled\n"
      "  rooftile emit --family vector --type f16xq4b32_f16 --epilogue bias_column+relu\n"
      "  rooftile emit --list-space --family register --type i8_i32 --trans-b | head\n"
      "  rooftile emit --variant \"family=tiled tile_m=32\" --spirv kernel.spv");
  static EmitArguments arguments;
  arguments.problem.add_to(*command, false);
  arguments.kernel.add_to(*command);
  CLI::Option* const pack =
      command
          ->add_option("--pack", arguments.pack, "Print the kernel that packs this operand instead")
          ->type_name("OPERAND")
          ->check(one_of({"a", "b"}));
  CLI::Option* const spirv =
      add_file(*command, "--spirv", arguments.spirv, "Write SPIR-V to this file (-: stdout)");
  command
      ->add_option(
          "--limits", arguments.limits,
          "Limits that make a kernel legal: those of the device (the first of several), or "
          "Vulkan's guaranteed minimum (default device)")
      ->type_name("LIMITS")
      ->check(one_of({"device", "minimum"}));
  command
      ->add_flag(
          "--list-space", arguments.list_space,
          "Print the kernels that `rooftile tune` chooses from, one a line: those that are "
          "legal and have the given parameters, types, transposes, epilogue and sizes; those "
          "with atomic additions only with `rooftile tune --atomics`")
      ->excludes(pack)
      ->excludes(spirv);
  command->callback([&] { action = [&] { return emit(globals, arguments); }; });
}

}  // namespace rooftile
