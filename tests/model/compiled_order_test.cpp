// The model's order of kernels on GPUs that are only compiled for, against figures of their
// compilers (tests/model/data/compiled_kernels.csv, from bench/compiled_figures.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/model/gpu/registers.h"
#include "runtime/model/roofline.h"
#include "tests/model/csv.h"
#include "tests/model/gpu_profiles.h"

namespace rooftile {
namespace {

struct CompiledKernel {
  Variant variant;
  double registers;  ///< Of an invocation, 32 bits.
  bool in_memory;    ///< Registers are spilled, or scratch memory is used.
  /// Fewer than two subgroups for each scheduler, or only one workgroup, whose subgroups all wait
  /// at its barriers for the next tile.
  bool waits_alone;
  double share;  ///< Multiply-adds of a lane for each instruction that is issued.
};

/// Schedulers of what the driver counts subgroups in flight for: an AMD SIMD, an NVIDIA SM. Units
/// of both have four.
double schedulers(const std::string& chip) { return chip == "162" || chip == "172" ? 4 : 1; }

/// Two operations that are issued together take the turn of one. Instructions of an outer loop are
/// spread over the trips of the main loop inside it.
CompiledKernel compiled_kernel(const CsvRow& row) {
  const Variant v = parse_variant(row.at("kernel"));
  const double trips = std::max(1, v.tile_k / v.unroll_k);
  const double issued = number(row, "products") - number(row, "dual") + number(row, "others") +
                        number(row, "outer_others") / trips;
  const double lanes = number(row, "subgroup");
  // Intel's compiler counts registers of 32 bytes, which the lanes of a subgroup share.
  const bool intel = row.at("chip") == "dg2" || row.at("chip") == "bmg";
  const double occupancy = number(row, "occupancy");  // 0: the driver does not tell it
  const double shared = std::max(number(row, "shared"), 1.0);
  const double workgroups =
      std::min(occupancy * 4 / schedulers(row.at("chip")) * lanes / local_size(v),
               gpu_generation(gpu_profile(row.at("chip")))->unit_shared_bytes / shared);
  const bool fetches_ahead = v.stages > 1 || v.prefetch != Prefetch::kNone;
  return {.variant = v,
          .registers = number(row, "registers") * (intel ? 8 / lanes : 1),
          .in_memory = number(row, "spilled") > 0 || number(row, "scratch") > 0,
          .waits_alone = occupancy > 0 && (occupancy < 2 * schedulers(row.at("chip")) ||
                                           (workgroups < 2 && !fetches_ahead)),
          .share = number(row, "multiply_adds") / lanes / issued};
}

using Class = std::pair<std::string, std::string>;  // chip, signature
std::map<Class, std::vector<CompiledKernel>> compiled_kernels() {
  std::map<Class, std::vector<CompiledKernel>> kernels;
  for (const CsvRow& row : read_csv("compiled_kernels.csv"))
    kernels[{row.at("chip"), row.at("class")}].push_back(compiled_kernel(row));
  return kernels;
}

Problem problem_of(const std::string& signature) {
  constexpr std::int64_t kSize = 4096;  // Fills a device; all tiles divide it.
  Problem p = packed_problem(kSize, kSize, kSize, Transpose::kNo,
                             signature.ends_with("nt") ? Transpose::kYes : Transpose::kNo);
  p.types = parse_types(signature.substr(0, signature.find('.')));
  return p;
}

/// The share of multiply-adds of a kernel that keeps its values in registers and has another
/// subgroup to issue while one waits; 0 for the others.
double worth(const CompiledKernel& kernel) {
  return kernel.in_memory || kernel.waits_alone ? 0 : kernel.share;
}

TEST(CompiledOrder, TheBestCompiledKernelIsAmongTheFirstTen) {
  const auto all = compiled_kernels();
  EXPECT_EQ(all.size(), 8 + 2 * 6)
      << "f32 on all chips, f16 nn and nt where there are matrix units";
  for (const auto& [of, kernels] : all) {
    const auto& [chip, signature] = of;
    const Problem problem = problem_of(signature);
    const DeviceRates rates = published_rates(*gpu_generation(gpu_profile(chip)), 0);
    const auto ns = [&](const CompiledKernel& k) {
      return analytical_ns(problem, k.variant, rates);
    };
    const CompiledKernel& best = *std::ranges::max_element(kernels, {}, worth);
    const auto before = std::ranges::count_if(kernels, [&](const CompiledKernel& k) {
      return worth(k) < worth(best) && ns(k) <= ns(best);
    });
    EXPECT_GE(kernels.size(), 40) << chip << " " << signature;
    EXPECT_LT(before, 10) << chip << " " << signature << " " << to_string(best.variant);
    RecordProperty(chip + "." + signature, static_cast<int>(before + 1));
  }
}

double estimate(const std::string& chip, const std::string& signature, const CompiledKernel& k) {
  const GpuGeneration& gpu = *gpu_generation(gpu_profile(chip));
  return needed_registers(k.variant, problem_of(signature).types, gpu);
}

TEST(CompiledOrder, EstimatedRegistersAreThoseOfTheCompilers) {
  double close = 0, all = 0;
  for (const auto& [of, kernels] : compiled_kernels())
    for (const CompiledKernel& k : kernels) {
      if (k.in_memory) continue;
      const double ratio = estimate(of.first, of.second, k) / k.registers;
      ++all;
      if (std::abs(std::log(ratio)) < std::log(4.0 / 3)) ++close;
    }
  EXPECT_GE(close, 0.9 * all) << all;
}

TEST(CompiledOrder, KernelsThatTheModelExpectsToSpillDo) {
  double same = 0, all = 0;
  for (const auto& [of, kernels] : compiled_kernels()) {
    const auto& [chip, signature] = of;
    const GpuGeneration& gpu = *gpu_generation(gpu_profile(chip));
    for (const CompiledKernel& k : kernels) {
      const bool expected = estimate(chip, signature, k) > available_registers(k.variant, gpu);
      ++all;
      if (expected == k.in_memory) ++same;
    }
  }
  EXPECT_GE(same, 0.97 * all) << all;
}

}  // namespace
}  // namespace rooftile
