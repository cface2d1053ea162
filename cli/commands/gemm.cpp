#include <algorithm>
#include <functional>

#include "cli/command.h"
#include "cli/gemm_files.h"
#include "cli/usage.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/half.h"
#include "core/numbers/statistics.h"
#include "runtime/dispatch/context.h"
#include "runtime/verify/reference.h"

namespace rooftile {
namespace {

struct GemmArguments {
  GemmFiles files;
  std::string output, tier = "auto", devices, precision;
  bool verify = false;
};

void write_result(OutputFile& file, const Problem& p, NpyType type, std::span<const char> c) {
  const std::int64_t shape[] = {p.m, p.n};
  write_matrix(file, type, shape, c);
  file.commit();
}

double time_ns(const std::function<void()>& call) {
  const double start = now_ns();
  call();
  return now_ns() - start;
}

/// Times of further calls, for which the device is open, the kernel compiled and BLAS loaded: at
/// least one, then as many as fit into half a second, at most 100. There are none after a first
/// call of more than five seconds. reset runs before each call and is not timed.
std::vector<double> further_times_ns(double first_ns, const std::function<void()>& reset,
                                     const std::function<void()>& call) {
  constexpr double kLongestFirstNs = 5e9, kMostNs = 0.5e9;
  constexpr std::size_t kMostCalls = 100;
  std::vector<double> times;
  double total_ns = 0;
  while (first_ns <= kLongestFirstNs && total_ns < kMostNs && times.size() < kMostCalls) {
    reset();
    times.push_back(time_ns(call));
    total_ns += times.back();
  }
  return times;
}

void print_speed(const Problem& p, std::string_view tier, double first_ns,
                 const std::vector<double>& further_ns) {
  const double ns = further_ns.empty() ? first_ns : median(further_ns);
  fmt::print("{}: {} in {}, {:.1f} GFLOP/s ({}); first call {}\n", to_string(p), tier,
             time_text(ns), flops(p) / ns,
             further_ns.empty() ? "the only call"
             : further_ns.size() == 1
                 ? "one further call"
                 : fmt::format("median of {} further calls", further_ns.size()),
             time_text(first_ns));
}

/// Checks every element against float64, which is slow. p: the product as it was answered, whose
/// operands may have been rounded.
int verify(const Problem& p, const HostProduct& product, const std::vector<char>& before) {
  const ReferenceOperands operands = {product.a.data(), product.b.data(), product.scales.data(),
                                      product.zero_points.data()};
  double worst = 0;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      const std::int64_t at = i * p.ldc + j;
      const double c0 = before.empty() ? 0.0 : element(p.types.c, before.data(), at);
      const ReferenceElement expected = reference_element(p, operands, c0, {}, i, j);
      const double got = element(p.types.c, product.c.data(), at);
      const double ratio = error_ratio(p, expected, got);
      worst = std::max(worst, ratio);
      if (!(ratio <= 1.0)) {
        fmt::print(stderr,
                   "rooftile: C[{}][{}] is {}, expected {} within {:.3g}; nothing was written\n", i,
                   j, got, expected.value, error_bound(p, expected));
        return kFailure;
      }
    }
  }
  fmt::print("verified: largest error {:.3f} of its bound\n", worst);
  return kDone;
}

int multiply(const Globals& globals, const GemmArguments& arguments) {
  const TierChoice tier = parse_tier_choice(arguments.tier);
  GemmInputs inputs = open_inputs(arguments.files);
  if (inputs.weights) refuse_as_output(inputs.weights->file(), arguments.output);
  OutputFile output(
      arguments.output);  // Before the work, so that a wrong name is reported at once.
  HostProduct product = load(inputs);
  std::vector<char> before;
  if (product.problem.beta != 0) before = product.c;
  // All calls run on the predicted tier, so that their times are comparable.
  Context context({.database = globals.db,
                   .device = globals.device,
                   // A call that is forced to the device says itself which one is missing.
                   .needs_device = !globals.device.empty() && tier != TierChoice::kDevice,
                   .tier = asked_for(tier),
                   .measure_calls = MeasureCalls::kNo,
                   .while_compiling = WhileCompiling::kWait,
                   .precision = asked_precision(arguments.precision)});
  const GemmCall call = {.problem = product.problem,
                         .a = product.a.data(),
                         .b = product.b.data(),
                         .c = product.c.data(),
                         .scales = product.scales.data(),
                         .zero_points = product.zero_points.data(),
                         .tier = tier,
                         .devices = asked_for(arguments.devices)};
  const auto multiply = [&] { context.gemm(call); };
  const auto first_call = [&] {
    try {
      return time_ns(multiply);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      // The command line was checked: it is the file's values that are wrong.
      const GemmFiles& files = arguments.files;
      fail(ErrorCode::kUnsupported, "{}: {}", files.scales.empty() ? files.b : files.scales,
           error.what());
    }
  };
  const double first_ns = first_call();
  const Answer answer = context.last_answer().value();
  Problem answered = product.problem;
  answered.types.rounding = answer.problem.types.rounding;
  if (arguments.verify)
    if (const int code = verify(answered, product, before); code != kDone) return code;
  write_result(output, product.problem, npy_type(product.problem.types.c), product.c);
  const auto reset = [&] { std::ranges::copy(before, product.c.begin()); };
  context.stop_counting();
  print_speed(answered, name(answer.tier), first_ns, further_times_ns(first_ns, reset, multiply));
  if (!answer.shares.empty()) fmt::print("{}\n", answer.shares);
  return kDone;
}

}  // namespace

void add_gemm(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand("gemm", "Multiply two NumPy files");
  command->footer(
      "Files may be in C or Fortran order; the result is in C order. A float64\n"
      "file gives float64, float16 files float16, int8 and uint8 files int32, others\n"
      "float32. With --scales, B holds quantised values as `rooftile quantize` writes\n"
      "them; the blocks of a GGUF file are read as they lie there, and its floats are\n"
      "widened to float32; A of float64 is rounded to that beside weights. The first\n"
      "call's time contains opening the device, compiling the kernel and loading BLAS.\n"
      "The rate is the median of further calls: 100, or as many as half a second has\n"
      "time for.\n"
      "Examples:\n  rooftile gemm A.npy B.npy -o C.npy --verify\n"
      "  rooftile gemm X.npy W.values.npy --scales W.scales.npy -o Y.npy\n"
      "  rooftile gemm X.npy model.gguf:blk.0.ffn_up.weight -o Y.npy");
  static GemmArguments arguments;
  GemmFiles& files = arguments.files;
  add_file(*command, "a", files.a, "A, m x k")->required();
  add_file(*command, "b", files.b,
           "B, k x n; with --scales, n x blocks x bytes; or FILE.gguf:TENSOR, n x k")
      ->required();
  add_file(*command, "-o,--output", arguments.output,
           "File of the result; appears whole or not at all")
      ->required();
  CLI::Option* const c = add_file(*command, "--c", files.c, "C before the product, for --beta");
  command->add_option("--alpha", files.alpha, "Scales the product (default 1)")
      ->type_name("X")
      ->check(finite_number());
  CLI::Option* const beta = command->add_option("--beta", files.beta, "Scales C (default 0)")
                                ->type_name("X")
                                ->check(finite_number());
  c->needs(beta);
  command->add_flag("--trans-a", files.trans_a, "Use A transposed");
  command->add_flag("--trans-b", files.trans_b, "Use B transposed");
  add_file(*command, "--scales", files.scales,
           "Scales of the blocks of B, which is quantised then");
  add_file(*command, "--zero-points", files.zero_points,
           "Zero points of the blocks of B: uint8 where they are packed, else floats");
  command
      ->add_option("--bits", files.bits,
                   "Bits of B's values, 4 or 8, where one block of either holds all of k")
      ->type_name("N")
      ->check(CLI::IsMember({4, 8}))
      ->needs("--scales");
  command->add_option("--type-c", files.type_c, "Type of the result: f32, f16 or i32")
      ->type_name("TYPE");
  command
      ->add_option("--tier", arguments.tier,
                   "Where to compute (default: $ROOFTILE_TIER, else auto)")
      ->type_name("TIER")
      ->check(one_of(tier_names()));
  add_precision_option(*command, arguments.precision);
  add_devices_option(*command, arguments.devices);
  command->add_flag("--verify", arguments.verify,
                    "Check every element against a wider sum; exit 1 and write nothing when wrong");
  command->callback([&] { action = [&] { return multiply(globals, arguments); }; });
}

}  // namespace rooftile
