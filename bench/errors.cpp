// How does the error of a product grow with k? All elements of C of the host's BLAS and of the
// device's kernels, with operands as they are and in bfloat16 parts, beside float64 sums.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/contests/program.h"
#include "core/error.h"
#include "generator/priors/default_kernel.h"
#include "generator/space.h"
#include "runtime/device/device.h"
#include "runtime/host/host_blas.h"
#include "runtime/host/host_tier.h"
#include "runtime/kernel/kernel.h"
#include "runtime/verify/certify_run.h"
#include "runtime/verify/reference.h"

namespace rooftile::errors_bench {
namespace {

constexpr double kUnit = 0x1p-24;  // float32's rounding, of the sum of magnitudes

struct Setting {
  std::int64_t m = 33, n = 40;
  std::vector<std::int64_t> k = {64, 256, 1024, 4096, 16384};
  std::string csv;
};

enum class By { kHost, kMultiplyAdds, kMatrixUnits };

struct Way {
  std::string name;
  By by;
  Types types = {};
};

std::vector<Way> ways() {
  return {{"BLAS", By::kHost},
          {"float32", By::kMultiplyAdds},
          {"three parts", By::kMatrixUnits},
          {"two parts", By::kMatrixUnits, parse_types("f32_half")}};
}

CertificationCase test_of(const Setting& setting, std::int64_t k, const Types& types) {
  return {.problem =
              packed_problem(setting.m, setting.n, k, Transpose::kNo, Transpose::kYes, 1, types)};
}

/// The bound of a right result's error, in kUnit of the sum of magnitudes.
double bound_of(const Problem& p) { return error_bound(p, {.value = 0, .magnitude = 1}) / kUnit; }

/// The kernel that an untuned device takes. With matrix units it is the first that is legal: all of
/// them add the same products. No value: the device has no such units.
std::optional<Variant> kernel_of(By by, const DeviceProfile& device, const Problem& p,
                                 const Placement& placement) {
  const auto serves = [&](const Variant& v) {
    return (v.family == Family::kMatrix) == (by == By::kMatrixUnits) &&
           !illegal_reason(v, device.limits, p, placement);
  };
  for (const Prior& prior : default_kernels(device, device.limits, p, placement))
    if (serves(prior.variant)) return prior.variant;
  static const std::vector<Variant> space = legal_variants(device.limits);
  const auto found = std::ranges::find_if(space, serves);
  return found == space.end() ? std::nullopt : std::optional(*found);
}

CaseResult on_host(const CertificationCase& test, const CertificationOperands& x) {
  std::vector<char> c = x.c;
  const GemmCall call = {.problem = test.problem,
                         .a = x.a.data() + 4 * x.placement.offset_a,
                         .b = x.b.data() + 4 * x.placement.offset_b,
                         .c = c.data() + 4 * x.placement.offset_c};
  run_on_host(HostBlas::get(), call, Tier::kHost);
  return compare_result(test, x, c.data());
}

/// The largest error in the same unit; no value where there is no such kernel.
std::optional<double> largest_error(const std::shared_ptr<Device>& device, const Way& way,
                                    const CertificationCase& test) {
  const CertificationOperands x = certification_operands(test);
  CaseResult result;
  if (way.by == By::kHost) {
    result = on_host(test, x);
  } else {
    const auto variant = kernel_of(way.by, device->profile(), test.problem, x.placement);
    if (!variant) return std::nullopt;
    const Kernel kernel(device, *variant, signature_of(test.problem), ShaderCache({}));
    result = run_case(*device, kernel, test, x);
  }
  if (!result.wrong.empty()) fail(ErrorCode::kDevice, "{}: {}", way.name, result.wrong);
  return result.worst_ratio * bound_of(test.problem);
}

void run(const Setting& setting) {
  const std::shared_ptr<Device> device = Device::open(wanted_devices().front());
  fmt::print("{}: the largest error of {} x {} elements, in 2^-24 of the sum of |a| |b|\n{:>6}",
             device->profile().name, setting.m, setting.n, "k");
  for (const Way& way : ways()) fmt::print(" {:>12}", way.name);
  fmt::print(" {:>10} {:>13}\n", "bound", "bound of half");
  CsvFile file(setting.csv, "k,way,error,bound");
  for (const std::int64_t k : setting.k) {
    fmt::print("{:>6}", k);
    std::string bounds;
    for (const Way& way : ways()) {
      const CertificationCase test = test_of(setting, k, way.types);
      const std::optional<double> error = largest_error(device, way, test);
      const double bound = bound_of(test.problem);
      if (way.by == By::kMatrixUnits)
        bounds += fmt::format(" {:>{}.0f}", bound, way.types == Types{} ? 10 : 13);
      if (error) file.add(fmt::format("{},{},{:.3f},{:.3f}", k, way.name, *error, bound));
      fmt::print(" {:>12}", error ? fmt::format("{:.1f}", *error) : "-");
      std::fflush(stdout);
    }
    fmt::print("{}\n", bounds);
  }
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "Operands are random, from -1 to 1, and B is stored n x k. In three parts (bfloat16, on "
      "matrix units) the precision is float32's, in two that of `half`; - where the device has no "
      "such units.");
  Setting setting;
  app.add_option("--m", setting.m, "Rows of C")->check(CLI::PositiveNumber);
  app.add_option("--n", setting.n, "Columns of C")->check(CLI::PositiveNumber);
  app.add_option("--k", setting.k, "Lengths of the sums")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--csv", setting.csv, "Also writes a table");
  app.parse(argc, argv);
  run(setting);
}

}  // namespace rooftile::errors_bench
