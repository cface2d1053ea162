#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/explanation.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "core/error.h"

namespace rooftile {
namespace {

struct ExplainArguments {
  ProblemOptions product;
  std::string operation;
  std::int64_t elements = 0;
  bool table = false, json = false;
  std::string resident, packed, tier = "auto", devices, precision;
};

/// "a,c"; for an operation a is what it reads and c what it writes.
Residencies parse_residencies(const std::string& text) {
  Residencies where;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string operand = text.substr(begin, comma - begin);
    if (operand == "a")
      where.a = Residency::kDevice;
    else if (operand == "b")
      where.b = Residency::kDevice;
    else if (operand == "c")
      where.c = Residency::kDevice;
    else
      fail(ErrorCode::kInvalidArgument,
           "--resident is '{}'; it names operands on the device, such as a,b,c", text);
    begin = comma + 1;
  }
  return where;
}

/// Marks operand "a" or "b" in where.
void add_packed(Residencies& where, const std::string& packed) {
  if (packed.empty()) return;
  Residency& operand = packed == "a" ? where.a : where.b;
  if (operand == Residency::kDevice)
    fail(ErrorCode::kInvalidArgument,
         "{} is in --resident and in --packed; a packed operand lies on the device", packed);
  operand = Residency::kPacked;
}

template <typename Explained>
int print(const Explained& explained, bool json) {
  if (json)
    fmt::print("{}\n",
               json_of(explained).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    print_lines(text_of(explained));
  return kDone;
}

int explain(const Globals& globals, const ExplainArguments& arguments) {
  Residencies where = parse_residencies(arguments.resident);
  add_packed(where, arguments.packed);
  const TierChoice tier = parse_tier_choice(arguments.tier);
  const ProblemOptions& sizes = arguments.product;
  const bool operation = !arguments.operation.empty();
  if (operation && where.b == Residency::kDevice)
    fail(ErrorCode::kInvalidArgument,
         "--resident is '{}'; an operation has a, what it reads, and c, what it writes",
         arguments.resident);
  if (!arguments.table && !operation && (sizes.m == 0 || sizes.n == 0 || sizes.k == 0))
    fail(ErrorCode::kInvalidArgument,
         "nothing to explain: give --m, --n and --k of a GEMM, --operation and --elements of an "
         "element-wise operation or reduction, or --table");
  SizedOperation work;
  Problem product;
  if (operation)
    work = {.kind = &parse_operation(arguments.operation),
            .elements = static_cast<double>(arguments.elements),
            .type = parse_data_type(sizes.type)};
  else if (!arguments.table)
    product = sizes.problem();
  // The explanation of a call that is forced to the device says which one is missing.
  const Context context({.database = globals.db,
                         .device = globals.device,
                         .needs_device = !globals.device.empty() && tier != TierChoice::kDevice,
                         .tier = asked_for(tier),
                         .precision = asked_precision(arguments.precision)});
  if (arguments.table) return print(explain_table(context, where), arguments.json);
  return operation
             ? print(explain_operation(context, work, where), arguments.json)
             : print(explain_product(context, product, tier, where, asked_for(arguments.devices)),
                     arguments.json);
}

}  // namespace

void add_explain(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand("explain", "Explain where a GEMM would run, and why");
  command->footer(
      "Rooftile runs only GEMMs. For operations and the table it predicts where such a\n"
      "kernel would pay off. docs/explain.md describes the output.\n"
      "The line of gpu_class also names how the operands get to the device: staged,\n"
      "copied by it, or used in place (docs/memory.md).\n"
      "Examples:\n  rooftile explain --m 1024 --n 1024 --k 1024\n"
      "  rooftile explain --operation relu --elements 1000000 --resident a,c\n"
      "  rooftile explain --m 1 --n 4096 --k 4096 --packed b\n"
      "  rooftile explain --groups 64 --m 4096 --n 1024 --k 2048 --resident a,b,c\n"
      "  rooftile explain --table");
  static ExplainArguments arguments;
  arguments.product.add_to(*command, false);
  arguments.product.add_groups_to(*command);
  std::string operations;
  for (const OperationKind& kind : operation_kinds())
    operations += fmt::format("{}{}", operations.empty() ? "" : ", ", kind.name);
  CLI::Option* operation =
      command
          ->add_option("--operation", arguments.operation,
                       "Explain this operation instead of a GEMM: " + operations)
          ->type_name("NAME");
  CLI::Option* elements =
      command->add_option("--elements", arguments.elements, "Number of elements of --operation")
          ->type_name("N")
          ->check(whole_number(1, std::int64_t{1} << 50));
  CLI::Option* table =
      command->add_flag("--table", arguments.table,
                        "Show a published comparison of GEMMs with memory-bound operations");
  command
      ->add_option("--resident", arguments.resident,
                   "Operands that lie on the device, such as a,b,c (default: none)")
      ->type_name("OPERANDS");
  CLI::Option* packed =
      command
          ->add_option("--packed", arguments.packed,
                       "The operand that was packed before the call (packed.h): the time to "
                       "transfer and pack it is not counted, and the host reads the original")
          ->type_name("OPERAND")
          ->check(one_of({"a", "b"}))
          ->excludes("--groups");
  CLI::Option* tier = command
                          ->add_option("--tier", arguments.tier,
                                       "Explain a call that asks for this tier (default auto)")
                          ->type_name("TIER")
                          ->check(one_of(tier_names()));
  add_precision_option(*command, arguments.precision);
  CLI::Option* devices = add_devices_option(*command, arguments.devices);
  command->add_flag("--json", arguments.json, "Print JSON; docs/explain.schema.json describes it");
  operation->needs(elements);
  elements->needs(operation);
  table->excludes(operation)->excludes(elements)->excludes(tier)->excludes(packed)->excludes(
      devices);
  operation->excludes(tier)->excludes(packed)->excludes(devices);
  for (const char* of_product :
       {"--m", "--n", "--k", "--trans-a", "--trans-b", "--batch", "--epilogue", "--groups"}) {
    operation->excludes(command->get_option(of_product));
    table->excludes(command->get_option(of_product));
  }
  table->excludes(command->get_option("--type"));
  command->callback([&] { action = [&] { return explain(globals, arguments); }; });
}

}  // namespace rooftile
