#include "draw.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "core/error.h"
#include "core/round.h"
#include "generator/compiler_work.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "runtime/verify/certification_operands.h"

namespace rooftile {
namespace {

// Most multiply-adds and most elements of C of a case, because each is computed in float64 as well;
// one case in twenty may be larger, so that whole tiles of large kernels occur.
constexpr std::int64_t kMostSteps = 1 << 17, kMostElements = 1 << 12, kLargerBy = 16;

const std::vector<std::string>& all_types() {
  static const std::vector<std::string> types = [] {
    std::istringstream words(
        "f64 f16 bf16 f32_f16 f32_bf16 f16_f16 bf16_bf16 f16_bf16 f16_f16_sum_f16 "
        "f16_sum_f16 i8_i32 i8 i8_f16 u8_i32 u8 u8_bf16 f32xq4b32 f16xq4b16_f16 "
        "f32xq4b32z f16xq4b64zf_f16 f32xq8b16z f16xq8b128_f16 f32xq8b32zf f16xq4b256z "
        "f32xq4_0 bf16xq5_0_f16 f16xq8_0 f32xq4_k f16xq5_k_f16 f32xq6_k bf16xmxfp4 "
        "f16xq4_0_f16 f32xmxfp4 f16xq6_k_f16 f32xq4_1 bf16xq5_1 f16xq2_k_f16 f32xq3_k "
        "f16xiq4_nl f32xiq4_xs f32xnvfp4");
    return std::vector<std::string>(std::istream_iterator<std::string>(words), {});
  }();
  return types;
}

std::int64_t steps(const Problem& p) { return p.m * p.n * p.k * p.batch; }

/// Makes A and B the same memory.
void share_a_and_b(Problem& p) {
  // A is stored as B is.
  if (p.trans_a == p.trans_b) p.n = p.k = p.m;
  if (p.trans_a != p.trans_b) p.n = p.m;
  p.lda = p.ldb = p.trans_a == Transpose::kYes ? p.m : p.k;
  p.lda = p.ldb = std::max<std::int64_t>(p.ldb, 1) + 1;
  p.ldc = p.n + 2;
  if (p.batch > 1) {
    p.stride_a = p.stride_b = std::max<std::int64_t>(stored_a(p).rows * p.lda, 1);
    p.stride_c = std::max<std::int64_t>(p.m * p.ldc, 1);
  }
}

}  // namespace

CaseSource::CaseSource(const DeviceLimits& limits, std::uint64_t seed, double most_work)
    : limits_(limits), random_(seed), most_work_(most_work) {
  for (const Variant& v : legal_variants(limits)) families_[v.family].push_back(v);
}

Types CaseSource::types() {
  return random_.below(5) < 2 ? Types{} : parse_types(any_of(all_types()));
}

Epilogue CaseSource::epilogue(const Types& types) {
  Epilogue e;
  if (types.c == DataType::kI32 || !one_in(3)) return e;  // The former has none.
  e.row_scale = one_in(3);
  e.column_scale = one_in(3);
  e.bias = static_cast<Bias>(random_.below(3));
  e.activation = one_in(2) ? static_cast<Activation>(random_.below(5)) : Activation::kNone;
  e.residual = one_in(3);
  e.clamp = one_in(3);
  return e;
}

Signature CaseSource::signature() {
  Signature s = {.types = types()};
  s.grouped = one_in(8);
  s.trans_a = !s.grouped && one_in(2) ? Transpose::kYes : Transpose::kNo;
  s.trans_b = quantized(s.types) || one_in(2) ? Transpose::kYes : Transpose::kNo;
  s.epilogue = epilogue(s.types);
  return s;
}

SoakCase CaseSource::session(bool drop_in) {
  constexpr int kAttempts = 200;
  std::vector<Family> names;
  for (const auto& [family, variants] : families_) names.push_back(family);
  while (true) {
    SoakCase test;
    test.tuned = signature();
    if (drop_in) {
      test.tuned = {.types = parse_types(one_in(3) ? "f64" : "f32"),
                    .trans_a = test.tuned.trans_a,
                    .trans_b = test.tuned.trans_b};
      test.way = Way::kFortran;
      test.tier = any_of<TierChoice>(
          {TierChoice::kDevice, TierChoice::kDevice, TierChoice::kAuto, TierChoice::kHost});
    }
    const std::vector<Variant>& family = families_.at(any_of(names));
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      test.kernel = any_of(family);
      if (illegal_reason(test.kernel, limits_, test.tuned) ||
          compiler_work(test.kernel, test.tuned) > most_work_)
        continue;
      test.host = static_cast<HostSpeed>(random_.below(3));
      other_ = one_in(2) ? signature() : test.tuned;
      test.deterministic = !drop_in && one_in(8);
      return test;
    }
  }
}

std::int64_t CaseSource::size(int tile) {
  const auto t = static_cast<std::int64_t>(tile);
  switch (random_.below(8)) {
    case 0:
      return 1;
    case 1:
      return static_cast<std::int64_t>(random_.below(6));  // 0 among them
    case 2:
      return std::max<std::int64_t>(t - 1, 1);
    case 3:
      return t;
    case 4:
      return t + 1;
    case 5:
      return 2 * t + static_cast<std::int64_t>(random_.below(3)) - 1;
    default:
      return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(2 * t + 37)));
  }
}

void CaseSource::draw_sizes(Problem& p, const Variant& v) {
  const int depth = std::max({v.tile_k, v.unroll_k, p.types.b.block}) * v.dot;
  p.m = size(v.tile_m);
  p.n = size(v.tile_n);
  p.k = size(depth * (one_in(3) ? v.split_k : 1));
  p.batch = one_in(4) || v.tile_batch > 1 ? static_cast<std::int64_t>(random_.below(
                                                static_cast<std::uint64_t>(2 * v.tile_batch + 2))) +
                                                1
                                          : 1;
  if (v.edge == Edge::kExact && one_in(2)) {
    p.m = round_up(std::max<std::int64_t>(p.m, 1), v.tile_m);
    p.n = round_up(std::max<std::int64_t>(p.n, 1), v.tile_n);
    p.k = round_up(std::max<std::int64_t>(p.k, 1), std::max(v.tile_k, v.unroll_k) * v.dot);
  }
  const std::int64_t larger = one_in(20) ? kLargerBy : 1;
  while (p.m * p.n * p.batch > larger * kMostElements || steps(p) > larger * kMostSteps) {
    std::int64_t& largest =
        std::max({std::ref(p.m), std::ref(p.n), std::ref(p.k), std::ref(p.batch)},
                 [](const auto& x, const auto& y) { return x.get() < y.get(); })
            .get();
    largest = largest / 2 + static_cast<std::int64_t>(random_.below(2));
  }
}

void CaseSource::draw_scalars(Problem& p) {
  const std::vector<float> scalars = {1, 0, -1, 0.5f, -0.75f, 2};
  p.alpha = one_in(2) ? 1 : any_of(scalars);
  p.beta = one_in(2) ? 0 : any_of(scalars);
  if (p.types.c == DataType::kI32) {
    p.alpha = p.alpha != 0 ? 1 : 0;
    p.beta = p.beta != 0 ? 1 : 0;
  }
  set_clamp_limits(p);
}

/// Leading dimensions, strides, and where operands begin.
void CaseSource::draw_memory(SoakCase& test) {
  Problem& p = test.problem;
  const auto more = [&](std::int64_t ld) {
    switch (random_.below(4)) {
      case 0:
        return ld;
      case 1:
        return round_up(ld, 4);
      case 2:
        return round_up(ld + 1, 8);
      default:
        return ld + static_cast<std::int64_t>(random_.below(9));
    }
  };
  const auto stride = [&](Extent extent, std::int64_t ld) {
    return std::max<std::int64_t>(more(std::max<std::int64_t>(extent.rows, 1) * ld), 1);
  };
  p.lda = more(p.lda);
  p.ldc = more(p.ldc);
  if (!quantized(p.types)) p.ldb = more(p.ldb);
  if (p.batch > 1) {
    p.stride_a = one_in(6) ? 0 : stride(stored_a(p), p.lda);
    p.stride_b = quantized(p.types) || one_in(4) ? 0 : stride(stored_b(p), p.ldb);
    p.stride_c = stride({p.m, p.n}, p.ldc);
  }
  if (is_grouped(p) && !quantized(p.types)) p.stride_b = stride(stored_b(p), p.ldb);
  test.shift = one_in(3) ? static_cast<int>(random_.below(4)) : 0;
}

void CaseSource::draw_groups(SoakCase& test) {
  Problem& p = test.problem;
  const auto experts = static_cast<std::int64_t>(1 + random_.below(4));
  std::int64_t left = p.m;
  for (std::uint64_t i = random_.below(6); i > 0; --i) {
    const auto rows =
        one_in(4) ? 0
                  : static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(left + 1)));
    test.groups.push_back(
        {.expert = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(experts))),
         .rows = rows});
    left -= rows;
  }
  p.grouping = grouping_of(test.groups, experts);
}

void CaseSource::draw_way(SoakCase& test) {
  const Problem& p = test.problem;
  const bool plain = p.types == Types{} && !any(p.epilogue) && p.batch == 1 && !is_grouped(p);
  std::vector<Way> ways = {Way::kGemm, Way::kResident, Way::kList, Way::kKernel, Way::kKernel};
  if (!is_grouped(p)) ways.insert(ways.end(), {Way::kPacked, Way::kVulkan});
  if (!is_grouped(p) && !quantized(p.types)) ways.push_back(Way::kPointers);
  if (!is_grouped(p) || !quantized(p.types)) ways.push_back(Way::kPackedResident);
  if (plain) ways.push_back(Way::kSgemm);
  test.way = any_of(ways);
  test.packed = one_in(3) && !is_grouped(p) ? Operand::kA : Operand::kB;
  test.original = one_in(2);
  test.layout =
      one_in(3) && !quantized(p.types) && !is_grouped(p) ? Layout::kColumnMajor : Layout::kRowMajor;
  test.tier = one_in(3) ? any_of<TierChoice>({TierChoice::kAuto, TierChoice::kHost,
                                              TierChoice::kHost1, TierChoice::kHost64})
                        : TierChoice::kDevice;
  if (test.way == Way::kPackedResident || test.way == Way::kPacked) {
    if (test.packed == Operand::kA) test.problem.stride_a = 0;
    if (test.packed == Operand::kB && !is_grouped(p)) test.problem.stride_b = 0;
  }
}

void CaseSource::draw_drop_in(SoakCase& test) {
  test.way = any_of<Way>({Way::kFortran, Way::kCblas, Way::kStrided, Way::kArrays});
  if (test.tuned.trans_a != test.tuned.trans_b && one_in(4)) test.way = Way::kSyrk;
  test.layout = test.way != Way::kFortran && test.way != Way::kSyrk && one_in(2)
                    ? Layout::kRowMajor
                    : Layout::kColumnMajor;
}

void CaseSource::draw_accuracy(SoakCase& test) {
  if (one_in(6)) test.accuracy = static_cast<Accuracy>(random_.below(7));
  if (test.way >= Way::kResident && !one_in(8)) test.accuracy = Accuracy::kDefault;
  test.scan = test.way < Way::kResident && one_in(16);
  test.spots = test.way < Way::kResident && one_in(16);
  if (one_in(4)) test.special = static_cast<Special>(1 + random_.below(3));
  test.nan_in_c = one_in(3) && test.problem.types.c != DataType::kI32;
  test.seed = test.special == Special::kNan ? random_.below(1 << 16) : 0;
}

void CaseSource::draw_alias(SoakCase& test) {
  if (!one_in(12)) return;
  Problem& p = test.problem;
  test.alias = static_cast<Alias>(1 + random_.below(3));
  if (test.alias == Alias::kAB) share_a_and_b(p);
  if (test.alias == Alias::kResidual) {
    p.ldc = std::max<std::int64_t>(round_up(p.n, 4), 1);
    if (p.batch > 1) p.stride_c = std::max<std::int64_t>(p.m * p.ldc, 1);
  }
}

SoakCase CaseSource::next(const SoakCase& session) {
  const bool drop_in = session.way == Way::kFortran;
  while (true) {
    SoakCase test = session;
    const Signature s = drop_in || !one_in(6) ? session.tuned : other_;
    Problem& p = test.problem;
    p = {.types = s.types, .trans_a = s.trans_a, .trans_b = s.trans_b, .epilogue = s.epilogue};
    draw_sizes(p, session.kernel);
    if (drop_in) draw_drop_in(test);
    if (s.grouped || (drop_in && test.way != Way::kStrided && test.way != Way::kArrays))
      p.batch = 1;
    const Problem sizes = p;
    p = packed_problem(p.m, p.n, p.k, s.trans_a, s.trans_b, p.batch, s.types);
    if (s.grouped) {
      draw_groups(test);
      p = grouped_problem(p.m, p.n, p.k, p.grouping, s.trans_b, s.types);
    }
    p.epilogue = sizes.epilogue;
    draw_scalars(p);
    draw_memory(test);
    if (!drop_in) draw_way(test);
    draw_accuracy(test);
    if (drop_in) test.accuracy = Accuracy::kDefault, test.scan = test.spots = false;
    if (test.way == Way::kSyrk) {
      test.alias = Alias::kAB;
      share_a_and_b(p);
    } else {
      draw_alias(test);
    }
    if (!goes_together(test)) continue;
    // Most calls are ones that the kernel can compute.
    const bool is_legal = !illegal_reason(test.kernel, limits_, p, guarded_placement(p));
    if (is_legal || (test.way != Way::kKernel && (s != session.tuned || one_in(4)))) return test;
  }
}

bool goes_together(const SoakCase& test) {
  const Problem& p = test.problem;
  try {
    validate(p, Layout::kRowMajor);
  } catch (const Error&) {
    return false;
  }
  const bool drop_in = is_drop_in(test.way);
  const bool packs = test.way == Way::kPacked || test.way == Way::kPackedResident;
  // Experts without elements are not packed.
  if (packs && is_grouped(p) && (p.n == 0 || p.k == 0)) return false;
  if (packs && !is_grouped(p) && (test.packed == Operand::kA ? p.stride_a : p.stride_b) != 0)
    return false;
  // These ways have no tiers, or have them from the environment.
  if (is_resident(test.way) && test.tier != TierChoice::kAuto && test.tier != TierChoice::kDevice)
    return false;
  if (p.batch < 1 || p.m < 0 || p.n < 0 || p.k < 0 || (p.batch > 1 && p.stride_c < 1)) return false;
  if (test.way == Way::kPointers && (quantized(p.types) || is_grouped(p))) return false;
  if (test.way == Way::kVulkan && is_grouped(p)) return false;
  switch (test.alias) {
    case Alias::kNone:
      break;
    case Alias::kAB:
      if (quantized(p.types) || is_grouped(p) || p.lda != p.ldb || p.stride_a != p.stride_b ||
          test.special == Special::kNan || stored_a(p).rows != stored_b(p).rows ||
          stored_a(p).columns != stored_b(p).columns)
        return false;
      break;
    case Alias::kResidual:
      if (!p.epilogue.residual || p.types.c != epilogue_type(p.types) ||
          p.ldc != round_up(p.n, 4) || (p.batch > 1 && p.stride_c != p.m * p.ldc) ||
          test.special == Special::kNan || test.nan_in_c)
        return false;
      break;
    case Alias::kCInA:
      // It has to be refused: A is read and C written.
      if ((test.way != Way::kGemm && test.way != Way::kSgemm) || p.alpha == 0 || steps(p) == 0)
        return false;
  }
  const Alias needed = test.way == Way::kSyrk ? Alias::kAB : Alias::kNone;
  if (drop_in && (test.alias != needed || p.k == 0)) return false;
  if (test.way == Way::kSyrk && (p.trans_a == p.trans_b || p.m != p.n || p.batch != 1))
    return false;
  if (test.way != Way::kKernel) return true;
  return test.alias == Alias::kNone && test.special != Special::kNan && test.shift == 0 &&
         test.layout == Layout::kRowMajor && test.tuned == signature_of(p);
}

}  // namespace rooftile
