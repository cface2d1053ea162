#include "tuner/certify.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/half.h"
#include "tuner/random.h"
#include "tuner/reference.h"

namespace rooftile {
namespace {

constexpr double kTimeoutNs = 20e9;  // certification problems are tiny; the first run may compile
constexpr std::int64_t kGuardElements =
    64;  // on both sides of every operand; keeps offsets 16-byte aligned
constexpr std::uint32_t kCanary = 0x7fc0dead;  // a NaN with a payload that no arithmetic produces

std::int64_t round_up(std::int64_t x, std::int64_t step) { return (x + step - 1) / step * step; }

std::vector<std::int64_t> sizes_around(std::int64_t tile, std::int64_t step) {
  const std::array<std::int64_t, 9> wanted = {
      1, 2, 3, 5, 17, tile - 1, tile, tile + 1, 2 * tile + 37};
  std::vector<std::int64_t> sizes;
  for (std::int64_t size : wanted)
    if (size > 0) sizes.push_back(round_up(size, step));
  return sizes;
}

// Padded past the row by an odd amount, or by as little as vector loads allow.
std::int64_t padded_ld(std::int64_t columns, int vector_width) {
  return vector_width == 1 ? columns + 3 : round_up(columns + 1, vector_width);
}

// Device-visible copy of a host vector: on memory that is not unified it goes through a mapped
// buffer.
class Exchange {
 public:
  Exchange(Device& device, std::uint64_t bytes)
      : device_(device),
        bytes_(bytes),
        kernel_side_(device.create_buffer(bytes, BufferUse::kDevice)),
        host_side_(device.create_buffer(bytes, BufferUse::kDownload)) {}

  float* host() const { return static_cast<float*>(host_side_.mapped()); }
  const Buffer& kernel_side() const { return kernel_side_; }
  void to_device() { copy(host_side_, kernel_side_); }
  void to_host() { copy(kernel_side_, host_side_); }

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

/// Past a matrix by a little, as vector loads allow.
std::int64_t batch_stride(std::int64_t span) { return round_up(span + 5, 4); }

// Half precision has denormals where float32 has none.
float smallest_normal(DataType type) {
  return type == DataType::kF16 ? 0x1p-14f : std::numeric_limits<float>::min();
}

void fill(float* matrix, Extent extent, std::int64_t ld, DataType type, Plant plant,
          Random& random) {
  for (std::int64_t r = 0; r < extent.rows; ++r) {
    for (std::int64_t c = 0; c < extent.columns; ++c) {
      float value = random.symmetric();
      const std::uint64_t draw = random.below(16);
      if (plant == Plant::kDenormals && draw < 4) value *= smallest_normal(type);
      if (plant == Plant::kInfinities && draw == 0)
        value = std::copysign(std::numeric_limits<float>::infinity(), value);
      matrix[r * ld + c] = value;
    }
  }
}

std::string describe(const CertificationCase& test) {
  const Problem& p = test.problem;
  const char* plant = test.plant == Plant::kDenormals    ? ", denormals"
                      : test.plant == Plant::kInfinities ? ", infinities"
                                                         : "";
  return fmt::format("{} lda {} ldb {} ldc {} alpha {} beta {}{}{}", to_string(p), p.lda, p.ldb,
                     p.ldc, p.alpha, p.beta, plant, test.nan_in_c ? ", NaN in C" : "");
}

/// Elements of the operand buffers with their guard zones.
struct GuardedSizes {
  std::int64_t a, b, c;
};
GuardedSizes guarded_sizes(const Problem& p) {
  // The last row's padding belongs to the buffer, as it does where operands are staged.
  const auto size = [&](Extent extent, std::int64_t ld, std::int64_t stride) {
    return round_up((p.batch - 1) * stride + extent.rows * ld, 8) + 2 * kGuardElements;
  };
  return {size(stored_a(p), p.lda, p.stride_a), size(stored_b(p), p.ldb, p.stride_b),
          size({p.m, p.n}, p.ldc, p.stride_c)};
}

Placement guarded_placement(const Problem& p, const GuardedSizes& sizes) {
  Placement at = own_buffers(p);  // the epilogue's operands have no guards: they are only read
  at.offset_a = at.offset_b = at.offset_c = kGuardElements;
  at.readable_a = sizes.a - kGuardElements;
  at.readable_b = sizes.b - kGuardElements;
  return at;
}

class Checker {
 public:
  Checker(Device& device, const Kernel& kernel) : device_(device), kernel_(kernel) {}

  /// Empty when right, else what is wrong.
  std::string run(const CertificationCase& test, double& worst_ratio);

 private:
  EpilogueValues values(const Problem& p, std::int64_t product, std::int64_t row,
                        std::int64_t column) const;
  std::string compare(const CertificationCase& test, const std::vector<float>& before,
                      const float* after, double& worst_ratio) const;
  Device& device_;
  const Kernel& kernel_;
  std::vector<char> a_, b_;                // what the operand buffers hold, guards included
  std::vector<float> vectors_, residual_;  // of the epilogue; an element at least
  Placement placement_;
};

EpilogueValues Checker::values(const Problem& p, std::int64_t product, std::int64_t row,
                               std::int64_t column) const {
  const auto vector = [&](std::int64_t at) {
    return static_cast<double>(vectors_[static_cast<std::size_t>(at)]);
  };
  const Epilogue& e = p.epilogue;
  EpilogueValues x;
  if (e.row_scale) x.row_scale = vector(placement_.offset_row_scale + row);
  if (e.column_scale) x.column_scale = vector(placement_.offset_column_scale + column);
  if (e.bias != Bias::kNone)
    x.bias = vector(placement_.offset_bias + (e.bias == Bias::kRow ? row : column));
  if (e.residual)
    x.residual = residual_[static_cast<std::size_t>(product * placement_.stride_residual +
                                                    row * placement_.ld_residual + column)];
  return x;
}

std::string Checker::run(const CertificationCase& test, double& worst_ratio) {
  const Problem& p = test.problem;
  Random random(0x5eed + static_cast<std::uint64_t>(p.m * 31 + p.n * 17 + p.k));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const GuardedSizes sizes = guarded_sizes(p);
  const std::int64_t size_a = sizes.a, size_b = sizes.b, size_c = sizes.c;

  // NaN everywhere that is not the matrix: between rows as well, so that reading past a row shows.
  std::vector<float> wide_a(static_cast<std::size_t>(size_a), nan);
  std::vector<float> wide_b(static_cast<std::size_t>(size_b), nan);
  for (std::int64_t i = 0; i < p.batch; ++i) {
    fill(wide_a.data() + kGuardElements + i * p.stride_a, stored_a(p), p.lda, p.type, test.plant,
         random);
    fill(wide_b.data() + kGuardElements + i * p.stride_b, stored_b(p), p.ldb, p.type, test.plant,
         random);
  }
  const auto stored = [&](const std::vector<float>& wide) {
    std::vector<char> elements(wide.size() * static_cast<std::size_t>(bytes_of(p.type)));
    narrow(p.type, wide.data(), elements.data(), static_cast<std::int64_t>(wide.size()));
    return elements;
  };
  a_ = stored(wide_a);
  b_ = stored(wide_b);
  std::vector<float> c(static_cast<std::size_t>(size_c), std::bit_cast<float>(kCanary));
  for (std::int64_t i = 0; i < p.batch; ++i)
    for (std::int64_t r = 0; r < p.m; ++r)
      for (std::int64_t j = 0; j < p.n; ++j)
        c[static_cast<std::size_t>(kGuardElements + i * p.stride_c + r * p.ldc + j)] =
            test.nan_in_c ? nan : random.symmetric();

  Exchange a(device_, a_.size()), b(device_, b_.size());
  Exchange result(device_, c.size() * sizeof(float));
  std::memcpy(a.host(), a_.data(), a_.size());
  std::memcpy(b.host(), b_.data(), b_.size());
  std::memcpy(result.host(), c.data(), c.size() * sizeof(float));
  a.to_device();
  b.to_device();
  result.to_device();

  const Placement& placement = placement_ = guarded_placement(p, sizes);
  const EpilogueElements fused = epilogue_elements(p);
  const auto exchange_of = [&](std::vector<float>& values, std::int64_t elements) {
    values.assign(static_cast<std::size_t>(std::max<std::int64_t>(elements, 4)), 0.0f);
    std::generate(values.begin(), values.end(), [&] { return random.symmetric(); });
    auto exchange = std::make_unique<Exchange>(device_, values.size() * sizeof(float));
    std::memcpy(exchange->host(), values.data(), values.size() * sizeof(float));
    exchange->to_device();
    return exchange;
  };
  const auto vectors = exchange_of(vectors_, fused.vectors);
  const auto residual = exchange_of(residual_, fused.residual);
  const GemmPlan plan = kernel_.plan(p, placement);
  const auto panel = [&](std::int64_t elements) {
    // NaN in the workspace: a pack kernel that leaves padding unwritten is caught.
    std::unique_ptr<Exchange> exchange;
    if (elements == 0) return exchange;
    exchange =
        std::make_unique<Exchange>(device_, static_cast<std::uint64_t>(elements) * sizeof(float));
    std::fill_n(exchange->host(), elements, nan);
    exchange->to_device();
    return exchange;
  };
  const auto packed_a = panel(plan.packed_a_elements), packed_b = panel(plan.packed_b_elements),
             parts = panel(plan.part_elements);
  const Operands operands = {&a.kernel_side(), &b.kernel_side(),        &result.kernel_side(),
                             placement,        &vectors->kernel_side(), &residual->kernel_side()};
  const Workspace workspace = {packed_a ? &packed_a->kernel_side() : nullptr,
                               packed_b ? &packed_b->kernel_side() : nullptr,
                               parts ? &parts->kernel_side() : nullptr};
  std::vector<Step> steps = kernel_.pack_steps(plan, operands, workspace);
  for (Step& step : kernel_.gemm_steps(plan, operands, workspace)) steps.push_back(std::move(step));
  for (Step& step : kernel_.reduce_steps(plan, operands, workspace))
    steps.push_back(std::move(step));
  CommandList list = device_.record(steps);
  device_.run(list, kTimeoutNs);
  result.to_host();
  return compare(test, c, result.host(), worst_ratio);
}

std::string Checker::compare(const CertificationCase& test, const std::vector<float>& before,
                             const float* after, double& worst_ratio) const {
  const Problem& p = test.problem;
  const Problem one = one_product(p);
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(before.size()); ++i) {
    const std::int64_t inside = i - kGuardElements;
    const std::int64_t product =
        p.batch == 1 || inside < 0 ? 0 : std::min(inside / p.stride_c, p.batch - 1);
    const std::int64_t in_product = inside - product * p.stride_c;
    const std::int64_t row = inside >= 0 ? in_product / p.ldc : -1,
                       column = inside >= 0 ? in_product % p.ldc : -1;
    const bool in_matrix = row >= 0 && row < p.m && column < p.n;
    if (!in_matrix) {
      if (bits(after[i]) != bits(before[static_cast<std::size_t>(i)]))
        return fmt::format("{}: wrote outside of C, {} elements from its start", describe(test),
                           inside);
      continue;
    }
    const auto of_product = [&](const std::vector<char>& operand, std::int64_t elements) {
      return operand.data() + (kGuardElements + elements) * bytes_of(p.type);
    };
    const ReferenceElement expected = reference_element(
        one, of_product(a_, product * p.stride_a), of_product(b_, product * p.stride_b),
        before[static_cast<std::size_t>(i)], values(p, product, row, column), row, column);
    const double ratio = error_ratio(roundings(p), expected, after[i]);
    worst_ratio = std::max(worst_ratio, ratio);
    if (!(ratio <= 1.0))
      return fmt::format("{}: product {}: C[{}][{}] is {}, expected {} within {:.3g}",
                         describe(test), product, row, column, after[i], expected.value,
                         error_bound(roundings(p), expected.magnitude));
  }
  return {};
}

void make_batch(Problem& p, std::int64_t batch) {
  p.batch = batch;
  p.stride_a = batch_stride(stored_a(p).rows * p.lda);
  p.stride_b = batch % 2 == 0 ? 0 : batch_stride(stored_b(p).rows * p.ldb);  // all share one B
  p.stride_c = batch_stride(p.m * p.ldc);
}

}  // namespace

std::vector<CertificationCase> certification_cases(const Variant& v, const Signature& s,
                                                   const DeviceLimits& limits) {
  const bool exact = v.edge == Edge::kExact;
  const std::int64_t step_k = exact ? std::max(v.tile_k, v.unroll_k) : 1;
  const std::vector<std::int64_t> ms = sizes_around(v.tile_m, exact ? v.tile_m : 1);
  const std::vector<std::int64_t> ns = sizes_around(v.tile_n, exact ? v.tile_n : 1);
  const std::vector<std::int64_t> ks =
      sizes_around(std::max({v.tile_k, v.unroll_k, 8}) * v.split_k, step_k);
  constexpr std::array<float, 4> kScalars = {1.0f, 0.0f, -1.0f, 0.5f};

  std::vector<CertificationCase> cases;
  // Three shifted rotations pair every size of one dimension with three of each other one, and
  // every alpha with every beta.
  for (std::size_t rotation = 0; rotation < 3; ++rotation) {
    for (std::size_t i = 0; i < ms.size(); ++i) {
      const std::size_t turn = rotation * ms.size() + i;
      const std::int64_t m = ms[i], n = ns[(i * 2 + rotation * 4) % ns.size()],
                         k = ks[(i * 4 + rotation * 7) % ks.size()];
      Problem p = packed_problem(m, n, k, s.trans_a, s.trans_b);
      p.type = s.type;
      p.lda = padded_ld(stored_a(p).columns, v.vector_width_a);
      p.ldb = padded_ld(stored_b(p).columns, v.vector_width_b);
      p.ldc = p.n + 1 + static_cast<std::int64_t>(turn % 3);
      // Every third case is a batch; kernels for batches get nothing else.
      if (turn % 3 == 2 || v.tile_batch > 1)
        make_batch(p, v.tile_batch + 1 + (turn % 2 == 0 ? 1 : 0));
      p.alpha = kScalars[turn % 4 == 1 && rotation != 0 ? 0 : turn % 4];
      p.beta = kScalars[(turn / 4 + rotation) % 4];
      p.epilogue = s.epilogue;
      p.epilogue.low = -0.75f;
      p.epilogue.high = 1.5f;
      cases.push_back({.problem = p,
                       .plant = turn % 9 == 4   ? Plant::kDenormals
                                : turn % 9 == 7 ? Plant::kInfinities
                                                : Plant::kNothing,
                       .nan_in_c = p.beta == 0.0f});
    }
  }
  // ldc as vector stores like it, so that their path is run too.
  Problem aligned = packed_problem(2 * v.tile_m, 2 * v.tile_n,
                                   round_up(3 * std::max(v.tile_k, v.unroll_k) * v.split_k, 4),
                                   s.trans_a, s.trans_b);
  aligned.type = s.type;
  aligned.epilogue = s.epilogue;
  aligned.epilogue.low = -0.75f;
  aligned.epilogue.high = 1.5f;
  aligned.lda = round_up(aligned.lda, 4);
  aligned.ldb = round_up(aligned.ldb, 4);
  aligned.ldc = round_up(aligned.ldc, 4);
  if (v.tile_batch > 1) make_batch(aligned, 2 * v.tile_batch + 1);
  cases.push_back({.problem = aligned, .nan_in_c = true});
  aligned.beta = 0.5f;
  aligned.alpha = -1.0f;
  cases.push_back({.problem = aligned});
  // What the rules forbid cannot be dispatched, and need not be right.
  std::erase_if(cases, [&](const CertificationCase& test) {
    const Problem& p = test.problem;
    const Placement placement = guarded_placement(p, guarded_sizes(p));
    return illegal_reason(v, limits, p, placement).has_value();
  });
  return cases;
}

Certificate certify(Device& device, const Kernel& kernel, const Signature& signature) {
  const std::vector<CertificationCase> cases =
      certification_cases(kernel.variant(), signature, device.profile().limits);
  Certificate certificate{.cases = cases.size()};
  if (cases.empty()) {
    certificate.detail = "no certification problem is legal for this kernel";
    return certificate;
  }
  Checker checker(device, kernel);
  for (const CertificationCase& test : cases) {
    certificate.detail = checker.run(test, certificate.worst_ratio);
    if (!certificate.detail.empty()) return certificate;
  }
  certificate.passed = true;
  return certificate;
}

}  // namespace rooftile
