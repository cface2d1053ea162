#include "soak_operands.h"

#include <cstring>
#include <limits>

#include "core/half.h"
#include "core/numbers/random.h"

namespace rooftile {

CertificationCase SoakOperands::certification_case(const SoakCase& test) {
  return {.problem = test.problem,
          .plant = test.special == Special::kDenormals    ? InjectedFault::kDenormals
                   : test.special == Special::kInfinities ? InjectedFault::kInfinities
                                                          : InjectedFault::kNothing,
          .nan_in_c = test.nan_in_c,
          .groups = test.groups};
}

SoakOperands::SoakOperands(const SoakCase& test)
    : case_(certification_case(test)), before_(certification_operands(case_)) {
  if (test.accuracy == Accuracy::kExact64 && !is_resident(test.way) &&
      !has_precise_sums(test.problem.types))
    case_.problem.types.sums = Sums::kF64;
  if (test.special == Special::kNan) plant_nan(test);
  if (test.alias == Alias::kAB) before_.b = before_.a;
  if (test.alias == Alias::kResidual) {
    const auto first =
        static_cast<std::size_t>(before_.placement.offset_c * bytes_of(test.problem.types.c));
    std::memcpy(before_.residual.data(), before_.c.data() + first,
                std::min(before_.residual.size(), before_.c.size() - first));
  }
  const Types& t = test.problem.types;
  const std::int64_t shift = test.shift;
  a = {before_.a, shift * bytes_of(t.a)};
  b = {before_.b, quantized(t) ? shift : shift * bytes_of(t.a)};
  c = {before_.c, shift * bytes_of(t.c)};
  scales = {before_.scales, shift * bytes_of(t.a)};
  zero_points = {before_.zero_points, shift * bytes_of(t.a)};
  vectors = {before_.vectors, shift * bytes_of(epilogue_type(t))};
  residual = {before_.residual, shift * bytes_of(epilogue_type(t))};
}

/// NaN in one element of A and, where it has such, of B and of a C that is read.
void SoakOperands::plant_nan(const SoakCase& test) {
  const Problem& p = test.problem;
  Random random(test.seed);
  const auto plant = [&](std::vector<char>& memory, DataType type, std::int64_t offset,
                         Extent extent, std::int64_t ld) {
    if (extent.rows == 0 || extent.columns == 0) return;
    const auto row =
                   static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(extent.rows))),
               column = static_cast<std::int64_t>(
                   random.below(static_cast<std::uint64_t>(extent.columns)));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    narrow(type, &nan, memory.data() + (offset + row * ld + column) * bytes_of(type), 1);
  };
  const Placement& at = before_.placement;
  if (is_8_bit(p.types.a)) return;
  if (test.seed % 3 != 0) plant(before_.a, p.types.a, at.offset_a, stored_a(p), p.lda);
  if (!quantized(p.types) && test.seed % 3 != 1)
    plant(before_.b, p.types.a, at.offset_b, stored_b(p), p.ldb);
  if (test.seed % 2 == 0 && p.types.c != DataType::kI32)
    plant(before_.c, p.types.c, at.offset_c, {p.m, p.n}, p.ldc);
}

bool SoakOperands::c_is_untouched() const {
  return std::memcmp(c.data(), before_.c.data(), before_.c.size()) == 0;
}

std::string SoakOperands::changed_input() const {
  if (std::memcmp(a.data(), before_.a.data(), before_.a.size()) != 0) return "A was changed";
  if (std::memcmp(b.data(), before_.b.data(), before_.b.size()) != 0) return "B was changed";
  return "";
}

}  // namespace rooftile
