#include "inspect/inspection.h"

#include <algorithm>
#include <utility>

#include "core/enum_words.h"
#include "core/error.h"
#include "inspect/assembly_words.h"

namespace rooftile {
namespace {

constexpr EnumWords<Compilation::kOutOfMemory> kCompilations = {
    "done", "illegal", "refused", "crashed", "timed out", "out of memory"};
constexpr EnumWords<LoopState::kNoWork> kLoopStates = {"found", "no assembly", "not understood",
                                                       "no multiply-adds"};

}  // namespace

std::string_view name(Compilation compilation) { return kCompilations[compilation]; }
std::optional<Compilation> parse_compilation(std::string_view name) {
  return kCompilations.find(name);
}
std::string_view name(LoopState state) { return kLoopStates[state]; }
std::optional<LoopState> parse_loop_state(std::string_view name) { return kLoopStates.find(name); }

const CompiledExecutable* running_executable(const std::vector<CompiledExecutable>& executables,
                                             std::uint32_t subgroup_size) {
  const CompiledExecutable* best = nullptr;
  for (const CompiledExecutable& executable : executables) {
    if (subgroup_size != 0 && executable.subgroup_size == subgroup_size) return &executable;
    if (best == nullptr || executable.subgroup_size > best->subgroup_size) best = &executable;
  }
  return best;
}

void read_executable(KernelInspection& kernel, const CompiledExecutable* executable,
                     std::optional<AssemblySyntax> syntax, IntegerProducts integer_products) {
  kernel.loop_state = LoopState::kNoAssembly;
  if (executable == nullptr) return;
  kernel.subgroup_size = executable->subgroup_size;
  kernel.facts = compiler_facts(executable->statistics);
  const CompilerText* assembly = assembly_of(*executable);
  if (assembly == nullptr) return;
  if (!syntax) {
    kernel.loop_state = LoopState::kNotUnderstood;
    kernel.loop_message = "no parser reads the assembly of this driver";
    return;
  }
  try {
    const Program program = parse_assembly(
        *syntax, assembly->text,
        {.subgroup_size = executable->subgroup_size, .integer_products = integer_products});
    kernel.main_loop = main_loop(program);
    kernel.loop_state = kernel.main_loop ? LoopState::kFound : LoopState::kNoWork;
  } catch (const Error& error) {
    kernel.loop_state = LoopState::kNotUnderstood;
    kernel.loop_message = error.what();
  }
}

KernelInspection inspect_listing(std::string name, std::string listing) {
  CompiledExecutable function{.name = name,
                              .description = {},
                              .subgroup_size = 32,
                              .statistics = {},
                              .texts = {{"assembly", "", std::move(listing)}}};
  constexpr std::string_view kRegisters = "SHI_REGISTERS=";
  std::string_view rest = function.texts.front().text;
  if (const std::size_t at = rest.find(kRegisters); at != std::string_view::npos) {
    rest.remove_prefix(at + kRegisters.size());
    if (const auto registers = take_number(rest))
      function.statistics.push_back({"", "Register Count", "", std::int64_t{*registers}});
  }
  KernelInspection kernel{.kernel = name,
                          .short_name = std::move(name),
                          .signature = "-",
                          .origin = "a listing of SASS"};
  read_executable(kernel, &function, AssemblySyntax::kSass, IntegerProducts::kAreAddresses);
  if (!kernel.main_loop)
    fail(ErrorCode::kUnsupported, "{}: {}", kernel.kernel,
         kernel.loop_state == LoopState::kNoWork ? "no loop of the listing has multiply-adds"
                                                 : kernel.loop_message);
  return kernel;
}

bool uses_memory_for_registers(const CompilerFacts& facts) {
  return facts.spilled_registers.value_or(0) > 0 || facts.spill_stores.value_or(0) > 0 ||
         facts.scratch_bytes.value_or(0) > 0;
}

}  // namespace rooftile
