#include "runtime/verify/certification_cases.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/round.h"
#include "generator/layout.h"

namespace rooftile {
namespace {

/// The largest is `tiles` whole tiles and 37.
std::vector<std::int64_t> sizes_around(std::int64_t tile, std::int64_t step, int tiles = 2) {
  const std::array<std::int64_t, 9> wanted = {
      1, 2, 3, 5, 17, tile - 1, tile, tile + 1, tiles * tile + 37};
  std::vector<std::int64_t> sizes;
  for (std::int64_t size : wanted)
    if (size > 0) sizes.push_back(round_up(size, step));
  return sizes;
}

// Pads the row by an odd amount, or by as little as vector loads allow.
std::int64_t padded_ld(std::int64_t columns, int vector_width) {
  return vector_width == 1 ? columns + 3 : round_up(columns + 1, vector_width);
}

/// Leaves a small gap between matrices, as vector loads allow.
std::int64_t batch_stride(std::int64_t span, std::int64_t step) { return round_up(span + 5, step); }

/// Kernels that compute sums again are for products of a least number of steps: a shorter k becomes
/// that much longer.
std::int64_t with_least_depth(const Variant& v, const Types& t, std::int64_t k, std::int64_t step) {
  const std::int64_t least = recomputes_sums(v, t) ? least_depth_of_parts(t) : 0;
  return k < least ? k + round_up(least, step) : k;
}

/// The next larger k, but for a part of a block, with which blocks fill the windows in which a
/// kernel reads them. Every other time a row is whole vectors, so that all numbers of rows are
/// legal.
std::int64_t whole_windows(const Variant& v, const Types& t, std::int64_t k, std::size_t turn) {
  if (!reads_windows(v, t)) return k;
  return round_up(k, turn % 2 == 0 ? whole_vectors(t.b.format) : window_of(v, t.b.format)) -
         static_cast<std::int64_t>(turn % 32);
}

void make_batch(Problem& p, std::int64_t batch, const LoadElements& load) {
  p.batch = batch;
  p.stride_a = batch_stride(stored_a(p).rows * p.lda, load.a);
  p.stride_b = batch % 2 == 0 || quantized(p.types)  // Stride 0: the batch shares one B.
                   ? 0
                   : batch_stride(stored_b(p).rows * p.ldb, load.b);
  p.stride_c = batch_stride(p.m * p.ldc, 1);
}

/// Sets the scalars and epilogue of a case; an integer C supports only 0 and 1.
void set_scalars(Problem& p, const Signature& s, double alpha, double beta) {
  const bool whole = s.types.c == DataType::kI32;
  p.alpha = whole && alpha != 0 ? 1 : alpha;
  p.beta = whole && beta != 0 ? 1 : beta;
  p.epilogue = s.epilogue;
  // Float64 kernels take limits that float32 does not hold.
  p.epilogue.low = is_float64(s.types) ? -2.0 / 3 : -0.75;
  p.epilogue.high = 1.5;
}

/// Matrix kernels store whole fragments to C where three conditions hold: alpha is 1, beta is 0,
/// and the tile lies inside of an aligned C. Adds a case for each condition that violates it alone.
void add_fragment_stores(std::vector<CertificationCase>& cases, const Variant& v,
                         const Signature& s, Problem aligned) {
  if (v.family != Family::kMatrix || has_workgroup_scope(v)) return;
  if (v.stage == Stage::kStored && s.types.c == DataType::kF16) {
    // The device narrows sums, and stores vectors of 16 bytes: not to rows that begin within one.
    set_scalars(aligned, s, 1, 0);
    cases.push_back({.problem = aligned, .plant = InjectedFault::kInfinities, .nan_in_c = true});
    Problem between = aligned;
    between.ldc += 4;
    cases.push_back({.problem = between, .nan_in_c = true});
  }
  set_scalars(aligned, s, 0.5f, 0);
  cases.push_back({.problem = aligned, .nan_in_c = true});
  set_scalars(aligned, s, 1, -1);
  cases.push_back({.problem = aligned});
  set_scalars(aligned, s, 1, 0);
  --aligned.m;
  cases.push_back({.problem = aligned, .nan_in_c = true});
}

/// The fewest products of kernels that compute sums again, in whose bound a part that is missing or
/// a unit that rounds within an operation shows most, and more.
void add_magnitudes(std::vector<CertificationCase>& cases, const Variant& v, const Signature& s,
                    Problem aligned, bool exact) {
  set_scalars(aligned, s, 0.7f, 0.3f);
  const std::int64_t fewest = round_up(least_depth_of_parts(s.types), exact ? v.tile_k : 1);
  for (const std::int64_t k : {fewest, aligned.k})
    for (const InjectedFault plant :
         {InjectedFault::kMagnitudes, InjectedFault::kOneLarge, InjectedFault::kInfinities}) {
      aligned.k = k;
      if (quantized(s.types)) aligned.ldb = ld_quantized(aligned);
      cases.push_back({.problem = aligned, .plant = plant});
    }
}

/// Groups of so many rows each, with experts that are not in their order.
std::vector<Group> groups_of(std::span<const std::int64_t> rows, std::int64_t experts) {
  std::vector<Group> groups;
  for (std::size_t g = 0; g < rows.size(); ++g)
    groups.push_back({.expert = (static_cast<std::int64_t>(g) * 2 + 1) % experts, .rows = rows[g]});
  return groups;
}

/// The problems that certify a kernel for groups: empty groups, groups of less than a tile, of
/// exactly one and of little more, experts that no group has, and rows behind the last group.
std::vector<CertificationCase> grouped_cases(const Variant& v, const Signature& s,
                                             const LoadElements& load, const LoadElements& line) {
  const std::int64_t tile = v.tile_m, step = std::max(v.tile_k, v.unroll_k) * v.dot;
  const std::array<std::vector<std::int64_t>, 5> sizes = {
      std::vector<std::int64_t>{tile, 0, 1, tile + 1, 3},
      {0, 2 * tile - 1, 5, 0, tile},
      {1, 1, 1},
      {0, 0},
      {3 * tile + 2}};
  const std::array<std::int64_t, 5> ns = {v.tile_n, v.tile_n + 1, 3, 17, 2 * v.tile_n},
                                    ks = {step, 3 * step + v.dot, v.dot, 5 * v.dot, 2 * step};
  constexpr std::array<double, 5> kAlphas = {1, -1, 0.5, 1, 1}, kBetas = {0, 0.5, 1, -1, 0};
  std::vector<CertificationCase> cases;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    constexpr std::int64_t kExperts = 3, kRowsBehind = 2;
    CertificationCase test = {.groups = groups_of(sizes[i], kExperts)};
    const std::int64_t m = rows_of(test.groups) + (i % 2 == 0 ? kRowsBehind : 1);
    // Two blocks of a quantised B and a part of a third one differ in their scales.
    const std::int64_t k = with_least_depth(
        v, s.types, i == 1 ? std::max<std::int64_t>(ks[i], 2 * s.types.b.block + 8) : ks[i], v.dot);
    Problem& p = test.problem;
    p = grouped_problem(m, ns[i], k, grouping_of(test.groups, kExperts), s.trans_b, s.types);
    p.lda = padded_ld(stored_a(p).columns, line.a);
    if (!quantized(s.types)) {
      p.ldb = padded_ld(stored_b(p).columns, line.b) + 2 * line.b;
      p.stride_b = batch_stride(stored_b(p).rows * p.ldb, load.b);
    }
    p.ldc = i == 4 ? round_up(p.n, 4) : p.n + 1 + static_cast<std::int64_t>(i % 3);
    set_scalars(p, s, kAlphas[i], kBetas[i]);
    test.nan_in_c = p.beta == 0.0f;
    cases.push_back(std::move(test));
  }
  return cases;
}

}  // namespace

std::vector<CertificationCase> certification_cases(const Variant& v, const Signature& signature,
                                                   const DeviceLimits& limits, SumsIn sums) {
  Signature s = signature;
  s.types.rounding = rounding_in(v, s.types);  // A kernel keeps the bound of what it rounds itself.
  const bool exact = v.edge == Edge::kExact;
  const bool packed = v.packed_a == Packed::kYes && v.packed_b == Packed::kYes;
  const std::int64_t step_k = exact ? std::max(v.tile_k, v.unroll_k) * v.dot : packed ? 1 : v.dot;
  const std::vector<std::int64_t> ms = sizes_around(v.tile_m, exact ? v.tile_m : 1);
  const std::vector<std::int64_t> ns = sizes_around(v.tile_n, exact ? v.tile_n : 1);
  // Two blocks of a quantised B and a part of a third one differ in their scales. The two-stage
  // loop of matrix handles two tiles an iteration: five tiles let it run twice and end.
  std::vector<std::int64_t> ks =
      sizes_around(std::max({v.tile_k, v.unroll_k, 8, s.types.b.block}) * v.dot * v.split_k, step_k,
                   v.family == Family::kMatrix && v.stages == 2 ? 5 : 2);
  for (std::int64_t& k : ks) k = with_least_depth(v, s.types, k, step_k);
  // A pack kernel reads operands of any alignment.
  LoadElements load = load_elements(v, s);
  if (v.packed_a == Packed::kYes) load.a = 1;
  if (v.packed_b == Packed::kYes) load.b = 1;
  LoadElements line = line_elements(v, s);
  if (v.packed_a == Packed::kYes) line.a = 1;
  if (v.packed_b == Packed::kYes) line.b = 1;
  // Float64 kernels take a scalar that float32 does not hold.
  const std::array<double, 4> scalars = {1, 0, -1, is_float64(s.types) ? 1.0 / 3 : 0.5};

  std::vector<CertificationCase> cases;
  const auto legal_ones = [&] {
    // Cases that the rules forbid are never dispatched and need not be right.
    std::erase_if(cases, [&](const CertificationCase& test) {
      const Problem& p = test.problem;
      return illegal_reason(v, limits, p, guarded_placement(p), sums).has_value();
    });
    for (CertificationCase& test : cases) test.finite_guards = recomputes_sums(v, s.types);
    return cases;
  };
  if (s.grouped) {
    cases = grouped_cases(v, s, load, line);
    if (recomputes_sums(v, s.types))
      for (CertificationCase test : grouped_cases(v, s, load, line)) {
        test.plant = InjectedFault::kMagnitudes;
        cases.push_back(std::move(test));
      }
    return legal_ones();
  }
  // Three shifted rotations pair every size of one dimension with three sizes of each other one,
  // and every alpha with every beta.
  for (std::size_t rotation = 0; rotation < 3; ++rotation) {
    for (std::size_t i = 0; i < ms.size(); ++i) {
      const std::size_t turn = rotation * ms.size() + i;
      const std::int64_t m = ms[i], n = ns[(i * 2 + rotation * 4) % ns.size()],
                         k = whole_windows(v, s.types, ks[(i * 4 + rotation * 7) % ks.size()],
                                           turn);
      Problem p = packed_problem(m, n, k, s.trans_a, s.trans_b, 1, s.types);
      p.lda = padded_ld(stored_a(p).columns, line.a);
      // B is padded by more than A, so that the two leading dimensions differ even where both rows
      // have k elements.
      if (!quantized(s.types)) p.ldb = padded_ld(stored_b(p).columns, line.b) + 2 * line.b;
      p.ldc = p.n + 1 + static_cast<std::int64_t>(turn % 3);
      // Every third case is a batch; kernels for batches get batches only.
      if (turn % 3 == 2 || v.tile_batch > 1)
        make_batch(p, v.tile_batch + 1 + (turn % 2 == 0 ? 1 : 0), load);
      set_scalars(p, s, scalars[turn % 4 == 1 && rotation != 0 ? 0 : turn % 4],
                  scalars[(turn / 4 + rotation) % 4]);
      cases.push_back({.problem = p,
                       .plant = turn % 9 == 4   ? InjectedFault::kDenormals
                                : turn % 9 == 7 ? InjectedFault::kInfinities
                                                : InjectedFault::kNothing,
                       .nan_in_c = p.beta == 0.0f});
    }
  }
  // This case has an ldc that allows vector stores, so that their code path runs too.
  Problem aligned =
      packed_problem(2 * v.tile_m, 2 * v.tile_n,
                     round_up(3 * std::max(v.tile_k, v.unroll_k) * v.split_k, 4) * v.dot, s.trans_a,
                     s.trans_b, 1, s.types);
  set_scalars(aligned, s, 1, 0);
  aligned.lda = round_up(aligned.lda, 4 * load.a);
  if (!quantized(s.types)) aligned.ldb = round_up(aligned.ldb, 4 * load.b);
  aligned.ldc = round_up(aligned.ldc, 4);
  if (v.tile_batch > 1) make_batch(aligned, 2 * v.tile_batch + 1, load);
  cases.push_back({.problem = aligned, .nan_in_c = true});
  set_scalars(aligned, s, -1, 0.5f);
  cases.push_back({.problem = aligned});
  add_fragment_stores(cases, v, s, aligned);
  if (recomputes_sums(v, s.types)) add_magnitudes(cases, v, s, aligned, exact);
  // Among many short sums some come near the bound of int8, so that a wrong way of rounding exceeds
  // it. With rows of two scales a scale that is taken from other steps exceeds it. A tile of a
  // vector kernel has few sums.
  if (s.types.rounding == Rounding::kInt8)
    for (const std::int64_t k : {4, kRoundedSteps + 4}) {
      const bool few = v.family == Family::kVector;
      Problem p = packed_problem((few ? 8 : 2) * v.tile_m, (few ? 32 : 2) * v.tile_n, k, s.trans_a,
                                 s.trans_b, 1, s.types);
      set_scalars(p, s, 1, 0);
      cases.push_back({.problem = p,
                       .plant = k == 4 ? InjectedFault::kNothing : InjectedFault::kTwoScales,
                       .nan_in_c = true});
    }
  // Float64 computed by pairs of float32 would have their range.
  if (is_float64(s.types))
    cases.push_back({.problem = aligned, .plant = InjectedFault::kMagnitudes});
  return legal_ones();
}

CertificationCase edge_case(const Signature& s) {
  Problem p = packed_problem(9, 13, 37, s.trans_a, s.trans_b, 1, s.types);
  p.lda += 3;
  if (!quantized(p.types)) p.ldb += 5;
  p.ldc += 1;
  make_batch(p, 3, {.a = 1, .b = 1});
  set_scalars(p, s, 1, 1);
  return {.problem = p};
}

}  // namespace rooftile
