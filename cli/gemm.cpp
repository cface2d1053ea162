#include <chrono>
#include <cmath>

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
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A matrix of a file; Fortran order is the transposed matrix in C order.
template <typename Real>
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  Transpose stored = Transpose::kNo;  // values hold it transposed
  std::vector<Real> values;
};

template <typename Real>
Matrix<Real> read_matrix(const std::string& path, const char* what) {
  NpyReader reader(path);
  const NpyHeader& header = reader.header();
  if (header.shape.size() != 2)
    fail(ErrorCode::kUnsupported, "{}: {} has the shape {}; a matrix has two dimensions (reshape a vector to (1, n) or (n, 1))",
         path, what, shape_text(header.shape));
  Matrix<Real> matrix{.rows = header.shape[0], .columns = header.shape[1]};
  if (header.order == ArrayOrder::kFortran) matrix.stored = Transpose::kYes;
  try {
    matrix.values.resize(static_cast<std::size_t>(element_count(header)));
  } catch (const std::exception&) {
    fail(ErrorCode::kOutOfMemory, "{}: {} elements do not fit into memory", path, element_count(header));
  }
  reader.read(std::span<Real>(matrix.values));
  return matrix;
}

Transpose combined(bool asked, Transpose stored) {
  return asked == (stored == Transpose::kYes) ? Transpose::kNo : Transpose::kYes;
}

template <typename Real>
struct Product {
  Problem problem;
  std::vector<Real> a, b, c;
};

template <typename Real>
Product<Real> load(const GemmArguments& arguments) {
  Matrix<Real> a = read_matrix<Real>(arguments.a, "A"), b = read_matrix<Real>(arguments.b, "B");
  const std::int64_t m = arguments.trans_a ? a.columns : a.rows, k = arguments.trans_a ? a.rows : a.columns;
  const std::int64_t k_of_b = arguments.trans_b ? b.columns : b.rows, n = arguments.trans_b ? b.rows : b.columns;
  if (k != k_of_b)
    fail(ErrorCode::kUnsupported, "op(A) is {} x {} ({}), op(B) is {} x {} ({}): the inner sizes differ", m, k,
         arguments.a, k_of_b, n, arguments.b);
  Product<Real> product{.problem = packed_problem(m, n, k, combined(arguments.trans_a, a.stored),
                                                  combined(arguments.trans_b, b.stored))};
  product.problem.alpha = arguments.alpha;
  product.problem.beta = arguments.beta;
  product.a = std::move(a.values);
  product.b = std::move(b.values);
  if (arguments.c.empty()) {
    if (arguments.beta != 0) fail(ErrorCode::kInvalidArgument, "--beta {} needs --c FILE", arguments.beta);
    try {
      product.c.resize(static_cast<std::size_t>(m * n));
    } catch (const std::exception&) {
      fail(ErrorCode::kOutOfMemory, "a result of {} x {} does not fit into memory", m, n);
    }
    return product;
  }
  Matrix<Real> c = read_matrix<Real>(arguments.c, "C");
  if (c.rows != m || c.columns != n)
    fail(ErrorCode::kUnsupported, "C is {} x {} ({}), the product is {} x {}", c.rows, c.columns, arguments.c, m, n);
  if (c.stored == Transpose::kNo) {
    product.c = std::move(c.values);
  } else {
    product.c.resize(c.values.size());
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) product.c[static_cast<std::size_t>(i * n + j)] = c.values[static_cast<std::size_t>(j * m + i)];
  }
  return product;
}

template <typename Real>
void write_result(const GemmArguments& arguments, const Product<Real>& product, NpyType type) {
  const std::int64_t shape[] = {product.problem.m, product.problem.n};
  OutputFile file(arguments.output);
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
      const ReferenceElement expected = reference_element(p, product.a.data(), product.b.data(), c0, i, j);
      const double ratio = error_ratio(p.k, expected, product.c[at]);
      worst = std::max(worst, ratio);
      if (!(ratio <= 1.0)) {
        fmt::print(stderr, "rooftile: C[{}][{}] is {}, expected {} within {:.3g}; nothing was written\n", i, j,
                   product.c[at], expected.value, error_bound(p.k, expected.magnitude));
        return kFailure;
      }
    }
  }
  fmt::print("verified: largest error {:.3f} of its bound\n", worst);
  return kDone;
}

int multiply64(const GemmArguments& arguments) {
  Product<double> product = load<double>(arguments);
  const double start = now_ns();
  HostBlas::get().dgemm(product.problem, product.a.data(), product.b.data(), product.c.data());
  const double ns = now_ns() - start;
  write_result(arguments, product, NpyType::kF64);
  print_speed(product.problem, "host64", ns);
  return kDone;
}

int multiply(const Globals& globals, const GemmArguments& arguments) {
  const TierChoice tier = parse_tier_choice(arguments.tier);
  const bool floats = NpyReader(arguments.a).header().type == NpyType::kF32 && NpyReader(arguments.b).header().type == NpyType::kF32;
  if (tier == TierChoice::kHost64 && !floats) {
    if (arguments.verify) fail(ErrorCode::kInvalidArgument, "--verify checks float32 results; host64 on float64 files is the reference itself");
    return multiply64(arguments);
  }
  Product<float> product = load<float>(arguments);
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
  write_result(arguments, product, NpyType::kF32);
  print_speed(product.problem, std::string(name(used)).c_str(), ns);
  const DeviceState state = context.device_state();
  if (!state.last_failure.empty()) fmt::print(stderr, "rooftile: {}\n", state.last_failure);
  return kDone;
}

}  // namespace

void add_gemm(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand("gemm", "Multiply two NumPy files");
  command->footer("float32 or float64 files in C or Fortran order; the result is float32 in C order (float64 rounds, and is\n"
                  "refused where it overflows). --tier host64 on float64 files computes and writes float64.\n"
                  "Example: rooftile gemm A.npy B.npy -o C.npy --verify");
  static GemmArguments arguments;
  command->add_option("a", arguments.a, "A, m x k")->required();
  command->add_option("b", arguments.b, "B, k x n")->required();
  command->add_option("-o,--output", arguments.output, "The result; appears whole or not at all")->required();
  command->add_option("--c", arguments.c, "C before the product, for --beta");
  command->add_option("--alpha", arguments.alpha, "Scales the product (1)");
  command->add_option("--beta", arguments.beta, "Scales C (0)");
  command->add_flag("--trans-a", arguments.trans_a, "Use A transposed");
  command->add_flag("--trans-b", arguments.trans_b, "Use B transposed");
  command->add_option("--tier", arguments.tier, "auto, device, host, host1, host64");
  command->add_flag("--verify", arguments.verify, "Check every element against float64; exit 1 and write nothing when wrong");
  command->callback([&] { action = [&] { return multiply(globals, arguments); }; });
}

}  // namespace rooftile
