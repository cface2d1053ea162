#include "planted_kernels.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/numbers/random.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using Values = std::set<std::pair<std::string, std::string>>;

/// Whether the kernel has a value of a parameter that is not among these, which it is then. Sizes
/// are alike but for 1 (0), as in most kernels.
bool add_values(const Variant& v, Values& values) {
  bool is_new = false;
  for (auto [name, value] : parameters(v)) {
    const bool size = name.starts_with("tile_") || name.starts_with("reg_") || name == "split_k" ||
                      name.starts_with("matrix_") || name.starts_with("subgroup_") ||
                      name == "shared_pad" || name == "unroll_k";
    if (size && value != "0" && value != "1") value = "more";
    is_new = values.emplace(name, value).second || is_new;
  }
  return is_new;
}

/// Kernels with values that no class has had before, then with those that this one lacks.
std::vector<Variant> unlike_kernels(const std::vector<Variant>& legal, std::size_t most,
                                    Values& of_all) {
  std::vector<Variant> chosen;
  Values of_class;
  for (Values* values : {&of_all, &of_class})
    for (const Variant& v : legal) {
      if (chosen.size() == most) break;
      if (!add_values(v, *values) || std::ranges::find(chosen, v) != chosen.end()) continue;
      add_values(v, of_class);
      chosen.push_back(v);
    }
  return chosen;
}

std::int64_t any_size(Random& random) {
  return 1 + static_cast<std::int64_t>(random.below(std::uint64_t{1} << (1 + random.below(11))));
}

}  // namespace

const std::vector<std::string>& planted_classes() {
  static const std::vector<std::string> classes = {
      "f32.nn",
      "f32.nt",
      "f32.tn",
      "f32.tt",
      "f32.nn.row_scale+column_scale+bias_row+silu+residual+clamp",
      "f16_f16.nt.bias_column+gelu_tanh",
      "f16_f16_sum_f16.nn",
      "bf16.tn.clamp",
      "i8_i32.nt",
      "u8.nt.row_scale+column_scale",
      "f32xq4b32.nt",
      "f16xq4b64z_f16.nt.relu",
      "f32xq8b32zf.nt",
      "f32xq4_k.nt",
      "f32xq8_0.nt.bias_column",
      "f16xmxfp4_f16.nt"};
  return classes;
}

void plant_kernels(Store& store, const DeviceProfile& device,
                   const std::vector<std::string>& classes, std::size_t most,
                   const std::function<bool(const Variant&, const Signature&)>& keep) {
  Random random(7);
  Values of_all;
  const RowId row = store.device_id(device);
  store.add_calibration(row, to_figures(fast_host()));
  std::vector<Variant> space = legal_variants(device.limits);
  for (std::size_t i = space.size(); i > 1; --i) std::swap(space[i - 1], space[random.below(i)]);
  for (const std::string& text : classes) {
    const Signature s = parse_signature(text);
    std::vector<Variant> legal;
    for (const Variant& v : space)
      if (v != fallback_variant() && keep(v, s) && !illegal_reason(v, device.limits, s))
        legal.push_back(v);
    const std::vector<Variant> kernels = unlike_kernels(legal, most, of_all);
    const auto problem_of = [&](std::int64_t m, std::int64_t n, std::int64_t k,
                                std::int64_t batch) {
      Problem p = packed_problem(m, n, k, s.trans_a, s.trans_b, batch, s.types);
      p.epilogue = s.epilogue;
      return p;
    };
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const auto step = static_cast<std::int64_t>(i);
      const Problem p = problem_of(32 << (step % 5), 128 + 96 * step, 256, step % 4 == 3 ? 5 : 1);
      plant_winners(store, row, p,
                    {{.variant = kernels[i], .kernel_ns = 1e4 + 100 * random.unit()},
                     {.variant = kernels[(i + 1) % kernels.size()], .kernel_ns = 2e4},
                     {.variant = fallback_variant(), .kernel_ns = 9e4}});
    }
    std::vector<PortfolioRecord> portfolio;
    for (std::size_t i = 0; i < std::min<std::size_t>(kernels.size(), 6); ++i) {
      PortfolioRecord record = {.candidate = candidate_row(store, kernels[i], s),
                                .place = static_cast<int>(i)};
      Random sizes(11);
      for (int point = 0; point < 12; ++point) {
        const Problem p =
            problem_of(any_size(sizes), any_size(sizes), any_size(sizes), point % 3 == 2 ? 4 : 1);
        record.times.push_back({.m = p.m,
                                .n = p.n,
                                .k = p.k,
                                .batch = p.batch,
                                .ns = (3e3 + flops(p) / 50) * (0.5 + 2 * random.unit())});
      }
      portfolio.push_back(std::move(record));
    }
    store.put_portfolio(row, text, portfolio, std::nullopt);
  }
}

}  // namespace rooftile
