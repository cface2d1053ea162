#include "generator/emit.h"

#include <unistd.h>

#include <map>

#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/usage.h"
#include "core/error.h"
#include "generator/compile.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "runtime/device/device.h"

namespace rooftile {
namespace {

struct EmitArguments {
  std::string variant, limits = "device", spirv, pack, type = "f32", epilogue;
  std::map<std::string, std::string> values;  // of the parameters given one by one
  bool trans_a = false, trans_b = false, list_space = false;
};

DeviceLimits limits_of(const EmitArguments& arguments) {
  if (arguments.limits == "minimum") return {};
  const Enumeration found = enumerate_devices();
  if (found.devices.empty())
    fail(ErrorCode::kDevice,
         "no Vulkan device to check the kernel against; use --limits minimum ({})", found.note);
  return found.devices.front().limits;
}

int emit(const EmitArguments& arguments) {
  const DeviceLimits limits = limits_of(arguments);
  if (arguments.list_space) {
    for (const Variant& variant : legal_variants(limits)) fmt::print("{}\n", to_string(variant));
    return kDone;
  }
  Variant variant = parse_variant(arguments.variant);
  for (const auto& [parameter, value] : arguments.values)
    if (!value.empty()) set_parameter(variant, parameter, value);
  const Signature signature = {.types = parse_types(arguments.type),
                               .trans_a = arguments.trans_a ? Transpose::kYes : Transpose::kNo,
                               .trans_b = arguments.trans_b ? Transpose::kYes : Transpose::kNo,
                               .epilogue = parse_epilogue(arguments.epilogue)};
  if (const auto reason = illegal_reason(variant, limits, signature)) {
    fmt::print(stderr, "rooftile: this kernel is illegal here: {}\n", *reason);
    return kFailure;
  }
  const Shader shader =
      arguments.pack.empty()
          ? emit_gemm(variant, signature)
          : emit_pack(variant, signature, arguments.pack == "a" ? Operand::kA : Operand::kB);
  if (arguments.spirv.empty()) {
    fmt::print("{}", shader.glsl);
    return kDone;
  }
  if (arguments.spirv == "-" && ::isatty(STDOUT_FILENO) == 1)
    fail(ErrorCode::kInvalidArgument, "SPIR-V is binary; name a file or redirect the output");
  const std::vector<std::uint32_t> words = compile(shader);
  OutputFile file(arguments.spirv == "-" ? "/dev/stdout" : arguments.spirv);
  file.write(std::span<const std::uint32_t>(words));
  file.commit();
  return kDone;
}

}  // namespace

void add_emit(CLI::App& app, const Globals&, Action& action) {
  CLI::App* command =
      app.add_subcommand("emit", "Print the GLSL or SPIR-V of a kernel, or why it is illegal");
  command->footer(
      "Examples:\n  rooftile emit --family tiled --tile_m 64 --tile_n 64 --tile_k 16 --reg_m 4 "
      "--reg_n 4 --stage shared\n"
      "  rooftile emit --list-space | head");
  static EmitArguments arguments;
  command->add_option("--variant", arguments.variant,
                      "All parameters in one: \"family=tiled tile_m=64 ...\"");
  for (const std::string& parameter : parameter_names())
    command->add_option("--" + parameter, arguments.values[parameter])->group("Kernel parameters");
  command->add_flag("--trans-a", arguments.trans_a, "A is stored transposed");
  command->add_flag("--trans-b", arguments.trans_b, "B is stored transposed");
  command->add_option(
      "--type", arguments.type,
      "Of the operands (f32): f16, bf16_bf16, i8_i32, f16xq4b32_f16, ...; docs/types.md");
  command->add_option("--epilogue", arguments.epilogue, "What is fused behind the product");
  command->add_option("--pack", arguments.pack, "The pack kernel of operand a or b instead")
      ->check(one_of({"a", "b"}));
  command->add_option("--spirv", arguments.spirv,
                      "Write SPIR-V to this file (- for standard output)");
  command
      ->add_option("--limits", arguments.limits,
                   "Legality for the first device, or Vulkan's guaranteed minimum")
      ->check(one_of({"device", "minimum"}));
  command->add_flag("--list-space", arguments.list_space, "Print the variants that a tuner searches, one a line");
  command->callback([&] { action = [&] { return emit(arguments); }; });
}

}  // namespace rooftile
