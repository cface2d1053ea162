// What is known of kernels that a driver's compiler has compiled: its statistics, and the main loop
// of its assembly. All functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/compiled_executable.h"
#include "core/device_profile.h"
#include "inspect/assembly.h"
#include "inspect/main_loop.h"

namespace rooftile {

/// What became of the compilation of a kernel.
enum class Compilation : std::uint8_t {
  kCompiled,
  kIllegal,      // a rule forbids the kernel on the device or for its types
  kRefused,      // the driver reports an error
  kCrashed,      // the driver's compiler ended its process
  kTimedOut,     // the compiler did not end in time
  kOutOfMemory,  // the compiler needed more memory than it may have
};
std::string_view name(Compilation compilation);  // "done", "illegal", "refused", ...
std::optional<Compilation> parse_compilation(std::string_view name);

/// Why there is no main loop.
enum class LoopState : std::uint8_t {
  kFound,
  kNoAssembly,     // the driver gives none
  kNotUnderstood,  // the driver's assembly has no parser, or the parser refuses it
  kNoWork,         // no loop has multiply-adds
};
std::string_view name(LoopState state);  // "found", "no assembly", ...
std::optional<LoopState> parse_loop_state(std::string_view name);

struct KernelInspection {
  std::string kernel;      // all parameters, as parse_variant reads them
  std::string short_name;  // for a table
  std::string signature;   // types, transposes and epilogue: "f16.nt"
  std::string origin;  // why it is inspected: "default", "prior ...", "rank 1 of ..."; may be empty

  Compilation compilation = Compilation::kCompiled;
  std::string message;  // of a compilation that is not done
  // From here on empty unless the compilation is done.
  std::uint32_t subgroup_size = 0;  // 0: not known
  CompilerFacts facts;
  LoopState loop_state = LoopState::kNoAssembly;
  std::string loop_message;  // of kNotUnderstood
  std::optional<MainLoop> main_loop;

  bool operator==(const KernelInspection&) const = default;
};

/// The kernels of one device, in the order in which they were asked for.
struct Inspection {
  std::string label;   // tells devices of one name apart on a page; may be empty
  std::string device;  // name, as the driver gives it
  std::string driver;  // name and version
  std::vector<KernelInspection> kernels;

  bool operator==(const Inspection&) const = default;
};

/// The executable that runs: that of the subgroup size, which is 0 where none is required, else the
/// one with the largest subgroups. Null where there is none.
const CompiledExecutable* running_executable(const std::vector<CompiledExecutable>& executables,
                                             std::uint32_t subgroup_size);

/// Reads the statistics and the assembly of that executable into the members of `kernel` that
/// depend on them.
void read_executable(KernelInspection& kernel, const CompiledExecutable* executable,
                     std::optional<AssemblySyntax> syntax, IntegerProducts integer_products);

/// The inspection of a function of SASS, as nvdisasm or cuobjdump prints it: its main loop, and its
/// registers where they are told. Throws kUnsupported for what has none, or is not understood.
KernelInspection inspect_listing(std::string name, std::string listing);

/// Whether the compiler keeps values in memory: spilled registers, or scratch memory of any kind.
bool uses_memory_for_registers(const CompilerFacts& facts);

/// A table of all kernels, and below it the main loop of each in detail if there is only one, or if
/// details are asked for.
enum class Details : bool { kForOneKernel, kForAll };
std::string inspection_text(const Inspection& inspection, Details details);

/// docs/inspect.schema.json describes it.
std::string inspection_json(const Inspection& inspection);
/// Throws kUnsupported for text that inspection_json() has not written, and for a newer version.
Inspection parse_inspection(std::string_view json);

/// A page that needs no network, with a column for each device and a row for each kernel.
std::string inspection_page(const std::vector<Inspection>& devices);

}  // namespace rooftile
