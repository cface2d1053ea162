// What a header of `rooftile embed` costs, and whether it chooses as the runtime does: for each
// class of each device of a database the time of a selection, and the share of random problems for
// which both take the same kernel. The header is compiled with cc -O2. No device is needed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "bench/contests/program.h"
#include "core/error.h"
#include "core/numbers/random.h"
#include "embed/embedding.h"
#include "generator/version.h"
#include "runtime/model/calibration.h"
#include "runtime/model/gpu/gpu_generation.h"
#include "runtime/tuned/kernel_ranking.h"

namespace rooftile::embed_bench {
namespace {

constexpr std::int64_t kSmallest = 16, kOctaves = 9;

/// Reads "CLASS m n k" for each problem of a class, and prints each choice's hash, then the ns of a
/// selection: the least mean of 15 passes.
constexpr const char* kProgram = R"(
#define ROOFTILE_EMBED_IMPLEMENTATION
#include <gemm_kernels.h>
#include <stdio.h>
#include <time.h>
enum { MOST = 100000, PASSES = 15 };
static rooftile_embed_problem problems[MOST];
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
int main(void) {
  rooftile_embed_limits l;
  rooftile_embed_choice choice;
  int count = 0, of_class;
  long long m, n, k;
  double least = 1e300;
  memset(&l, 0, sizeof l);
#include <limits_of_device.h>
  while (count < MOST && scanf("%d %lld %lld %lld", &of_class, &m, &n, &k) == 4)
    problems[count++] = rooftile_embed_problem_of((rooftile_embed_class)of_class, m, n, k);
  for (int i = 0; i < count; ++i)
    puts(rooftile_embed_select(&l, &problems[i], NULL, &choice) == ROOFTILE_EMBED_OK
             ? rooftile_embed_describe(choice.kernel)->hash : "none");
  for (int pass = 0; pass < PASSES; ++pass) {
    const double begin = now();
    for (int i = 0; i < count; ++i) rooftile_embed_select(&l, &problems[i], NULL, &choice);
    const double ns = (now() - begin) / count;
    if (ns < least) least = ns;
  }
  printf("%.1f\n", least);
  return 0;
}
)";

/// The device's limits as C assignments. It has what its own kernels need.
std::string limits_text(const DeviceProfile& device) {
  const DeviceLimits& d = device.limits;
  std::string text;
  const auto set = [&](const char* name, std::uint64_t value) {
    text += fmt::format("l.{} = {}u;\n", name, value);
  };
  set("vendor_id", device.vendor_id);
  set("product_id", device.device_id);
  set("driver_id", device.driver_id);
  set("driver_version", device.driver_version);
  set("max_workgroup_invocations", d.max_workgroup_invocations);
  for (std::size_t i = 0; i < 3; ++i) {
    text += fmt::format("l.max_workgroup_size[{}] = {}u;\n", i, d.max_workgroup_size[i]);
    text += fmt::format("l.max_workgroup_count[{}] = {}u;\n", i, d.max_workgroup_count[i]);
  }
  set("shared_memory_bytes", d.shared_memory_bytes);
  set("reserved_shared_bytes", d.workgroup_matrix_shared_bytes);
  set("max_push_constants_bytes", d.max_push_constants_bytes);
  set("max_storage_bindings", 8);
  set("max_texel_bindings", 8);
  set("max_storage_range_bytes", d.max_storage_buffer_range_bytes);
  set("max_texel_elements", d.max_texel_buffer_elements);
  set("max_allocation_bytes", d.max_memory_allocation_bytes);
  set("alignment_bytes", 256);
  set("subgroup_size", d.subgroup_size);
  set("min_subgroup_size", d.min_subgroup_size);
  set("max_subgroup_size", d.max_subgroup_size);
  set("max_workgroup_subgroups", d.max_workgroup_subgroups);
  set("max_loop_trips", d.max_loop_trips);
  set("features", 0xffffffffu);
  return text + "l.matrix_shapes = UINT64_MAX;\n";
}

struct Compiled {
  std::filesystem::path folder;
  double seconds;
  std::uintmax_t header_bytes, object_bytes;
};
Compiled compile_header(const Embedding& made, const DeviceProfile& device,
                        const std::filesystem::path& folder) {
  std::ofstream(folder / "gemm_kernels.h") << c_header(made, "bench");
  std::ofstream(folder / "limits_of_device.h") << limits_text(device);
  std::ofstream(folder / "main.c") << kProgram;
  std::ofstream(folder / "object.c")
      << "#define ROOFTILE_EMBED_IMPLEMENTATION\n#include <gemm_kernels.h>\n";
  const std::string cc = "cd " + folder.string() + " && cc -O2 -I. ";
  const auto begin = std::chrono::steady_clock::now();
  output_of(cc + "-c object.c -o object.o");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  output_of(cc + "-D_POSIX_C_SOURCE=199309L main.c -o choose -lvulkan");
  return {folder, taken.count(), std::filesystem::file_size(folder / "gemm_kernels.h"),
          std::filesystem::file_size(folder / "object.o")};
}

std::vector<Problem> random_problems(const Signature& s, std::size_t count, Random& random) {
  const auto size = [&] {
    const double octaves = static_cast<double>(kOctaves) * random.unit();
    const auto any = static_cast<std::int64_t>(kSmallest * std::exp2(octaves));
    return random.below(2) == 0 ? any : any / 16 * 16;
  };
  std::vector<Problem> problems;
  while (problems.size() < count) {
    problems.push_back(packed_problem(size(), size(), size(), s.trans_a, s.trans_b, 1, s.types));
    problems.back().epilogue = s.epilogue;
  }
  return problems;
}

struct Agreement {
  double ns = 0;
  std::size_t same = 0;
  double worst_ratio = 1;  ///< Predicted time of another choice over that of the runtime's.
};
Agreement compare(const Compiled& compiled, std::size_t of_class, const KernelRanking& ranking,
                  const DeviceLimits& limits, const std::vector<Problem>& problems) {
  {
    std::ofstream file(compiled.folder / "problems");
    for (const Problem& p : problems) file << fmt::format("{} {} {} {}\n", of_class, p.m, p.n, p.k);
  }
  std::istringstream choices(
      output_of("cd " + compiled.folder.string() + " && ./choose < problems"));
  Agreement agreement;
  std::string hash;
  for (const Problem& p : problems) {
    choices >> hash;
    const std::vector<RankedChoice> ranked = ranking.ranked(p, own_buffers(p), limits);
    if (hash == (ranked.empty() ? "none" : ranked.front().candidate->hash)) {
      ++agreement.same;
      continue;
    }
    const auto other = std::ranges::find_if(
        ranked, [&](const RankedChoice& x) { return x.candidate->hash == hash; });
    agreement.worst_ratio =
        std::max(agreement.worst_ratio, other == ranked.end()
                                            ? std::numeric_limits<double>::infinity()
                                            : other->expected_ns / ranked.front().expected_ns);
  }
  choices >> agreement.ns;
  return agreement;
}

void bench(const std::string& database, std::size_t count) {
  const Store store(database, OpenMode::kReadOnly);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("rooftile-embed-{}", ::getpid());
  std::filesystem::create_directory(folder);
  Random random(1);
  for (const DeviceRecord& device : store.devices()) {
    const EmbedSource source = {&store, {device}};
    const Embedding made = make_embedding({&source, 1}, {});
    const Compiled compiled = compile_header(made, device.profile, folder);
    fmt::print(
        "{}: {} kernels of {} classes, {} bytes of SPIR-V; header {} bytes, object {}, "
        "compiled in {:.2f} s\n",
        device.profile.name, made.kernels.size(), made.classes.size(), made.spirv_bytes(),
        compiled.header_bytes, compiled.object_bytes, compiled.seconds);
    Calibration calibration = calibration_from_figures(store.latest_calibration(device.id));
    calibration.device.gpu = gpu_generation(device.profile);
    std::vector<TunedKernel> tuned;
    for (const RankedKernel& x : store.winners(device.id)) tuned.push_back(x.kernel);
    std::vector<PortfolioKernel> portfolio;
    for (const EmbeddedClass& x : made.classes)
      for (PortfolioKernel& kernel : store.measured_portfolio(device.id, to_string(x.signature)))
        if (kernel.place) portfolio.push_back(std::move(kernel));
    const KernelRanking ranking(device.profile.limits, calibration.device, std::move(tuned),
                                portfolio);
    for (const EmbeddedList& list : made.lists) {
      const Signature& s = made.classes[list.of_class].signature;
      const Agreement agreement = compare(compiled, list.of_class, ranking, device.profile.limits,
                                          random_problems(s, count, random));
      fmt::print(
          "{:<36} portfolio {:>2}, points {:>3}, tuned {:>3}: {:4.0f} ns, same kernel "
          "{:5.1f} %, others at most {:.3f} x\n",
          to_string(s), list.portfolio.size(), list.coefficients.points.size(), list.tuned.size(),
          agreement.ns, 100.0 * static_cast<double>(agreement.same) / static_cast<double>(count),
          agreement.worst_ratio);
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  std::string database;
  std::size_t problems = 2000;
  app.add_option("DATABASE", database, "A tuning database with certificates, or an export")
      ->required();
  app.add_option("--problems", problems, "Random problems of each class (default 2000)")
      ->check(CLI::Range(1, 100000));
  app.parse(argc, argv);
  bench(database, problems);
}

}  // namespace rooftile::embed_bench
