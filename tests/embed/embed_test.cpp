// The functions of a header beside those of Rooftile that they repeat: rules, plans, the choice of
// a kernel. One program, because the header takes seconds to make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/numbers/random.h"
#include "embed/embedded_shader.h"
#include "embedded_library.h"
#include "generator/compile.h"
#include "generator/layout.h"
#include "generator/plan.h"
#include "generator/version.h"
#include "planted_kernels.h"
#include "runtime/model/calibration.h"
#include "runtime/tuned/kernel_ranking.h"
#include "tests/generator/test_limits.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr int kProblems = 2000;

DeviceProfile device_of(std::uint32_t vendor, std::uint32_t driver_version,
                        const DeviceLimits& limits) {
  DeviceProfile device = profile_of(DeviceKind::kDiscrete, limits);
  device.name = fmt::format("Card {} \"*/", vendor);
  device.device_uuid = fmt::format("{:032x}", vendor * 100 + driver_version);
  device.pipeline_cache_uuid = device.device_uuid;
  device.vendor_id = vendor;
  device.device_id = 2;
  device.driver_id = 3;
  device.driver_version = driver_version;
  return device;
}

DeviceLimits everything() {
  DeviceLimits limits = workgroup_matrix_limits();
  limits.float32_atomic_add = limits.integer_dot_product = true;
  limits.float16_arithmetic = limits.int8_arithmetic = true;
  limits.texel_buffer_r32 = limits.texel_buffer_rgba32 = true;
  limits.max_texel_buffer_elements = 1u << 16;  // So that some operands do not fit.
  limits.max_storage_buffer_range_bytes = 1u << 22;
  limits.max_workgroup_count = {7, 5, 6};
  limits.subgroup_broadcast = true;
  return limits;
}

/// What rooftile_embed_get_limits() says of such a device.
rooftile_embed_limits embedded_limits(const DeviceProfile& device, const Embedding& made) {
  const DeviceLimits& d = device.limits;
  rooftile_embed_limits x = {};
  x.vendor_id = device.vendor_id;
  x.product_id = device.device_id;
  x.driver_id = device.driver_id;
  x.driver_version = device.driver_version;
  x.api_version = VK_API_VERSION_1_3;
  x.max_workgroup_invocations = d.max_workgroup_invocations;
  std::copy_n(d.max_workgroup_size.begin(), 3, x.max_workgroup_size);
  std::copy_n(d.max_workgroup_count.begin(), 3, x.max_workgroup_count);
  x.shared_memory_bytes = d.shared_memory_bytes;
  x.reserved_shared_bytes = d.workgroup_matrix_shared_bytes;
  x.max_push_constants_bytes = d.max_push_constants_bytes;
  x.max_storage_bindings = x.max_texel_bindings = 8;
  x.max_storage_range_bytes = d.max_storage_buffer_range_bytes;
  x.max_texel_elements = d.max_texel_buffer_elements;
  x.max_allocation_bytes = d.max_memory_allocation_bytes;
  x.alignment_bytes =
      std::max({d.storage_buffer_alignment_bytes, d.texel_buffer_alignment_bytes, 16u});
  x.subgroup_size = d.subgroup_size;
  x.min_subgroup_size = d.min_subgroup_size;
  x.max_subgroup_size = d.max_subgroup_size;
  x.max_workgroup_subgroups = d.max_workgroup_subgroups;
  x.max_loop_trips = d.max_loop_trips;
  const auto feature = [&](bool has, std::uint32_t bit) {
    if (has) x.features |= bit;
  };
  feature(d.float16_arithmetic, ROOFTILE_EMBED_FLOAT16);
  feature(d.int8_arithmetic, ROOFTILE_EMBED_INT8);
  feature(d.float32_atomic_add, ROOFTILE_EMBED_ATOMIC_ADD);
  feature(d.integer_dot_product, ROOFTILE_EMBED_DOT);
  feature(d.subgroup_size_control, ROOFTILE_EMBED_SUBGROUP_SIZE);
  feature(d.subgroup_broadcast, ROOFTILE_EMBED_BALLOT);
  feature(!d.matrix_shapes.empty(), ROOFTILE_EMBED_MATRIX | ROOFTILE_EMBED_BFLOAT16_MATRIX);
  feature(!d.matrix_granularities.empty() || !d.workgroup_matrices.empty(),
          ROOFTILE_EMBED_MATRIX_NV2);
  feature(!d.workgroup_matrices.empty(), ROOFTILE_EMBED_MATRIX_WORKGROUP);
  feature(d.texel_buffer_r32 && d.texel_buffer_rgba32, ROOFTILE_EMBED_TEXELS);
  for (const EmbeddedKernel& kernel : made.kernels) {
    if (kernel.facts.shape < 0) continue;
    const Signature s = parse_signature(kernel.candidate.signature);
    const auto offered = [&](DataType sum) {
      return offers_matrix(kernel.candidate.variant, d, [&](const MatrixShape& shape) {
        return shape.operand == unit_type(s.types) && shape.sum == sum;
      });
    };
    if (offered(sum_type(s.types))) x.multiple_shapes |= std::uint64_t{1} << kernel.facts.shape;
    if (kernel.facts.narrow_shape >= 0 && offered(DataType::kF16))
      x.multiple_shapes |= std::uint64_t{1} << kernel.facts.narrow_shape;
  }
  return x;
}

/// A problem, and where its operands lie.
struct Call {
  Problem p;
  Placement at;
  rooftile_embed_problem problem = {};
  rooftile_embed_operands operands = {};
};

/// Sizes near powers of two, at the edges of tiles; one in thirty is 0.
std::int64_t random_size(Random& random) {
  if (random.below(30) == 0) return 0;
  const std::int64_t octave = std::int64_t{1} << random.below(11);
  const std::int64_t size = octave + static_cast<std::int64_t>(random.below(9)) - 4;
  return random.below(2) == 0 ? std::max<std::int64_t>(size, 1) : (size + 15) / 16 * 16 + 16;
}

void append(std::vector<std::uint32_t>& words, std::span<const std::byte> block) {
  const std::size_t before = words.size();
  words.resize(before + block.size() / sizeof(std::uint32_t));
  std::memcpy(words.data() + before, block.data(), block.size());
}

/// The steps of a plan as a header visits them.
std::vector<EmbeddedStep> steps_of(const GemmPlan& plan, const Signature& s, const Variant& v) {
  std::vector<EmbeddedStep> steps;
  const auto add = [&](int kind, const std::array<std::uint32_t, 3>& groups,
                       const std::vector<std::uint32_t>& push) {
    EmbeddedStep step = {
        kind, {groups[0], groups[1], groups[2]}, static_cast<std::uint32_t>(push.size()), {}};
    std::ranges::copy(push, step.push);
    steps.push_back(step);
  };
  const auto barrier = [&] { add(5, {}, {}); };
  if (plan.clear_parts) add(0, {}, {});
  for (const PackStep& step : plan.packs) {
    std::vector<std::uint32_t> push;
    append(push, shader_block(step.push_constants, s.types));
    add(step.operand == Operand::kA ? 1 : 2, step.groups, push);
  }
  if (!steps.empty()) barrier();
  for (const GemmStep& step : plan.gemms) {
    std::vector<std::uint32_t> push;
    append(push, shader_block(step.push_constants, s.types));
    if (any(s.epilogue) && v.split_k == 1) append(push, shader_block(step.epilogue, s.types));
    if (step.adds) barrier();
    add(3, step.groups, push);
  }
  if (!plan.reduces.empty()) barrier();
  for (const ReduceStep& step : plan.reduces) {
    std::vector<std::uint32_t> push;
    append(push, shader_block(step.push_constants, s.types));
    if (any(s.epilogue)) append(push, shader_block(step.epilogue, s.types));
    add(4, step.groups, push);
  }
  return steps;
}

void expect_same(const GemmPlan& plan, const Signature& s, const Variant& v,
                 const std::vector<EmbeddedStep>& steps, const std::string& name) {
  const std::vector<EmbeddedStep> wanted = steps_of(plan, s, v);
  ASSERT_EQ(steps.size(), wanted.size()) << name;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    ASSERT_EQ(steps[i].kind, wanted[i].kind) << name;
    ASSERT_THAT(steps[i].groups, ElementsAreArray(wanted[i].groups)) << name;
    ASSERT_EQ(steps[i].push_words, wanted[i].push_words) << name;
    if (std::memcmp(steps[i].push, wanted[i].push, sizeof wanted[i].push) == 0) continue;
    ASSERT_THAT(steps[i].push, ElementsAreArray(wanted[i].push)) << name << " step " << i;
  }
}

class Header : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    store_ = new Store(scratch().path() / "kernels.db");
    first_ = device_of(1, 5, everything());
    second_ = device_of(7, 1, lavapipe_limits());
    for (const DeviceProfile& device : {first_, second_})
      plant_kernels(*store_, device, planted_classes(), 8,
                    [](const Variant&, const Signature&) { return true; });
    const EmbedSource source = {store_, store_->devices()};
    made_ = new Embedding(make_embedding({&source, 1}, {}));
    library_ = new EmbeddedLibrary(*made_);
  }
  static void TearDownTestSuite() {
    delete library_;
    delete made_;
    delete store_;
  }
  static const ScratchFolder& scratch() {
    static const ScratchFolder folder;
    return folder;
  }

  /// A call of this class with any leading dimensions, strides and offsets.
  static Call random_call(std::size_t of_class, const rooftile_embed_limits& limits,
                          Random& random) {
    const Signature& s = made_->classes[of_class].signature;
    const Types& t = s.types;
    const auto below = [&](std::uint64_t bound) {
      return static_cast<std::int64_t>(random.below(bound));
    };
    const std::int64_t unit = random.below(2) == 0 ? 1 : 16;
    const auto rows_of = [&](std::int64_t columns) {
      return unit == 1 ? columns + below(4) : (columns + 15) / 16 * 16 + 16 * below(3);
    };
    Call call;
    Problem& p = call.p;
    p = packed_problem(random_size(random), random_size(random), random_size(random), s.trans_a,
                       s.trans_b, 1, t);
    p.epilogue = s.epilogue;
    p.alpha = t.c == DataType::kI32 || random.below(8) > 0 ? 1.0f : 0.5f;
    p.beta = random.below(2) == 0 ? 0.0f : 1.0f;
    if (random.below(10) == 0) p.alpha = 0;
    p.lda = std::max<std::int64_t>(rows_of(stored_a(p).columns), 1);
    if (!quantized(t)) p.ldb = std::max<std::int64_t>(rows_of(stored_b(p).columns), 1);
    p.ldc = std::max<std::int64_t>(rows_of(p.n), 1);
    if (random.below(3) == 0) {
      p.batch = 1 + below(12);
      p.stride_a = below(3) == 0 ? 0 : stored_a(p).rows * p.lda + unit * below(3);
      p.stride_b = quantized(t) || below(3) == 0 ? 0 : stored_b(p).rows * p.ldb + unit * below(3);
      p.stride_c = p.m * p.ldc + below(3);
    }
    call.problem = embedded_problem(of_class, p);
    if (p.alpha == 0) p.k = 0;  // As the runtime hands it to kernels.
    place(call, limits, unit, random);
    if (p.k == 0) call.at.offset_a = call.at.offset_b = 0;  // Neither is bound.
    return call;
  }

  static void place(Call& call, const rooftile_embed_limits& limits, std::int64_t unit,
                    Random& random) {
    const Problem& p = call.p;
    const Types& t = p.types;
    rooftile_embed_operands& at = call.operands;
    const auto put = [&](rooftile_embed_place& x, std::int64_t span, std::int64_t bytes,
                         std::int64_t& offset) {
      const std::uint64_t aligned = limits.alignment_bytes * random.below(4);
      offset = unit * static_cast<std::int64_t>(random.below(3));
      x.offset = aligned + static_cast<std::uint64_t>(offset * bytes);
      offset %= static_cast<std::int64_t>(limits.alignment_bytes) / bytes;
      x.bytes = x.offset + static_cast<std::uint64_t>(span * bytes) + 4 * random.below(9);
      x.bytes = (x.bytes + 3) / 4 * 4;
    };
    const std::int64_t bytes_a = bytes_of(t.a), bytes_c = bytes_of(t.c);
    put(at.a, span_a(p), bytes_a, call.at.offset_a);
    call.at.readable_a = static_cast<std::int64_t>(at.a.bytes - at.a.offset) / bytes_a;
    put(at.c, span_c(p), bytes_c, call.at.offset_c);
    if (quantized(t)) {
      at.b.offset = limits.alignment_bytes;
      at.b.bytes = at.b.offset + static_cast<std::uint64_t>(bytes_of_b(t, span_b(p))) + 64;
      call.at.readable_b = elements_of_b(t, static_cast<std::int64_t>(at.b.bytes - at.b.offset));
      at.scales.bytes = at.zero_points.bytes = std::uint64_t{1} << 40;
    } else {
      put(at.b, span_b(p), bytes_a, call.at.offset_b);
      call.at.readable_b = static_cast<std::int64_t>(at.b.bytes - at.b.offset) / bytes_a;
    }
    at.vectors = {VK_NULL_HANDLE, 8, std::uint64_t{1} << 30};
    at.row_scale = 3;
    at.column_scale = at.row_scale + p.m;
    at.bias = at.column_scale + p.n + 1;
    const Epilogue& e = p.epilogue;
    if (e.row_scale || e.column_scale || e.bias != Bias::kNone) {
      constexpr std::int64_t kFloats = 2;  // Before `vectors` in its binding.
      call.at.offset_row_scale = at.row_scale + kFloats;
      call.at.offset_column_scale = at.column_scale + kFloats;
      call.at.offset_bias = at.bias + kFloats;
    }
    if (!p.epilogue.residual) return;
    std::int64_t offset = 0;
    at.ld_residual = p.n + 3;
    at.stride_residual = p.m * at.ld_residual;
    put(at.residual, p.batch * at.stride_residual, 4, offset);
    call.at.offset_residual = offset;
    call.at.ld_residual = at.ld_residual;
    call.at.stride_residual = p.batch > 1 ? at.stride_residual : 0;
  }

  /// A header has no texels where nothing is read, because C stands in.
  static bool reads_texels_of_nothing(int index, const Problem& p) {
    return p.k == 0 && (features_of(kernel(index)) & ROOFTILE_EMBED_TEXELS) != 0;
  }

  static std::vector<EmbeddedStep> planned(int index, const rooftile_embed_limits& limits,
                                           const rooftile_embed_problem& problem,
                                           const rooftile_embed_operands* operands,
                                           double max_flops) {
    std::vector<EmbeddedStep> steps;
    library_->plan(index, &limits, &problem, operands, max_flops, &steps,
                   [](void* user, const EmbeddedStep* step) {
                     static_cast<std::vector<EmbeddedStep>*>(user)->push_back(*step);
                   });
    return steps;
  }

  static rooftile_embed_class class_named(const std::string& name) {
    const auto at = std::ranges::find_if(
        made_->classes, [&](const EmbeddedClass& x) { return to_string(x.signature) == name; });
    return static_cast<rooftile_embed_class>(at - made_->classes.begin());
  }

  static const EmbeddedKernel& kernel(int index) {
    return made_->kernels[static_cast<std::size_t>(index)];
  }

  static inline Store* store_ = nullptr;
  static inline DeviceProfile first_, second_;
  static inline Embedding* made_ = nullptr;
  static inline EmbeddedLibrary* library_ = nullptr;
};

TEST_F(Header, HoldsKernelsOfEveryKind) {
  std::map<std::string, std::set<std::string>> values;
  for (const EmbeddedKernel& kernel : made_->kernels)
    for (const auto& [name, value] : parameters(kernel.candidate.variant))
      values[name].insert(value);
  for (const std::string& name : parameter_names())
    EXPECT_GT(values[name].size(), 1u) << name << " has one value only";
  EXPECT_EQ(values["family"].size(), 7u);
  EXPECT_EQ(made_->classes.size(), planted_classes().size());
  EXPECT_EQ(made_->devices.size(), 2u);
  EXPECT_TRUE(made_->left_out.empty());
  for (const EmbeddedClass& x : made_->classes) EXPECT_GE(x.facts.fallback, 0) << x.enumerator;
}

TEST_F(Header, FitsWhereTheRulesAllowAKernel) {
  Random random(1);
  std::map<std::string, int> reasons;
  int fitting = 0, compared = 0;
  for (const DeviceProfile& device : {first_, second_}) {
    const rooftile_embed_limits limits = embedded_limits(device, *made_);
    for (int i = 0; i < kProblems; ++i) {
      const std::size_t of_class = random.below(made_->classes.size());
      const rte_class& facts = made_->classes[of_class].facts;
      const Call call = random_call(of_class, limits, random);
      if (span_c(call.p) == 0) continue;  // Which every kernel computes.
      for (int k = facts.first_kernel; k < facts.first_kernel + facts.kernels; ++k) {
        const auto reason =
            illegal_reason(kernel(k).candidate.variant, device.limits, call.p, call.at);
        const int status = library_->fits(k, &limits, &call.problem, &call.operands);
        ASSERT_EQ(status == ROOFTILE_EMBED_OK, !reason && !reads_texels_of_nothing(k, call.p))
            << kernel(k).candidate.signature << " " << to_string(kernel(k).candidate.variant)
            << "\n"
            << to_string(call.p) << ": " << reason.value_or("legal") << ", but "
            << library_->status_name(static_cast<rooftile_embed_status>(status));
        ++compared;
        if (reason)
          ++reasons[reason->substr(0, reason->find(" ("))];
        else
          ++fitting;
      }
    }
  }
  EXPECT_GT(fitting, compared / 10);
  EXPECT_GE(reasons.size(), 10u);  // Kinds of rules that were broken.
}

TEST_F(Header, PlansTheDispatchesOfTheGenerator) {
  Random random(2);
  for (DeviceProfile device : {first_, second_}) {
    rooftile_embed_limits limits = embedded_limits(device, *made_);
    for (int i = 0; i < kProblems / 2; ++i) {
      // Loops may run to their end, or so few trips that k is cut.
      limits.max_loop_trips = device.limits.max_loop_trips =
          random.below(2) == 0 ? 0 : 20 + static_cast<std::uint32_t>(random.below(200));
      const std::size_t of_class = random.below(made_->classes.size());
      const rte_class& facts = made_->classes[of_class].facts;
      Call call = random_call(of_class, limits, random);
      call.p.epilogue.low = call.problem.clamp_low = -0.25f;
      call.p.epilogue.high = call.problem.clamp_high = 0.75f;
      const int k = facts.first_kernel +
                    static_cast<int>(random.below(static_cast<std::uint64_t>(facts.kernels)));
      const Variant& v = kernel(k).candidate.variant;
      if (illegal_reason(v, device.limits, call.p, call.at) || reads_texels_of_nothing(k, call.p))
        continue;
      const double max_flops = random.below(2) == 0 ? 0.0 : std::exp(5 + 10 * random.unit());
      const GemmPlan plan =
          plan_gemm(v, device.limits, call.p, call.at,
                    max_flops == 0 ? std::numeric_limits<double>::infinity() : max_flops);
      const std::string name = to_string(v) + "\n" + to_string(call.p);
      expect_same(plan, parse_signature(kernel(k).candidate.signature), v,
                  planned(k, limits, call.problem, &call.operands, max_flops), name);
      std::int64_t words[3] = {};
      library_->sizes(k, &limits, &call.problem, &call.operands, words);
      ASSERT_THAT(words,
                  ElementsAreArray({plan.packed_a_words, plan.packed_b_words, plan.part_words}))
          << name;
    }
  }
}

TEST_F(Header, CutsKBeforeSeveralPanelsAsTheGeneratorDoes) {
  int cut = 0;
  for (std::size_t i = 0; i < made_->kernels.size(); ++i) {
    const Variant& v = made_->kernels[i].candidate.variant;
    if (v.packed_a == Packed::kNo && v.packed_b == Packed::kNo) continue;
    const Signature s = parse_signature(made_->kernels[i].candidate.signature);
    Problem p =
        packed_problem(3 * v.tile_m + 1, 2 * v.tile_n + 1, 640, s.trans_a, s.trans_b, 1, s.types);
    p.epilogue = s.epilogue;
    for (const std::int64_t trips : {4, 10, 20}) {
      DeviceProfile device = first_;
      rooftile_embed_limits limits = embedded_limits(device, *made_);
      limits.max_loop_trips = device.limits.max_loop_trips =
          static_cast<std::uint32_t>(loop_trips(v, trips));
      if (illegal_reason(v, device.limits, p, own_buffers(p))) continue;  // Not all kernels cut k.
      const rooftile_embed_problem problem =
          embedded_problem(static_cast<std::size_t>(made_->kernels[i].facts.of_class), p);
      const GemmPlan plan = plan_gemm(v, device.limits, p, own_buffers(p));
      expect_same(plan, s, v, planned(static_cast<int>(i), limits, problem, nullptr, 0),
                  to_string(v));
      cut += std::ranges::any_of(plan.gemms, &GemmStep::adds) ? 1 : 0;
    }
  }
  EXPECT_GE(cut, 3);
}

TEST_F(Header, ChoosesTheKernelOfTheRuntime) {
  Random random(3);
  int same = 0, chosen = 0, as_predicted = 0;
  for (const DeviceProfile& device : {first_, second_}) {
    const rooftile_embed_limits limits = embedded_limits(device, *made_);
    const RowId row = *store_->find_device(device);
    const KernelRanking ranking(
        device.limits, calibration_from_figures(store_->latest_calibration(row)).device,
        store_->tuned_kernels(row, kGeneratorVersion), store_->portfolio(row, kGeneratorVersion));
    for (int i = 0; i < kProblems; ++i) {
      const std::size_t of_class = random.below(made_->classes.size());
      Call call = random_call(of_class, limits, random);
      if (call.p.k == 0 || call.p.m == 0 || call.p.n == 0) continue;
      if (i % 10 == 0) {  // A tuned problem.
        const std::vector<EmbeddedTuned>& tuned = made_->lists.front().tuned;
        const Problem& like = tuned[random.below(tuned.size())].problem;
        call = {};
        call.p = like;
        call.at = own_buffers(like);
      }
      rooftile_embed_problem problem = call.problem;
      const bool tuned = i % 10 == 0;
      if (tuned) {
        problem =
            library_->problem_of(static_cast<rooftile_embed_class>(made_->lists.front().of_class),
                                 call.p.m, call.p.n, call.p.k);
        problem.batch = call.p.batch;
      }
      const std::vector<RankedChoice> ranked = ranking.ranked(call.p, call.at, device.limits);
      rooftile_embed_choice choice = {};
      const rooftile_embed_status status =
          library_->select(&limits, &problem, tuned ? nullptr : &call.operands, &choice);
      if (ranked.empty()) {
        EXPECT_NE(status, ROOFTILE_EMBED_OK) << to_string(call.p);
        continue;
      }
      ASSERT_EQ(status, ROOFTILE_EMBED_OK) << to_string(call.p) << library_->status_name(status);
      ++chosen;
      const rooftile_embed_description* const described = library_->describe(choice.kernel);
      if (ranked.front().candidate->hash == described->hash) {
        ++same;
        // The time of a kernel that is neither tuned for these sizes nor predicted comes from the
        // nearest list that holds it, and a header has no list's kernels behind one for all sizes.
        const double ratio = choice.expected_ns / ranked.front().expected_ns;
        if (tuned) {
          EXPECT_FLOAT_EQ(choice.expected_ns, static_cast<float>(ranked.front().expected_ns));
        }
        as_predicted += std::abs(ratio - 1) < 1e-5 ? 1 : 0;
        continue;
      }
      // Kernels whose predictions differ by rounding alone.
      const auto other = std::ranges::find_if(
          ranked, [&](const RankedChoice& x) { return x.candidate->hash == described->hash; });
      ASSERT_NE(other, ranked.end()) << described->name << " for " << to_string(call.p);
      EXPECT_LE(other->expected_ns, 1.0001 * ranked.front().expected_ns) << to_string(call.p);
    }
  }
  EXPECT_GT(chosen, kProblems);
  EXPECT_GE(same, 0.999 * chosen) << same << " of " << chosen;
  EXPECT_GE(as_predicted, 0.9 * same) << as_predicted << " of " << same;
}

TEST_F(Header, HoldsTheModulesWithoutNames) {
  for (std::size_t i = 0; i < made_->shaders.size(); i += 3) {
    std::uint32_t* const words = library_->module(static_cast<int>(i));
    const std::vector<std::uint32_t>& code = made_->shaders[i].code;
    EXPECT_TRUE(std::equal(code.begin(), code.end(), words)) << i;
    std::free(words);
  }
}

TEST_F(Header, SharesAModuleOnlyAmongEqualBindings) {
  // Kernels that pack f32 and f16 from texels have the same code, and other formats of texels.
  std::map<std::vector<std::uint32_t>, std::set<int>> formats;
  for (const EmbeddedKernel& k : made_->kernels) {
    const Variant& v = k.candidate.variant;
    const Signature s = parse_signature(k.candidate.signature);
    const auto expect_same = [&](int index, const Shader& shader) {
      const EmbeddedShader wanted = embedded_shader(shader);
      const EmbeddedShader& held = made_->shaders[static_cast<std::size_t>(index)];
      EXPECT_EQ(held.code, wanted.code) << short_name(v);
      EXPECT_THAT(held.facts.kinds, ElementsAreArray(wanted.facts.kinds)) << short_name(v);
      EXPECT_EQ(held.facts.push_bytes, wanted.facts.push_bytes) << short_name(v);
      EXPECT_EQ(held.facts.subgroup_size, wanted.facts.subgroup_size) << short_name(v);
      formats[wanted.code].insert(wanted.facts.kinds[0]);
    };
    if (v.packed_a == Packed::kYes) expect_same(k.facts.pack_a, emit_pack(v, s, Operand::kA));
    if (v.packed_b == Packed::kYes) expect_same(k.facts.pack_b, emit_pack(v, s, Operand::kB));
  }
  EXPECT_TRUE(std::ranges::any_of(formats, [](const auto& x) { return x.second.size() > 1; }));
}

TEST_F(Header, GivesOtherDevicesThePlainKernel) {
  rooftile_embed_limits limits = embedded_limits(first_, *made_);
  rooftile_embed_choice choice = {};
  const rooftile_embed_problem p = library_->problem_of(0, 65, 66, 67);
  ASSERT_EQ(library_->select(&limits, &p, nullptr, &choice), ROOFTILE_EMBED_OK);
  EXPECT_EQ(choice.is_tuned, 1);
  EXPECT_EQ(choice.is_same_driver, 1);
  limits.driver_version += 1;
  ASSERT_EQ(library_->select(&limits, &p, nullptr, &choice), ROOFTILE_EMBED_OK);
  EXPECT_EQ(choice.is_tuned, 1);
  EXPECT_EQ(choice.is_same_driver, 0);
  limits.vendor_id = 99;
  ASSERT_EQ(library_->select(&limits, &p, nullptr, &choice), ROOFTILE_EMBED_OK);
  EXPECT_EQ(choice.is_tuned, 0);
  EXPECT_STREQ(library_->describe(choice.kernel)->name, "naive 8x8 1x1");
  limits.features = 0;
  ASSERT_EQ(library_->select(&limits, &p, nullptr, &choice), ROOFTILE_EMBED_OK);
  limits.max_workgroup_invocations = 32;
  EXPECT_EQ(library_->select(&limits, &p, nullptr, &choice), ROOFTILE_EMBED_UNSUPPORTED_DEVICE);
  EXPECT_THAT(library_->describe(0)->certificates, HasSubstr("Card "));
  EXPECT_EQ(library_->describe(-1), nullptr);
}

// Two databases of equal devices, of which the second has another class, and one with an older
// driver.
TEST_F(Header, TakesEachClassFromTheDeviceThatHasIt) {
  const ScratchFolder folder;
  Store one(folder / "one.db"), two(folder / "two.db"), older(folder / "older.db"),
      newer(folder / "newer.db");
  const auto any = [](const Variant& v, const Signature&) { return v.family == Family::kRegister; };
  plant_kernels(one, first_, {"f32.nn"}, 1, any);
  plant_kernels(two, first_, {"f32.nn", "f32.nt"}, 1, any);
  plant_kernels(older, device_of(1, 4, everything()), {"f32.tn", "f32.nt"}, 1, any);
  plant_kernels(newer, device_of(1, 6, everything()), {"f32.nn"}, 1, any);
  const std::vector<EmbedSource> sources = {{&one, one.devices()},
                                            {&two, two.devices()},
                                            {&older, older.devices()},
                                            {&newer, newer.devices()}};
  const Embedding made = make_embedding(sources, {});
  EXPECT_EQ(made.devices.size(), 3u);
  EXPECT_EQ(made.lists.size(), 5u);  // nn, nt, both of the older driver, nn of the newer one.
  const EmbeddedLibrary library(made);
  const rooftile_embed_limits limits = embedded_limits(first_, made);
  rooftile_embed_choice choice = {};
  const auto tuned = [&](std::uint32_t of_class) {
    const rooftile_embed_problem p = library.problem_of(of_class, 64, 64, 64);
    EXPECT_EQ(library.select(&limits, &p, nullptr, &choice), ROOFTILE_EMBED_OK);
    return std::pair(choice.is_tuned, choice.is_same_driver);
  };
  EXPECT_EQ(tuned(0), std::pair(1, 1));  // f32.nn
  EXPECT_EQ(tuned(1), std::pair(1, 1));  // f32.nt
  EXPECT_EQ(tuned(2), std::pair(1, 0));  // f32.tn
}

// A problem of the list that is not tuned makes no class without kernels.
TEST_F(Header, HasNoClassWithoutTunedKernels) {
  EmbedFilter filter;
  filter.problems = {packed_problem(33, 34, 35),
                     packed_problem(32, 128, 256, Transpose::kNo, Transpose::kYes)};
  const EmbedSource source = {store_, store_->devices()};
  const Embedding made = make_embedding({&source, 1}, filter);
  ASSERT_EQ(made.classes.size(), 1u);
  EXPECT_EQ(made.classes.front().enumerator, "F32_NT");
  EXPECT_EQ(made.missing, 1u);
  filter.problems = {packed_problem(33, 34, 35)};
  EXPECT_THROW(make_embedding({&source, 1}, filter), Error);
}

TEST_F(Header, RefusesWhatIsNoProduct) {
  const rooftile_embed_limits limits = embedded_limits(first_, *made_);
  rooftile_embed_choice choice = {};
  const auto status = [&](const std::function<void(rooftile_embed_problem&)>& change) {
    rooftile_embed_problem p = library_->problem_of(0, 33, 34, 35);
    p.batch = 2;
    change(p);
    return library_->status_name(library_->select(&limits, &p, nullptr, &choice));
  };
  using P = rooftile_embed_problem;
  EXPECT_STREQ(status([](P&) {}), "OK");
  EXPECT_STREQ(status([](P& p) { p.m = -1; }), "BAD_PROBLEM");
  EXPECT_STREQ(status([](P& p) { p.lda = 0; }), "BAD_PROBLEM");
  EXPECT_STREQ(status([](P& p) { p.ldc = p.n - 1; }), "BAD_PROBLEM");
  EXPECT_STREQ(status([](P& p) { p.stride_c = 5; }), "BAD_PROBLEM");
  EXPECT_STREQ(status([](P& p) { p.stride_a = -1; }), "BAD_PROBLEM");
  EXPECT_STREQ(status([](P& p) { p.of_class = 99; }), "BAD_PROBLEM");
  EXPECT_STREQ(status([](P& p) { p.of_class = static_cast<rooftile_embed_class>(-1); }),
               "BAD_PROBLEM");
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t P::*size : {&P::m, &P::n, &P::k, &P::batch, &P::lda, &P::ldb, &P::ldc,
                                &P::stride_a, &P::stride_b, &P::stride_c})
    for (const std::int64_t value :
         {kHuge, kHuge / 2, std::int64_t{1} << 40, std::int64_t{1} << 31}) {
      const std::string found = status([&](P& p) { p.*size = value; });
      EXPECT_TRUE(found == "TOO_LARGE" || found == "BAD_PROBLEM") << found << " " << value;
    }
  EXPECT_STREQ(status([](P& p) {
                 p.n = p.k = p.ldb = p.ldc = p.lda = 2147483647 - 1024;
                 p.m = p.batch = 1;
               }),
               "TOO_LARGE");
  rooftile_embed_limits none = {};
  const rooftile_embed_problem small = library_->problem_of(0, 33, 34, 35);
  EXPECT_EQ(library_->select(&none, &small, nullptr, &choice), ROOFTILE_EMBED_UNSUPPORTED_DEVICE);
  for (int axis = 0; axis < 3; ++axis) {
    rooftile_embed_limits flat = limits;
    flat.max_workgroup_count[axis] = 0;
    EXPECT_EQ(library_->select(&flat, &small, nullptr, &choice), ROOFTILE_EMBED_UNSUPPORTED_DEVICE);
  }
  const rooftile_embed_problem huge = library_->problem_of(0, 2147483647, 64, 64);
  EXPECT_EQ(library_->select(&limits, &huge, nullptr, &choice), ROOFTILE_EMBED_TOO_LARGE);
  // All sizes at once as large as they may be.
  EXPECT_STREQ(status([](P& p) {
                 p.m = p.n = p.k = p.batch = p.lda = p.ldb = p.ldc = 2147483647 - 1024;
                 p.stride_a = p.stride_b = 0;
                 p.stride_c = 1;
               }),
               "BAD_PROBLEM");
  EXPECT_STREQ(status([](P& p) {
                 p.m = p.n = p.k = p.lda = p.ldb = p.ldc = 2147483647 - 1024;
                 p.batch = 1;
               }),
               "TOO_LARGE");
  EXPECT_EQ(library_->select(nullptr, nullptr, nullptr, nullptr), ROOFTILE_EMBED_NULL_ARGUMENT);

  rooftile_embed_problem clamped = library_->problem_of(class_named("bf16.tn.clamp"), 33, 34, 35);
  const auto with_limits = [&](float low, float high) {
    clamped.clamp_low = low;
    clamped.clamp_high = high;
    return library_->select(&limits, &clamped, nullptr, &choice);
  };
  EXPECT_EQ(with_limits(-1, -1), ROOFTILE_EMBED_OK);
  EXPECT_EQ(with_limits(1, -1), ROOFTILE_EMBED_BAD_PROBLEM);
  EXPECT_EQ(with_limits(NAN, 1), ROOFTILE_EMBED_BAD_PROBLEM);
  EXPECT_EQ(with_limits(-1, NAN), ROOFTILE_EMBED_BAD_PROBLEM);
}

/// A matrix of float32 for each product of a batch, in elements of one buffer.
struct Matrices {
  std::int64_t begin, rows, columns, ld, stride;

  std::set<std::int64_t> elements(std::int64_t product) const {
    std::set<std::int64_t> all;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) all.insert(begin + product * stride + i * ld + j);
    return all;
  }
};

/// By looking at each element; of matrices whose leading dimensions differ, from the first to the
/// last. A matrix of one row has none.
bool share_elements(const Matrices& x, const Matrices& y, std::int64_t batch) {
  for (std::int64_t i = 0; i < batch; ++i)
    for (std::int64_t j = 0; j < batch; ++j) {
      const std::set<std::int64_t> of_x = x.elements(i), of_y = y.elements(j);
      const std::int64_t ld = x.rows > 1 ? x.ld : y.ld;
      const bool same_ld = x.rows == 1 || y.rows == 1 || x.ld == y.ld;
      if (!same_ld || x.columns > ld || y.columns > ld) {
        if (*of_x.begin() <= *of_y.rbegin() && *of_y.begin() <= *of_x.rbegin()) return true;
      } else if (std::ranges::any_of(of_x, [&](std::int64_t at) { return of_y.contains(at); })) {
        return true;
      }
    }
  return false;
}

TEST_F(Header, FindsWhereCSharesBytesWithAnotherOperand) {
  Random random(8);
  const rooftile_embed_class of_class =
      class_named("f32.nn.row_scale+column_scale+bias_row+silu+residual+clamp");
  const rooftile_embed_limits limits = embedded_limits(first_, *made_);
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::int64_t>(random.below(bound));
  };
  std::map<std::pair<int, bool>, int> found;
  for (int turn = 0; turn < 20'000; ++turn) {
    const std::int64_t m = 1 + below(5), n = 1 + below(5), k = 1 + below(5), wide = 5 + below(4);
    const auto matrices = [&](std::int64_t rows, std::int64_t columns) {
      const std::int64_t ld = below(3) > 0 ? wide : columns + below(4);
      return Matrices{below(70), rows, columns, ld, rows * ld + below(20)};
    };
    const bool side_by_side = below(3) == 0;  // Products in the rows of one matrix.
    Matrices c = matrices(m, n), a = matrices(m, k), b = matrices(k, n), residual = matrices(m, n);
    if (side_by_side) {
      c.ld = a.ld = b.ld = residual.ld = 4 * wide;
      c.stride = a.stride = b.stride = residual.stride = wide;
    }
    if (below(3) == 0) a.stride = 0;
    if (below(3) == 0) residual = c;
    rooftile_embed_problem p = library_->problem_of(of_class, m, n, k);
    p.batch = 1 + below(3);
    p.lda = a.ld, p.ldb = b.ld, p.ldc = c.ld;
    p.stride_a = a.stride, p.stride_b = b.stride, p.stride_c = c.stride;
    p.alpha = below(8) == 0 ? 0.0f : 1.0f;
    rooftile_embed_operands at = {};
    const auto own = reinterpret_cast<VkBuffer>(1), other = reinterpret_cast<VkBuffer>(2);
    const auto place = [&](VkBuffer buffer, std::int64_t element) {
      return rooftile_embed_place{buffer, static_cast<VkDeviceSize>(4 * element), 4000};
    };
    const int shared = static_cast<int>(below(6));
    at.c = place(own, c.begin);
    at.a = place(shared == 0 ? own : other, a.begin);
    at.b = place(shared == 1 ? own : other, b.begin);
    at.residual = place(shared == 2 ? own : other, residual.begin);
    at.ld_residual = residual.ld, at.stride_residual = residual.stride;
    at.vectors = place(shared > 2 ? own : other, below(5));
    at.row_scale = shared == 3 ? below(60) : 800;
    at.column_scale = shared == 4 ? below(60) : 800;
    at.bias = shared == 5 ? below(60) : 800;
    const auto vector = [&](std::int64_t begin, std::int64_t size) {
      return Matrices{static_cast<std::int64_t>(at.vectors.offset) / 4 + begin, 1, size, size, 0};
    };
    const std::array others = {
        a, b, residual, vector(at.row_scale, m), vector(at.column_scale, n), vector(at.bias, m)};
    const bool is_c = residual.begin == c.begin && (m == 1 || residual.ld == c.ld) &&
                      (p.batch == 1 || residual.stride == c.stride);
    const bool wanted = !(shared < 2 && p.alpha == 0) && !(shared == 2 && is_c) &&
                        share_elements(c, others[static_cast<std::size_t>(shared)], p.batch);
    ASSERT_EQ(library_->c_overlaps(&limits, &p, &at), wanted ? 1 : 0)
        << "turn " << turn << ", operand " << shared;
    ++found[{shared, wanted}];
  }
  EXPECT_EQ(found.size(), 12u);
  for (const auto& [what, times] : found) EXPECT_GT(times, 100) << what.first << what.second;
}

}  // namespace
}  // namespace rooftile
