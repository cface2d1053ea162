#include "device_product.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <span>

#include "core/error.h"
#include "generator/compile.h"
#include "tests/support/first_device.h"

namespace rooftile {
namespace {

// Long, because lavapipe compiles at the first run, on possibly busy machines.
constexpr double kPatience_ns = 120e9;
constexpr float kCanary = 12345.0f;
constexpr std::int64_t kCanaries = 64;  // elements behind C that must not change

std::shared_ptr<Device>& slot() {
  static std::shared_ptr<Device> device;
  return device;
}

/// A validation layer that is older than a device extension does not know its structures.
bool is_of_an_older_layer(const std::string& message) {
  return message.find("chain includes a structure with unknown VkStructureType") !=
             std::string::npos ||
         message.find("is not supported by this layer") != std::string::npos;
}

class Validation : public testing::Environment {
 public:
  void SetUp() override { ::setenv("ROOFTILE_VALIDATION", "1", 1); }
  void TearDown() override {
    slot().reset();
    for (const std::string& message : validation_messages())
      if (!is_of_an_older_layer(message)) ADD_FAILURE() << message;
  }
};
const auto* const kValidation = testing::AddGlobalTestEnvironment(new Validation);

template <typename T>
std::vector<std::byte> bytes_of(const T& value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

/// A host-visible buffer of elements, at least one vector long.
Buffer make_buffer(std::int64_t elements, float fill) {
  constexpr std::int64_t kVector = 4;
  Buffer buffer = test_device().create_buffer(
      static_cast<std::uint64_t>(std::max(elements, kVector)) * sizeof(float),
      BufferUse::kDownload);
  auto* first = static_cast<float*>(buffer.mapped());
  std::fill_n(first, std::max(elements, kVector), fill);
  return buffer;
}

std::span<float> view(Buffer& buffer) {
  return {static_cast<float*>(buffer.mapped()), buffer.size_bytes() / sizeof(float)};
}

BufferRange range(const Buffer& buffer, std::int64_t elements) {
  return {&buffer, 0, static_cast<std::uint64_t>(elements) * sizeof(float)};
}

template <typename Value>
void fill(std::span<float> elements, std::int64_t offset, Extent extent, std::int64_t ld,
          std::int64_t batch, std::int64_t stride, Value value) {
  for (std::int64_t product = 0; product < batch; ++product)
    for (std::int64_t r = 0; r < extent.rows; ++r)
      for (std::int64_t c = 0; c < extent.columns; ++c)
        elements[static_cast<std::size_t>(offset + product * stride + r * ld + c)] = value();
}

std::size_t address_a(const Product& x, std::int64_t i, std::int64_t u, std::int64_t product = 0) {
  return static_cast<std::size_t>(
      x.at.offset_a + product * x.p.stride_a +
      (x.p.trans_a == Transpose::kYes ? u * x.p.lda + i : i * x.p.lda + u));
}
std::size_t address_b(const Product& x, std::int64_t u, std::int64_t j, std::int64_t product = 0) {
  return static_cast<std::size_t>(
      x.at.offset_b + product * x.p.stride_b +
      (x.p.trans_b == Transpose::kYes ? j * x.p.ldb + u : u * x.p.ldb + j));
}

struct Operands {
  Buffer a, b, c;
  std::vector<float> c_before;
};

Operands make_operands(const Product& product) {
  const Problem& p = product.p;
  const Placement& at = product.at;
  const float padding = product.padding == Padding::kNan ? std::nanf("") : 0.0f;
  // BLAS reads neither A nor B when alpha is 0.
  const float spoiled = p.alpha == 0.0f ? std::nanf("") : 0.0f;
  // Numerical Recipes' generator: tests are not optimized, and long sums take millions of numbers.
  std::uint32_t state = 20260815;
  const auto uniform = [&] {  // in [-1, 1)
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  };
  const auto value = [&] { return uniform() + spoiled; };

  Operands x{.a = make_buffer(at.offset_a + at.readable_a, padding),
             .b = make_buffer(at.offset_b + at.readable_b, padding),
             .c = make_buffer(at.offset_c + span_c(p) + kCanaries, kCanary),
             .c_before = {}};
  fill(view(x.a), at.offset_a, stored_a(p), p.lda, p.batch, p.stride_a, value);
  fill(view(x.b), at.offset_b, stored_b(p), p.ldb, p.batch, p.stride_b, value);
  if (product.last_step == LastStep::kInfinite) {
    view(x.a)[address_a(product, 0, p.k - 1)] = INFINITY;
    view(x.b)[address_b(product, p.k - 1, 0)] = INFINITY;
  }
  fill(view(x.c), at.offset_c, {p.m, p.n}, p.ldc, p.batch, p.stride_c,
       [&] { return p.beta == 0.0f ? std::nanf("") : uniform(); });
  x.c_before.assign(view(x.c).begin(), view(x.c).end());
  return x;
}

void run(const ProductKernel& kernel, const Product& product, Operands& x) {
  DeviceLimits limits = test_device().profile().limits;
  if (product.max_loop_trips > 0) limits.max_loop_trips = product.max_loop_trips;
  const GemmPlan plan =
      plan_gemm(kernel.variant(), limits, product.p, product.at, product.max_flops);
  const BoundElements bound = bound_elements(kernel.variant(), product.p, product.at);
  const Buffer packed_a_panels = make_buffer(plan.packed_a_words, std::nanf(""));
  const Buffer packed_b_panels = make_buffer(plan.packed_b_words, std::nanf(""));
  const Buffer parts = make_buffer(plan.part_words, std::nanf(""));
  // Operands that are not read may have any buffer (generator/plan.h), here the first texel.
  constexpr std::int64_t kTexel = 4;
  const bool reads = product.p.k > 0;
  const BufferRange stored_a_range = range(x.a, reads ? bound.a : kTexel),
                    stored_b_range = range(x.b, reads ? bound.b : kTexel);
  const BufferRange packed_a_range = range(packed_a_panels, plan.packed_a_words);
  const BufferRange packed_b_range = range(packed_b_panels, plan.packed_b_words);

  std::vector<Step> steps;
  for (const PackStep& step : plan.packs) {
    const bool is_a = step.operand == Operand::kA;
    steps.push_back(DispatchStep{.pipeline = &kernel.pack(step.operand),
                                 .bindings = {is_a ? stored_a_range : stored_b_range,
                                              is_a ? packed_a_range : packed_b_range},
                                 .push_constants = bytes_of(step.push_constants),
                                 .groups = step.groups});
  }
  steps.push_back(BarrierStep{});
  for (const GemmStep& step : plan.gemms) {
    if (step.adds) steps.push_back(BarrierStep{});
    steps.push_back(DispatchStep{
        .pipeline = &kernel.gemm(),
        .bindings = {plan.packed_a_words > 0 ? packed_a_range : stored_a_range,
                     plan.packed_b_words > 0 ? packed_b_range : stored_b_range,
                     plan.part_words > 0 ? range(parts, plan.part_words) : range(x.c, bound.c)},
        .push_constants = shader_block(step.push_constants, product.p.types),
        .groups = step.groups});
  }
  steps.push_back(BarrierStep{});
  for (const ReduceStep& step : plan.reduces)
    steps.push_back(
        DispatchStep{.pipeline = &kernel.reduce(),
                     .bindings = {range(parts, plan.part_words), range(x.c, bound.c)},
                     .push_constants = shader_block(step.push_constants, product.p.types),
                     .groups = step.groups});
  CommandList list = test_device().record(steps);
  test_device().run(list, kPatience_ns);
}

/// gamma_k = k u / (1 - k u): the relative error bound of k roundings (Higham, Accuracy and
/// Stability, 3.1).
double gamma(std::int64_t roundings) {
  const double ku = static_cast<double>(roundings) * std::ldexp(1.0, -24);
  return ku / (1.0 - ku);
}

}  // namespace

Device& test_device() {
  if (slot() == nullptr) slot() = Device::open(first_device());
  return *slot();
}

ProductKernel::ProductKernel(const Variant& v, const Signature& s) : variant_(v), signature_(s) {
  const auto pipeline = [](const Shader& shader) {
    return test_device().create_pipeline(compile(shader), shader.interface);
  };
  gemm_ = pipeline(emit_gemm(v, s));
  if (v.packed_a == Packed::kYes) pack_a_ = pipeline(emit_pack(v, s, Operand::kA));
  if (v.packed_b == Packed::kYes) pack_b_ = pipeline(emit_pack(v, s, Operand::kB));
  if (v.split_k > 1) reduce_ = pipeline(emit_reduce(s));
}

Product padded_product(const Variant& v, const Signature& s, std::int64_t m, std::int64_t n,
                       std::int64_t k, std::int64_t pad) {
  Product product{.p = packed_problem(m, n, k, s.trans_a, s.trans_b), .at = {}};
  const auto aligned = [](std::int64_t x, Packed packed, int width) {
    return packed == Packed::kYes
               ? x
               : (x + width - 1) / width * width;  // pack kernels accept any alignment
  };
  Problem& p = product.p;
  p.lda = aligned(p.lda + pad, v.packed_a, v.vector_width_a);
  p.ldb = aligned(p.ldb + pad, v.packed_b, v.vector_width_b);
  p.ldc += pad;
  product.at = own_buffers(p);
  product.at.offset_a = aligned(pad, v.packed_a, v.vector_width_a);
  product.at.offset_b = aligned(pad, v.packed_b, v.vector_width_b);
  product.at.offset_c = pad;
  product.at.readable_a += 3;  // misaligned rows are read in whole texels
  product.at.readable_b += 3;
  return product;
}

Product batched(Product product, std::int64_t batch, SharedB shared) {
  Problem& p = product.p;
  constexpr std::int64_t kVector = 4;
  const auto stride = [](Extent extent, std::int64_t ld) {
    return (extent.rows * ld + 2 * kVector) / kVector * kVector;
  };
  p.batch = batch;
  p.stride_a = stride(stored_a(p), p.lda);
  p.stride_b = shared == SharedB::kYes ? 0 : stride(stored_b(p), p.ldb);
  p.stride_c = p.m * p.ldc + 3;
  const Placement own = own_buffers(p);
  product.at.readable_a = own.readable_a + 3;  // misaligned rows are read in whole texels
  product.at.readable_b = own.readable_b + 3;
  return product;
}

std::string difference(const ProductKernel& kernel, const Product& product) {
  const Problem& p = product.p;
  const Placement& at = product.at;
  const auto illegal = illegal_reason(kernel.variant(), test_device().profile().limits, p, at);
  if (illegal) return "illegal: " + *illegal;

  Operands x = make_operands(product);
  run(kernel, product, x);

  const std::span<const float> a = view(x.a), b = view(x.b), c = view(x.c);
  const double alpha = p.alpha;
  const std::int64_t steps = p.alpha == 0.0f ? 0 : p.k;
  const std::int64_t step_a = p.trans_a == Transpose::kYes ? p.lda : 1;
  const std::int64_t step_b = p.trans_b == Transpose::kYes ? 1 : p.ldb;
  std::vector<bool> in_c(c.size());
  for (std::int64_t product_of_batch = 0; product_of_batch < p.batch; ++product_of_batch)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0, magnitude = 0;
        const float* at_a = a.data() + address_a(product, i, 0, product_of_batch);
        const float* at_b = b.data() + address_b(product, 0, j, product_of_batch);
        for (std::int64_t u = 0; u < steps; ++u, at_a += step_a, at_b += step_b) {
          const double term = alpha * *at_a * *at_b;
          sum += term;
          magnitude += term < 0 ? -term : term;
        }
        const auto address =
            static_cast<std::size_t>(at.offset_c + product_of_batch * p.stride_c + i * p.ldc + j);
        if (p.beta != 0.0f) {
          sum += static_cast<double>(p.beta) * x.c_before[address];
          magnitude += std::abs(static_cast<double>(p.beta) * x.c_before[address]);
        }
        in_c[address] = true;
        constexpr std::int64_t kScalings = 3;  // roundings of alpha, beta, and their sum
        const double bound = gamma(p.k + kScalings) * magnitude;
        if (c[address] == sum) continue;  // includes infinities
        if (!(std::abs(c[address] - sum) <= bound))
          return fmt::format("{} {}: product {}: C[{}][{}] is {} instead of {} +- {}",
                             short_name(kernel.variant()), to_string(p), product_of_batch, i, j,
                             c[address], sum, bound);
      }
  for (std::size_t address = 0; address < c.size(); ++address)
    if (!in_c[address] && c[address] != kCanary)
      return fmt::format("{} {}: element {} beside C became {}", short_name(kernel.variant()),
                         to_string(p), address, c[address]);
  return "";
}

}  // namespace rooftile
