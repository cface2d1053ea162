#include "runtime/verify/certify_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "core/error.h"
#include "core/half.h"
#include "core/round.h"
#include "runtime/verify/random_operand.h"
#include "runtime/verify/reference.h"

namespace rooftile {
namespace {

// Certification problems are tiny, but the first run may compile.
constexpr double kTimeoutNs = 20e9;
// Guard zone on both sides of every operand, in elements. It keeps offsets 16-byte aligned. A
// quantised B and its scales start at the beginning of their buffers.
constexpr std::int64_t kGuardElements = 64;

std::int64_t guard_b(const Problem& p) { return quantized(p.types) ? 0 : kGuardElements; }

// Device-visible copy of a host vector; on memory that is not unified, the data passes through a
// mapped buffer.
class Exchange {
 public:
  Exchange(Device& device, const std::vector<char>& content)
      : device_(device),
        bytes_(static_cast<std::uint64_t>(
            round_up(std::max<std::int64_t>(static_cast<std::int64_t>(content.size()), 16), 16))),
        kernel_side_(device.create_buffer(bytes_, BufferUse::kDevice)),
        host_side_(device.create_buffer(bytes_, BufferUse::kDownload)) {
    std::copy(content.begin(), content.end(), static_cast<char*>(host_side_.mapped()));
    copy(host_side_, kernel_side_);
  }

  const Buffer& kernel_side() const { return kernel_side_; }
  /// Returns the content after the kernels have run.
  const char* fetch() {
    copy(kernel_side_, host_side_);
    return static_cast<const char*>(host_side_.mapped());
  }

 private:
  void copy(const Buffer& source, const Buffer& target) {
    const std::vector<Step> steps = {CopyStep{{&source, 0, bytes_}, {&target, 0, bytes_}}};
    CommandList list = device_.record(steps);
    device_.run(list, kTimeoutNs);
  }
  Device& device_;
  std::uint64_t bytes_;
  Buffer kernel_side_, host_side_;
};

// Half precision has denormals where float32 has none.
float smallest_normal(DataType type) {
  return type == DataType::kF16 ? 0x1p-14f : std::numeric_limits<float>::min();
}

bool is_integer(DataType type) { return is_8_bit(type) || type == DataType::kI32; }

/// Returns a buffer of elements that belong to no matrix yet: NaN, or random bytes for types
/// without NaN.
std::vector<char> guarded_buffer(DataType type, std::int64_t elements, Random& random) {
  std::vector<char> buffer(static_cast<std::size_t>(elements * bytes_of(type)));
  if (is_integer(type)) {
    std::generate(buffer.begin(), buffer.end(),
                  [&] { return static_cast<char>(random.below(256)); });
    return buffer;
  }
  const std::vector<float> nan(static_cast<std::size_t>(elements),
                               std::numeric_limits<float>::quiet_NaN());
  narrow(type, nan.data(), buffer.data(), elements);
  return buffer;
}

void fill(char* matrix, Extent extent, std::int64_t ld, DataType type, InjectedFault plant,
          Random& random) {
  std::vector<float> row(static_cast<std::size_t>(extent.columns));
  for (std::int64_t r = 0; r < extent.rows; ++r) {
    for (float& value : row) {
      value = random.symmetric();
      const std::uint64_t draw = random.below(16);
      if (is_integer(type)) {
        value = static_cast<float>(static_cast<int>(random.below(256)) -
                                   (type == DataType::kU8 ? 0 : 128));
        continue;
      }
      if (plant == InjectedFault::kDenormals && draw < 4) value *= smallest_normal(type);
      if (plant == InjectedFault::kInfinities && draw == 0)
        value = std::copysign(std::numeric_limits<float>::infinity(), value);
    }
    narrow(type, row.data(), matrix + r * ld * bytes_of(type), extent.columns);
  }
}

std::string describe(const CertificationCase& test) {
  const Problem& p = test.problem;
  const char* plant = test.plant == InjectedFault::kDenormals    ? ", denormals"
                      : test.plant == InjectedFault::kInfinities ? ", infinities"
                                                                 : "";
  return fmt::format("{} lda {} ldb {} ldc {} alpha {} beta {}{}{}", to_string(p), p.lda, p.ldb,
                     p.ldc, p.alpha, p.beta, plant, test.nan_in_c ? ", NaN in C" : "");
}

class Checker {
 public:
  Checker(Device& device, const Kernel& kernel, const CertificationCase& test)
      : device_(device), kernel_(kernel), test_(test), p_(test.problem) {}

  CaseResult run();

 private:
  void make_operands();
  EpilogueValues values(std::int64_t product, std::int64_t row, std::int64_t column) const;
  CaseResult compare(const char* after) const;

  Device& device_;
  const Kernel& kernel_;
  const CertificationCase& test_;
  const Problem& p_;
  std::vector<char> a_, b_, c_;  // Contents of the buffers, guard zones included.
  RandomQuantization quantization_;
  std::vector<float> vectors_, residual_;  // Operands of the epilogue; at least a few elements.
  Placement placement_;
};

EpilogueValues Checker::values(std::int64_t product, std::int64_t row, std::int64_t column) const {
  const auto vector = [&](std::int64_t at) {
    return static_cast<double>(vectors_[static_cast<std::size_t>(at)]);
  };
  const Epilogue& e = p_.epilogue;
  EpilogueValues x;
  if (e.row_scale) x.row_scale = vector(placement_.offset_row_scale + row);
  if (e.column_scale) x.column_scale = vector(placement_.offset_column_scale + column);
  if (e.bias != Bias::kNone)
    x.bias = vector(placement_.offset_bias + (e.bias == Bias::kRow ? row : column));
  if (e.residual)
    x.residual = static_cast<double>(residual_[static_cast<std::size_t>(
        product * placement_.stride_residual + row * placement_.ld_residual + column)]);
  return x;
}

void Checker::make_operands() {
  Random random(0x5eed + static_cast<std::uint64_t>(p_.m * 31 + p_.n * 17 + p_.k));
  const GuardedSizes sizes = guarded_sizes(p_);
  const Types& t = p_.types;
  // Elements outside the matrix, also those between its rows, stay NaN, so that a read past a row
  // shows.
  a_ = guarded_buffer(t.a, sizes.a, random);
  for (std::int64_t i = 0; i < p_.batch; ++i)
    fill(a_.data() + (kGuardElements + i * p_.stride_a) * bytes_of(t.a), stored_a(p_), p_.lda, t.a,
         test_.plant, random);
  if (quantized(t)) {
    b_ = random_b(t, sizes.b, random);
    quantization_ = random_quantization(p_, random);
  } else {
    b_ = guarded_buffer(t.a, sizes.b, random);
    for (std::int64_t i = 0; i < p_.batch; ++i)
      fill(b_.data() + (kGuardElements + i * p_.stride_b) * bytes_of(t.a), stored_b(p_), p_.ldb,
           t.a, test_.plant, random);
  }
  // Outside C lie canaries of random value.
  c_ = random_operand(DataType::kI8, sizes.c * bytes_of(t.c), random);
  if (t.c == DataType::kI32) {
    // The sums and the old C must not overflow together.
    for (std::size_t i = 3; i < c_.size(); i += 4) c_[i] = static_cast<char>(i % 2 == 0 ? 0 : -1);
  } else {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::int64_t i = 0; i < p_.batch; ++i)
      for (std::int64_t r = 0; r < p_.m; ++r)
        for (std::int64_t j = 0; j < p_.n; ++j) {
          const float value = test_.nan_in_c ? nan : random.symmetric();
          const std::int64_t at = kGuardElements + i * p_.stride_c + r * p_.ldc + j;
          narrow(t.c, &value, c_.data() + at * bytes_of(t.c), 1);
        }
  }
  placement_ = guarded_placement(p_);
  const EpilogueElements fused = epilogue_elements(p_);
  const auto fill_floats = [&](std::vector<float>& target, std::int64_t elements) {
    target.resize(static_cast<std::size_t>(std::max<std::int64_t>(elements, 4)));
    std::generate(target.begin(), target.end(), [&] { return random.symmetric(); });
  };
  fill_floats(vectors_, fused.vectors);
  fill_floats(residual_, fused.residual);
}

std::vector<char> bytes_of_floats(const std::vector<float>& floats) {
  std::vector<char> bytes(floats.size() * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  return bytes;
}

CaseResult Checker::run() {
  make_operands();
  const Exchange a(device_, a_), b(device_, b_);
  Exchange c(device_, c_);
  const Exchange vectors(device_, bytes_of_floats(vectors_)),
      residual(device_, bytes_of_floats(residual_)), scales(device_, quantization_.scales),
      zero_points(device_, quantization_.zero_points);
  const GemmPlan plan = kernel_.plan(p_, placement_);
  const auto panel = [&](std::int64_t elements) {
    // NaN in the workspace exposes a pack kernel that leaves padding unwritten.
    if (elements == 0) return std::unique_ptr<Exchange>();
    return std::make_unique<Exchange>(
        device_, bytes_of_floats(std::vector<float>(static_cast<std::size_t>(elements),
                                                    std::numeric_limits<float>::quiet_NaN())));
  };
  const auto packed_a = panel(plan.packed_a_elements), packed_b = panel(plan.packed_b_elements),
             parts = panel(plan.part_elements);
  const Operands operands = {&a.kernel_side(),       &b.kernel_side(),
                             &c.kernel_side(),       placement_,
                             &vectors.kernel_side(), &residual.kernel_side(),
                             &scales.kernel_side(),  &zero_points.kernel_side()};
  const Workspace workspace = {packed_a ? &packed_a->kernel_side() : nullptr,
                               packed_b ? &packed_b->kernel_side() : nullptr,
                               parts ? &parts->kernel_side() : nullptr};
  CommandList list = device_.record(kernel_.steps(plan, operands, workspace).steps);
  device_.run(list, kTimeoutNs);
  return compare(c.fetch());
}

CaseResult Checker::compare(const char* after) const {
  const Problem one = one_product(p_);
  const std::int64_t bytes_c = bytes_of(p_.types.c);
  const std::int64_t elements = static_cast<std::int64_t>(c_.size()) / bytes_c;
  CaseResult result;
  std::int64_t widened = -1;
  WideOperands operands;
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::int64_t inside = i - kGuardElements;
    const std::int64_t product =
        p_.batch == 1 || inside < 0 ? 0 : std::min(inside / p_.stride_c, p_.batch - 1);
    const std::int64_t in_product = inside - product * p_.stride_c;
    const std::int64_t row = inside >= 0 ? in_product / p_.ldc : -1,
                       column = inside >= 0 ? in_product % p_.ldc : -1;
    const bool in_matrix = row >= 0 && row < p_.m && column < p_.n;
    if (!in_matrix) {
      if (std::memcmp(after + i * bytes_c, c_.data() + i * bytes_c,
                      static_cast<std::size_t>(bytes_c)) != 0) {
        result.wrong = fmt::format("{}: wrote outside of C, {} elements from its start",
                                   describe(test_), inside);
        return result;
      }
      continue;
    }
    if (product != widened) {
      widened = product;
      operands =
          widen(one, {a_.data() + (kGuardElements + product * p_.stride_a) * bytes_of(p_.types.a),
                      b_.data() + bytes_of_b(p_.types, guard_b(p_) + product * p_.stride_b),
                      quantization_.scales.data(), quantization_.zero_points.data()});
    }
    const ReferenceElement expected =
        reference_element(one, operands, element(p_.types.c, c_.data(), i),
                          values(product, row, column), row, column);
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
  return {size(stored_a(p), p.lda, p.stride_a, kGuardElements),
          size(stored_b(p), p.ldb, p.stride_b, kGuardElements),
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

CaseResult run_case(Device& device, const Kernel& kernel, const CertificationCase& test) {
  return Checker(device, kernel, test).run();
}

}  // namespace rooftile
