#include <chrono>
#include <cmath>
#include <optional>

#include "cli/available_memory.h"
#include "cli/command.h"
#include "cli/npy.h"
#include "cli/output_file.h"
#include "core/error.h"
#include "runtime/context.h"
#include "runtime/host_blas.h"
#include "tuner/reference.h"

namespace rooftile {
namespace {

struct GemmArguments {
  std::string a, b, c, output, tier = "auto";
  float alpha = 1, beta = 0;
  bool trans_a = false, trans_b = false, verify = false;
};

double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A file that holds a matrix; Fortran order is the transposed matrix in C order.
class MatrixFile {
 public:
  MatrixFile(const std::string& path, const char* operand) : path_(path), reader_(path) {
    const NpyHeader& header = reader_.header();
    if (header.shape.size() != 2)
      fail(ErrorCode::kUnsupported,
           "{}: {} has the shape {}; a matrix has two dimensions (reshape a vector to (1, n) or "
           "(n, 1))",
           path, operand, shape_text(header.shape));
  }

  NpyType type() const { return reader_.header().type; }
  const std::string& path() const { return path_; }
  Transpose stored() const {
    return reader_.header().order == ArrayOrder::kFortran ? Transpose::kYes : Transpose::kNo;
  }
  Extent extent() const { return {reader_.header().shape[0], reader_.header().shape[1]}; }
  /// Of op(X) for a matrix that is to be used transposed.
  Extent extent(bool transposed) const {
    const Extent e = extent();
    return transposed ? Extent{e.columns, e.rows} : e;
  }
  template <typename Real>
  std::vector<Real> values() {
    std::vector<Real> result(static_cast<std::size_t>(element_count(reader_.header())));
    reader_.read(std::span<Real>(result));
    return result;
  }

 private:
  std::string path_;
  NpyReader reader_;
};

struct Inputs {
  MatrixFile a, b;
  std::optional<MatrixFile> c;
  Problem problem;
};

Transpose combined(bool asked, Transpose stored) {
  return asked == (stored == Transpose::kYes) ? Transpose::kNo : Transpose::kYes;
}

// Linux promises memory that it does not have and kills who uses it: better to look before.
void check_memory(const Inputs& inputs, std::int64_t element_bytes) {
  const Problem& p = inputs.problem;
  const auto elements = [](std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  const double needed = static_cast<double>(element_bytes) *
                        (elements(p.m, p.k) + elements(p.k, p.n) + elements(p.m, p.n));
  const double available = available_memory_bytes();
  if (needed > available)
    fail(ErrorCode::kOutOfMemory,
         "{} takes {:.3g} GB and {:.3g} GB of memory are available; multiply it in panels",
         to_string(p), needed * 1e-9, available * 1e-9);
}

Inputs open_inputs(const GemmArguments& arguments) {
  if (arguments.c.empty() && arguments.beta != 0)
    fail(ErrorCode::kInvalidArgument, "--beta {} needs --c FILE", arguments.beta);
  Inputs inputs = {.a = {arguments.a, "A"}, .b = {arguments.b, "B"}, .c = {}, .problem = {}};
  const Extent a = inputs.a.extent(arguments.trans_a), b = inputs.b.extent(arguments.trans_b);
  if (a.columns != b.rows)
    fail(ErrorCode::kUnsupported,
         "op(A) is {} x {} ({}), op(B) is {} x {} ({}): the inner sizes differ", a.rows, a.columns,
         arguments.a, b.rows, b.columns, arguments.b);
  inputs.problem =
      packed_problem(a.rows, b.columns, a.columns, combined(arguments.trans_a, inputs.a.stored()),
                     combined(arguments.trans_b, inputs.b.stored()));
  inputs.problem.alpha = arguments.alpha;
  inputs.problem.beta = arguments.beta;
  if (arguments.c.empty()) return inputs;
  inputs.c.emplace(arguments.c, "C");
  const Extent c = inputs.c->extent();
  if (c.rows != a.rows || c.columns != b.columns)
    fail(ErrorCode::kUnsupported, "C is {} x {} ({}), the product is {} x {}", c.rows, c.columns,
         arguments.c, a.rows, b.columns);
  return inputs;
}

template <typename Real>
struct Product {
  Problem problem;
  std::vector<Real> a, b, c;
};

template <typename Real>
std::vector<Real> initial_c(Inputs& inputs) {
  const Problem& p = inputs.problem;
  const auto rows = static_cast<std::size_t>(p.m), columns = static_cast<std::size_t>(p.n);
  if (!inputs.c) return std::vector<Real>(rows * columns);
  std::vector<Real> c = inputs.c->values<Real>();
  if (inputs.c->stored() == Transpose::kNo) return c;
  std::vector<Real> in_order(c.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) in_order[i * columns + j] = c[j * rows + i];
  return in_order;
}

template <typename Real>
Product<Real> load(Inputs& inputs) {
  check_memory(inputs, sizeof(Real));
  return {inputs.problem, inputs.a.values<Real>(), inputs.b.values<Real>(),
          initial_c<Real>(inputs)};
}

template <typename Real>
void write_result(OutputFile& file, const Product<Real>& product, NpyType type) {
  const std::int64_t shape[] = {product.problem.m, product.problem.n};
  file.write(npy_header_bytes(type, shape));
  file.write(std::span<const Real>(product.c));
  file.commit();
}

void print_speed(const Problem& p, const char* tier, double ns) {
  fmt::print("{}: {} in {}, {:.1f} GFLOP/s\n", to_string(p), tier, time_text(ns), flops(p) / ns);
}

// Every element against float64: as slow as it is sure.
int verify(const Product<float>& product, const std::vector<float>& before) {
  const Problem& p = product.problem;
  double worst = 0;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      const auto at = static_cast<std::size_t>(i * p.ldc + j);
      const float c0 = before.empty() ? 0.0f : before[at];
      const ReferenceElement expected =
          reference_element(p, product.a.data(), product.b.data(), c0, i, j);
      const double ratio = error_ratio(p, expected, product.c[at]);
      worst = std::max(worst, ratio);
      if (!(ratio <= 1.0)) {
        fmt::print(stderr,
                   "rooftile: C[{}][{}] is {}, expected {} within {:.3g}; nothing was written\n", i,
                   j, product.c[at], expected.value, error_bound(p, expected));
        return kFailure;
      }
    }
  }
  fmt::print("verified: largest error {:.3f} of its bound\n", worst);
  return kDone;
}

int multiply64(Inputs& inputs, OutputFile& output) {
  Product<double> product = load<double>(inputs);
  const double start = now_ns();
  HostBlas::get().dgemm(product.problem, product.a.data(), product.b.data(), product.c.data());
  const double ns = now_ns() - start;
  write_result(output, product, NpyType::kF64);
  print_speed(product.problem, "host64", ns);
  return kDone;
}

int multiply(const Globals& globals, const GemmArguments& arguments) {
  const TierChoice tier = parse_tier_choice(arguments.tier);
  Inputs inputs = open_inputs(arguments);
  OutputFile output(
      arguments.output);  // before the work: a typing mistake in its name costs nothing
  const bool floats = inputs.a.type() == NpyType::kF32 && inputs.b.type() == NpyType::kF32;
  if (tier == TierChoice::kHost64 && !floats) {
    if (arguments.verify)
      fail(ErrorCode::kInvalidArgument,
           "--verify checks float32 results; host64 on float64 files is the reference itself");
    return multiply64(inputs, output);
  }
  Product<float> product = load<float>(inputs);
  std::vector<float> before;
  if (arguments.verify && arguments.beta != 0) before = product.c;
  Context context({.database = globals.database(), .device = globals.device});
  const SgemmCall call = {.problem = product.problem,
                          .a = product.a.data(),
                          .b = product.b.data(),
                          .c = product.c.data(),
                          .tier = tier};
  const Tier used = context.explain(call).decision.tier;
  const double start = now_ns();
  context.sgemm(call);
  const double ns = now_ns() - start;
  if (arguments.verify)
    if (const int code = verify(product, before); code != kDone) return code;
  write_result(output, product, NpyType::kF32);
  print_speed(product.problem, std::string(name(used)).c_str(), ns);
  const DeviceState state = context.device_state();
  if (!state.last_failure.empty()) fmt::print(stderr, "rooftile: {}\n", state.last_failure);
  return kDone;
}

}  // namespace

void add_gemm(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand("gemm", "Multiply two NumPy files");
  command->footer(
      "float32 or float64 files in C or Fortran order; the result is float32 in C order (float64 "
      "rounds, and is\n"
      "refused where it overflows). --tier host64 on float64 files computes and writes float64.\n"
      "Example: rooftile gemm A.npy B.npy -o C.npy --verify");
  static GemmArguments arguments;
  command->add_option("a", arguments.a, "A, m x k")->required();
  command->add_option("b", arguments.b, "B, k x n")->required();
  command->add_option("-o,--output", arguments.output, "The result; appears whole or not at all")
      ->required();
  command->add_option("--c", arguments.c, "C before the product, for --beta");
  command->add_option("--alpha", arguments.alpha, "Scales the product (1)");
  command->add_option("--beta", arguments.beta, "Scales C (0)");
  command->add_flag("--trans-a", arguments.trans_a, "Use A transposed");
  command->add_flag("--trans-b", arguments.trans_b, "Use B transposed");
  command->add_option("--tier", arguments.tier, "auto, device, host, host1, host64");
  command->add_flag("--verify", arguments.verify,
                    "Check every element against float64; exit 1 and write nothing when wrong");
  command->callback([&] { action = [&] { return multiply(globals, arguments); }; });
}

}  // namespace rooftile
