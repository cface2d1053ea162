#include "runtime/verify/certification_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "core/half.h"
#include "core/round.h"
#include "runtime/verify/random_operand.h"
#include "runtime/verify/reference.h"

namespace rooftile {
namespace {

// Guard zone on both sides of every operand, in elements. It keeps offsets 16-byte aligned. A
// quantised B and its scales start at the beginning of their buffers.
constexpr std::int64_t kGuardElements = 64;

std::int64_t guard_b(const Problem& p) { return quantized(p.types) ? 0 : kGuardElements; }

// Half precision has denormals where float32 has none.
double smallest_normal(DataType type) {
  return type == DataType::kF16   ? 0x1p-14
         : type == DataType::kF64 ? std::numeric_limits<double>::min()
                                  : 0x1p-126;
}

/// A value of [-1, 1], of float64 with all of its bits.
double random_value(DataType type, Random& random) {
  const double value = random.symmetric();
  return type == DataType::kF64 ? (value + random.symmetric() * 0x1p-26) / (1 + 0x1p-26) : value;
}

bool is_integer(DataType type) { return is_8_bit(type) || type == DataType::kI32; }

/// Returns a buffer of elements that belong to no matrix yet: `guard`, or random bytes for
/// integers.
std::vector<char> guarded_buffer(DataType type, std::int64_t elements, float guard,
                                 Random& random) {
  std::vector<char> buffer(static_cast<std::size_t>(elements * bytes_of(type)));
  if (is_integer(type)) {
    std::generate(buffer.begin(), buffer.end(),
                  [&] { return static_cast<char>(random.below(256)); });
    return buffer;
  }
  const std::vector<float> guards(static_cast<std::size_t>(elements), guard);
  narrow(type, guards.data(), buffer.data(), elements);
  return buffer;
}

/// along_k: whether rows run along k. beside_equal: whether the other operand's elements are equal
/// with InjectedFault::kOneLarge.
void fill(char* matrix, Extent extent, std::int64_t ld, DataType type, InjectedFault plant,
          bool along_k, bool beside_equal, Random& random) {
  std::vector<double> row(static_cast<std::size_t>(extent.columns));
  for (std::int64_t r = 0; r < extent.rows; ++r) {
    for (std::int64_t at = 0; at < extent.columns; ++at) {
      double& value = row[static_cast<std::size_t>(at)];
      value = random_value(type, random);
      const std::uint64_t draw = random.below(16);
      if (is_integer(type)) {
        value = static_cast<int>(random.below(256)) - (type == DataType::kU8 ? 0 : 128);
        continue;
      }
      if (plant == InjectedFault::kDenormals && draw < 4) value *= smallest_normal(type);
      if (plant == InjectedFault::kInfinities && draw == 0)
        value = std::copysign(std::numeric_limits<double>::infinity(), value);
      if (plant == InjectedFault::kMagnitudes) {
        const int most = type == DataType::kF64 ? 480 : 60;
        value = std::ldexp(
            value, static_cast<int>(random.below(2 * static_cast<std::uint64_t>(most) + 1)) - most);
      }
      if (plant == InjectedFault::kTwoScales)
        value = std::ldexp(value, (at < kRoundedSteps ? 0 : 5) - (r % 2 == 0 ? 0 : 100));
      if (plant == InjectedFault::kOneLarge)
        value = (along_k ? at : r) == 3 ? 1
                : beside_equal          ? 0x1.fcp-23
                                        : std::ldexp(1.4 + std::abs(value) / 80, -12);
    }
    narrow(type, row.data(), matrix + r * ld * bytes_of(type), extent.columns);
  }
}

std::string describe(const std::vector<Group>& groups) {
  std::string text;
  for (const Group& group : groups)
    text += fmt::format("{}{} of expert {}", text.empty() ? ", groups of " : ", ", group.rows,
                        group.expert);
  return text;
}

std::string describe(const CertificationCase& test) {
  const Problem& p = test.problem;
  const char* plant = test.plant == InjectedFault::kDenormals    ? ", denormals"
                      : test.plant == InjectedFault::kInfinities ? ", infinities"
                      : test.plant == InjectedFault::kMagnitudes ? ", all magnitudes"
                      : test.plant == InjectedFault::kOneLarge   ? ", one large product"
                      : test.plant == InjectedFault::kTwoScales  ? ", rows of two scales"
                                                                 : "";
  return fmt::format("{} lda {} ldb {} ldc {} alpha {} beta {}{}{}", to_string(p), p.lda, p.ldb,
                     p.ldc, p.alpha, p.beta, plant, test.nan_in_c ? ", NaN in C" : "") +
         describe(test.groups);
}

class Comparison {
 public:
  Comparison(const CertificationCase& test, const CertificationOperands& operands)
      : test_(test), x_(operands), p_(test.problem) {}

  CaseResult run(const char* after) const;

 private:
  /// A row of C: the matrix of the batch and the row in it; of a grouped problem the expert.
  struct Row {
    std::int64_t product, row;
  };
  /// No value: no result belongs to this row.
  std::optional<Row> written_row(std::int64_t product, std::int64_t row) const;
  WideOperands widened(std::int64_t product) const;
  EpilogueValues values(const Row& there, std::int64_t column) const;

  const CertificationCase& test_;
  const CertificationOperands& x_;
  const Problem& p_;
};

std::optional<Comparison::Row> Comparison::written_row(std::int64_t product,
                                                       std::int64_t row) const {
  if (row < 0 || row >= p_.m) return std::nullopt;
  if (!is_grouped(p_)) return Row{product, row};
  std::int64_t end = 0;
  for (const Group& group : test_.groups) {
    end += group.rows;
    if (row < end) return Row{group.expert, row};
  }
  return std::nullopt;
}

WideOperands Comparison::widened(std::int64_t product) const {
  const std::int64_t product_of_a = is_grouped(p_) ? 0 : product;
  const char* const b = x_.b.data() + bytes_of_b(p_.types, guard_b(p_) + product * p_.stride_b);
  // The scales of an expert lie behind those of the experts before it.
  const QuantizedBytes all = quantized_bytes(p_);
  const std::int64_t before = is_grouped(p_) ? product : 0, of = matrices_b(p_);
  return widen(one_product(p_),
               {x_.a.data() + (kGuardElements + product_of_a * p_.stride_a) * bytes_of(p_.types.a),
                b, x_.scales.data() + before * (all.scales / of),
                x_.zero_points.data() + before * (all.zero_points / of)});
}

EpilogueValues Comparison::values(const Row& there, std::int64_t column) const {
  const auto [product, row] = there;
  const std::int64_t columns = is_grouped(p_) ? product * x_.placement.expert_columns : 0;
  const std::int64_t residual = is_grouped(p_) ? 0 : product;
  const DataType type = epilogue_type(p_.types);
  const auto vector = [&](std::int64_t at) { return element(type, x_.vectors.data(), at); };
  const Epilogue& e = p_.epilogue;
  EpilogueValues x;
  if (e.row_scale) x.row_scale = vector(x_.placement.offset_row_scale + row);
  if (e.column_scale) x.column_scale = vector(x_.placement.offset_column_scale + columns + column);
  if (e.bias != Bias::kNone)
    x.bias = vector(x_.placement.offset_bias + (e.bias == Bias::kRow ? row : columns + column));
  if (e.residual)
    x.residual =
        element(type, x_.residual.data(),
                residual * x_.placement.stride_residual + row * x_.placement.ld_residual + column);
  return x;
}

CaseResult Comparison::run(const char* after) const {
  const Problem one = one_product(p_);
  const std::int64_t bytes_c = bytes_of(p_.types.c);
  const std::int64_t elements = static_cast<std::int64_t>(x_.c.size()) / bytes_c;
  CaseResult result;
  std::int64_t present = -1;
  WideOperands operands;
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::int64_t inside = i - kGuardElements;
    const std::int64_t product =
        p_.batch == 1 || inside < 0 ? 0 : std::min(inside / p_.stride_c, p_.batch - 1);
    const std::int64_t in_product = inside - product * p_.stride_c;
    const std::int64_t row = inside >= 0 ? in_product / p_.ldc : -1,
                       column = inside >= 0 ? in_product % p_.ldc : -1;
    const std::optional<Row> at = written_row(product, row);
    if (!at || column >= p_.n) {
      if (std::memcmp(after + i * bytes_c, x_.c.data() + i * bytes_c,
                      static_cast<std::size_t>(bytes_c)) != 0) {
        result.wrong = fmt::format("{}: wrote outside of C, {} elements from its start",
                                   describe(test_), inside);
        return result;
      }
      continue;
    }
    if (at->product != present) {
      present = at->product;
      operands = widened(present);
    }
    const ReferenceElement expected = reference_element(
        one, operands, element(p_.types.c, x_.c.data(), i), values(*at, column), row, column);
    const double got = element(p_.types.c, after, i);
    const double ratio = error_ratio(p_, expected, got);
    result.worst_ratio = std::max(result.worst_ratio, ratio);
    if (!(ratio <= 1.0)) {
      result.wrong =
          fmt::format("{}: product {}: C[{}][{}] is {}, expected {} within {:.3g}", describe(test_),
                      product, row, column, got, expected.value, error_bound(p_, expected));
      return result;
    }
  }
  return result;
}

}  // namespace

GuardedSizes guarded_sizes(const Problem& p) {
  // The last row's padding belongs to the buffer, as it does where operands are staged.
  const auto size = [&](Extent extent, std::int64_t ld, std::int64_t stride, std::int64_t guard) {
    return round_up((p.batch - 1) * stride + extent.rows * ld, 32) + 2 * guard;
  };
  const std::int64_t further_b = is_grouped(p) ? (matrices_b(p) - 1) * p.stride_b : 0;
  return {size(stored_a(p), p.lda, p.stride_a, kGuardElements),
          round_up(further_b, 32) + size(stored_b(p), p.ldb, p.stride_b, kGuardElements),
          size({p.m, p.n}, p.ldc, p.stride_c, kGuardElements)};
}

Placement guarded_placement(const Problem& p) {
  const GuardedSizes sizes = guarded_sizes(p);
  // The epilogue's operands have no guard zones, because they are only read.
  Placement at = own_buffers(p);
  at.offset_a = at.offset_c = kGuardElements;
  at.offset_b = guard_b(p);
  at.readable_a = sizes.a - kGuardElements;
  at.readable_b = sizes.b - guard_b(p);
  return at;
}

CertificationOperands certification_operands(const CertificationCase& test) {
  const Problem& p = test.problem;
  CertificationOperands x;
  Random random(0x5eed + static_cast<std::uint64_t>(p.m * 31 + p.n * 17 + p.k));
  const GuardedSizes sizes = guarded_sizes(p);
  const Types& t = p.types;
  // Elements outside the matrix, also those between its rows, stay NaN or large, so that a read
  // past a row shows.
  const float guard = test.finite_guards ? 0x1p15f : std::numeric_limits<float>::quiet_NaN();
  x.a = guarded_buffer(t.a, sizes.a, guard, random);
  for (std::int64_t i = 0; i < p.batch; ++i)
    fill(x.a.data() + (kGuardElements + i * p.stride_a) * bytes_of(t.a), stored_a(p), p.lda, t.a,
         test.plant, p.trans_a == Transpose::kNo, quantized(t), random);
  if (quantized(t)) {
    const bool equal = test.plant == InjectedFault::kOneLarge;
    x.b = equal ? equal_b(t, sizes.b) : random_b(t, sizes.b, random);
    const RandomQuantization quantization =
        equal ? equal_quantization(p) : random_quantization(p, random);
    x.scales = quantization.scales;
    x.zero_points = quantization.zero_points;
  } else {
    x.b = guarded_buffer(t.a, sizes.b, guard, random);
    for (std::int64_t i = 0; i < p.batch * matrices_b(p); ++i)
      fill(x.b.data() + (kGuardElements + i * p.stride_b) * bytes_of(t.a), stored_b(p), p.ldb, t.a,
           test.plant, p.trans_b == Transpose::kYes, false, random);
  }
  // Outside C lie canaries of random value.
  x.c = random_operand(DataType::kI8, sizes.c * bytes_of(t.c), random);
  if (t.c == DataType::kI32) {
    // The sums and the old C must not overflow together.
    for (std::size_t i = 3; i < x.c.size(); i += 4) x.c[i] = static_cast<char>(i % 2 == 0 ? 0 : -1);
  } else {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t i = 0; i < p.batch; ++i)
      for (std::int64_t r = 0; r < p.m; ++r)
        for (std::int64_t j = 0; j < p.n; ++j) {
          const double value = test.nan_in_c ? nan : random_value(t.c, random);
          const std::int64_t at = kGuardElements + i * p.stride_c + r * p.ldc + j;
          narrow(t.c, &value, x.c.data() + at * bytes_of(t.c), 1);
        }
  }
  x.placement = guarded_placement(p);
  const EpilogueElements fused = epilogue_elements(p);
  const auto filled = [&, type = epilogue_type(t)](std::int64_t elements) {
    std::vector<double> values(static_cast<std::size_t>(std::max<std::int64_t>(elements, 4)));
    std::generate(values.begin(), values.end(), [&] { return random_value(type, random); });
    std::vector<char> bytes(values.size() * static_cast<std::size_t>(bytes_of(type)));
    narrow(type, values.data(), bytes.data(), static_cast<std::int64_t>(values.size()));
    return bytes;
  };
  x.vectors = filled(fused.vectors);
  x.residual = filled(fused.residual);
  return x;
}

CaseResult compare_result(const CertificationCase& test, const CertificationOperands& operands,
                          const char* after) {
  return Comparison(test, operands).run(after);
}

}  // namespace rooftile
