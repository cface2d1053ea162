#include "inspect/inspection.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "inspect/assembly_words.h"

namespace rooftile {
namespace {

constexpr std::array<std::pair<Compilation, std::string_view>, 6> kCompilations = {{
    {Compilation::kCompiled, "done"},
    {Compilation::kIllegal, "illegal"},
    {Compilation::kRefused, "refused"},
    {Compilation::kCrashed, "crashed"},
    {Compilation::kTimedOut, "timed out"},
    {Compilation::kOutOfMemory, "out of memory"},
}};
constexpr std::array<std::pair<LoopState, std::string_view>, 4> kLoopStates = {{
    {LoopState::kFound, "found"},
    {LoopState::kNoAssembly, "no assembly"},
    {LoopState::kNotUnderstood, "not understood"},
    {LoopState::kNoWork, "no multiply-adds"},
}};

template <typename Table, typename Value>
std::string_view name_in(const Table& table, Value value) {
  for (const auto& [known, name] : table)
    if (known == value) return name;
  return "";
}
template <typename Value, typename Table>
std::optional<Value> value_in(const Table& table, std::string_view name) {
  for (const auto& [value, known] : table)
    if (known == name) return value;
  return std::nullopt;
}

}  // namespace

std::string_view name(Compilation compilation) { return name_in(kCompilations, compilation); }
std::optional<Compilation> parse_compilation(std::string_view name) {
  return value_in<Compilation>(kCompilations, name);
}
std::string_view name(LoopState state) { return name_in(kLoopStates, state); }
std::optional<LoopState> parse_loop_state(std::string_view name) {
  return value_in<LoopState>(kLoopStates, name);
}

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
