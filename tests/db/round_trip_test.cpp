// Property: every legal value, and any name, is read back as it was stored.
#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "../support/random_variant.h"
#include "store_fixture.h"

namespace rooftile {
namespace {

/// Text that would do harm if it were pasted into SQL, HTML, JSON or a shell, with UTF-8 sequences
/// of all lengths.
rc::Gen<std::string> odd_text() {
  const rc::Gen<std::string> piece = rc::gen::element<std::string>(
      "'", "\"", "`", "'); DROP TABLE devices; --", "<script>alert(1)</script>", "&amp;", "%s%n",
      "\\", "\n", "\r", "\t", "\x01", "\x7f", "\u00fc", "\u4e2d\u6587", "\U0001F680", "\u202e",
      "e\u0301", "\ufeff", " ", "a", "{}", "$(x)", "?1", ":a");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                      [](const std::vector<std::string>& pieces) {
                        std::string text;
                        for (const std::string& part : pieces) text += part;
                        return text;
                      });
}

rc::Gen<Problem> any_problem() {
  return rc::gen::exec([] {
    const auto size = [] { return *rc::gen::inRange<std::int64_t>(0, 1 << 20); };
    const auto transpose = [] { return *rc::gen::element(Transpose::kNo, Transpose::kYes); };
    Problem p = packed_problem(size(), size(), size(), transpose(), transpose(),
                               *rc::gen::inRange<std::int64_t>(0, 100));
    p.lda += *rc::gen::inRange<std::int64_t>(0, 1000);
    p.ldb += *rc::gen::inRange<std::int64_t>(0, 1000);
    p.ldc += *rc::gen::inRange<std::int64_t>(0, 1000);
    if (p.batch > 1) p.stride_a = *rc::gen::inRange<std::int64_t>(0, 1000);
    p.stride_c = p.m * p.ldc + *rc::gen::inRange<std::int64_t>(0, 1000);
    const auto factor = [] {
      return *rc::gen::oneOf(
          rc::gen::arbitrary<float>(),
          rc::gen::element(0.0f, 1.0f, -1.0f, 0.1f, std::numeric_limits<float>::denorm_min(),
                           std::numeric_limits<float>::infinity()));
    };
    p.alpha = factor();
    p.beta = factor();
    if (*rc::gen::arbitrary<bool>()) {
      p.types = parse_types("f64");
      p.alpha = *rc::gen::element(1.0 / 3, 1e300, 5e-324, p.alpha);
    }
    if (p.batch == 1 && p.trans_a == Transpose::kNo && *rc::gen::arbitrary<bool>()) {
      p.grouping = {.experts = *rc::gen::inRange<std::int64_t>(1, 1000),
                    .groups = *rc::gen::inRange<std::int64_t>(0, 1000),
                    .largest = *rc::gen::inRange<std::int64_t>(0, p.m + 1)};
      p.stride_b = stored_b(p).rows * p.ldb;
    }
    return p;
  });
}

/// Finite, non-negative times.
rc::Gen<double> any_time() {
  return rc::gen::map(rc::gen::arbitrary<double>(), [](double x) { return std::abs(x); });
}

/// All cases share one file, because a fixture lives for one case only, and because rows of
/// different cases must not affect each other. Each closes it, since other tests fork.
class RoundTrip : public ::testing::Test {
 protected:
  static std::filesystem::path shared_file() {
    static const ScratchFolder folder;
    return folder / "rooftile.db";
  }
  Store store_{shared_file()};
};

RC_GTEST_FIXTURE_PROP(RoundTrip, Candidate, ()) {
  static int number = 0;  // Equal hashes mean one candidate; ":" distinguishes 1 + "1" from 11.
  CandidateRecord record = {.id = 0,
                            .hash = std::to_string(++number) + ":" + *odd_text(),
                            .signature = *odd_text(),
                            .variant = *any_variant()};
  const RowId id = store_.candidate_id(record);
  const std::optional<CandidateRecord> found = store_.candidate(id);
  RC_ASSERT(found.has_value());
  RC_ASSERT(found->hash == record.hash);
  RC_ASSERT(found->signature == record.signature);
  RC_ASSERT(found->variant == record.variant);
  RC_ASSERT(store_.candidate_id(record) == id);
}

RC_GTEST_FIXTURE_PROP(RoundTrip, Problem, ()) {
  const rooftile::Problem problem = *any_problem();
  const RowId id = store_.problem_id(problem);
  RC_ASSERT(store_.problem(id) == problem);
  RC_ASSERT(store_.problem_id(problem) == id);
}

rc::Gen<MatrixShape> any_matrix_shape() {
  return rc::gen::exec([] {
    MatrixShape shape;
    shape.m = *rc::gen::inRange(1, 1025);
    shape.n = *rc::gen::inRange(1, 1025);
    shape.k = *rc::gen::inRange(1, 1025);
    shape.operand =
        *rc::gen::element(DataType::kF16, DataType::kBf16, DataType::kI8, DataType::kU8);
    shape.sum = *rc::gen::element(DataType::kF16, DataType::kF32, DataType::kI32);
    return shape;
  });
}

rc::Gen<WorkgroupMatrix> any_workgroup_matrix() {
  return rc::gen::exec([] {
    return WorkgroupMatrix{*any_matrix_shape(), *rc::gen::inRange(1, 1025)};
  });
}

template <typename Value>
requires(std::is_arithmetic_v<Value>) void set_any(Value& value) {
  value = *rc::gen::arbitrary<Value>();
}
void set_any(double& value) { value = *any_time(); }
void set_any(std::array<std::uint32_t, 3>& values) {
  for (std::uint32_t& value : values) set_any(value);
}
void set_any(std::vector<MatrixShape>& shapes) {
  shapes = *rc::gen::container<std::vector<MatrixShape>>(any_matrix_shape());
}
void set_any(std::vector<WorkgroupMatrix>& shapes) {
  shapes = *rc::gen::container<std::vector<WorkgroupMatrix>>(any_workgroup_matrix());
}

/// Any value of every limit: a new one does not compile until it has its place here.
DeviceLimits any_limits() {
  DeviceLimits limits;
  auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac,
         ad, ae, af, ag, ah] = limits;
  const auto set_all = [](auto&... all) { (set_any(all), ...); };
  set_all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac,
          ad, ae, af, ag, ah);
  return limits;
}

RC_GTEST_FIXTURE_PROP(RoundTrip, Device, ()) {
  DeviceProfile profile = example_device(*odd_text());
  profile.device_uuid = *odd_text();
  profile.driver_name = *odd_text();
  profile.driver_info = *odd_text();
  profile.vendor_id = *rc::gen::arbitrary<std::uint32_t>();
  profile.device_id = *rc::gen::arbitrary<std::uint32_t>();
  profile.driver_version = *rc::gen::arbitrary<std::uint32_t>();
  profile.kind = *rc::gen::element(DeviceKind::kDiscrete, DeviceKind::kIntegrated,
                                   DeviceKind::kSoftware, DeviceKind::kVirtual, DeviceKind::kOther);
  profile.device_memory_bytes = *rc::gen::inRange<std::uint64_t>(0, 1ull << 62);
  profile.unified_memory = *rc::gen::arbitrary<bool>();
  profile.limits = any_limits();
  const RowId id = store_.device_id(profile);
  RC_ASSERT(store_.find_device(profile) == id);
  for (const DeviceRecord& record : store_.devices()) {
    if (record.id != id) continue;
    RC_ASSERT(record.profile.name == profile.name);
    RC_ASSERT(record.profile.device_uuid == profile.device_uuid);
    RC_ASSERT(record.profile.vendor_id == profile.vendor_id);
    RC_ASSERT(record.profile.device_id == profile.device_id);
    RC_ASSERT(record.profile.driver_id == profile.driver_id);
    RC_ASSERT(record.profile.driver_name == profile.driver_name);
    RC_ASSERT(record.profile.driver_info == profile.driver_info);
    RC_ASSERT(record.profile.driver_version == profile.driver_version);
    RC_ASSERT(record.profile.pipeline_cache_uuid == profile.pipeline_cache_uuid);
    RC_ASSERT(record.profile.api_version == profile.api_version);
    RC_ASSERT(record.profile.kind == profile.kind);
    RC_ASSERT(record.profile.device_memory_bytes == profile.device_memory_bytes);
    RC_ASSERT(record.profile.unified_memory == profile.unified_memory);
    RC_ASSERT(record.profile.limits == profile.limits);
    return;
  }
  RC_FAIL("the device is not listed");
}

RC_GTEST_FIXTURE_PROP(RoundTrip, Calibration, ()) {
  const RowId device = store_.device_id(example_device());
  std::vector<Figure> figures;
  for (const std::string& name : *rc::gen::unique<std::vector<std::string>>(odd_text()))
    figures.push_back({.name = name,
                       .unit = *odd_text(),
                       .value = *rc::gen::arbitrary<double>(),
                       .mad = *any_time(),
                       .count = *rc::gen::inRange<std::size_t>(0, 1000000)});
  store_.add_calibration(device, figures);
  RC_ASSERT(store_.latest_calibration(device) == figures);
}

RC_GTEST_FIXTURE_PROP(RoundTrip, Sample, ()) {
  const RowId run = store_.begin_run(store_.device_id(example_device()), *odd_text(), "{}");
  const RowId candidate = store_.candidate_id(example_candidate("abc"));
  const RowId problem = store_.problem_id(*any_problem());
  SampleRecord sample = measured(run, candidate, problem, *any_time());
  sample.status = *rc::gen::element(SampleStatus::kMeasured, SampleStatus::kCompileFailed,
                                    SampleStatus::kLaunchFailed, SampleStatus::kWrongResult,
                                    SampleStatus::kTimedOut, SampleStatus::kCrashed);
  sample.kernel.count = *rc::gen::inRange<std::size_t>(1, 1000);
  sample.pack_ns = *any_time();
  sample.compile_ns = *any_time();
  sample.detail = *odd_text();
  store_.add_sample(sample);
  const SampleRecord found = store_.samples(store_.device_id(example_device()), problem).back();
  RC_ASSERT(found.run == run);
  RC_ASSERT(found.status == sample.status);
  RC_ASSERT(found.kernel.median_ns == sample.kernel.median_ns);
  RC_ASSERT(found.kernel.mad_ns == sample.kernel.mad_ns);
  RC_ASSERT(found.kernel.low_ns == sample.kernel.low_ns);
  RC_ASSERT(found.kernel.high_ns == sample.kernel.high_ns);
  RC_ASSERT(found.kernel.count == sample.kernel.count);
  RC_ASSERT(found.pack_ns == sample.pack_ns);
  RC_ASSERT(found.compile_ns == sample.compile_ns);
  RC_ASSERT(found.detail == sample.detail);
}

rc::Gen<CompilerStatistic> any_statistic() {
  return rc::gen::exec([] {
    CompilerStatistic statistic = {
        .executable = *odd_text(), .name = *odd_text(), .description = *odd_text()};
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        statistic.value = *rc::gen::arbitrary<bool>();
        break;
      case 1:
        statistic.value = -1 - *rc::gen::inRange<std::int64_t>(0, 1ll << 62);
        break;
      case 2:
        statistic.value = *rc::gen::arbitrary<std::uint64_t>();
        break;
      default:
        statistic.value = *any_time();
    }
    return statistic;
  });
}

RC_GTEST_FIXTURE_PROP(RoundTrip, CompilerFacts, ()) {
  const RowId device = store_.device_id(example_device());
  const RowId candidate = store_.candidate_id(example_candidate("abc"));
  const auto optional_count = []() -> std::optional<std::int64_t> {
    if (*rc::gen::arbitrary<bool>()) return std::nullopt;
    return *rc::gen::inRange<std::int64_t>(0, 1ll << 62);
  };
  CompilerFactsRecord record;
  record.facts = {
      .registers = optional_count(),
      .scalar_registers = optional_count(),
      .spilled_registers = optional_count(),
      .spilled_scalar_registers = optional_count(),
      .spill_stores = optional_count(),
      .scratch_bytes = optional_count(),
      .shared_bytes = optional_count(),
      .subgroups_per_unit = optional_count(),
      .statistics = *rc::gen::container<std::vector<CompilerStatistic>>(any_statistic())};
  if (*rc::gen::arbitrary<bool>()) record.dropped_reason = "spilled: " + *odd_text();
  store_.put_compiler_facts(device, candidate, record);
  RC_ASSERT(store_.compiler_facts(device, candidate) == record);
}

TEST_F(RoundTrip, MissingCompilerFactsAreAbsent) {
  EXPECT_EQ(store_.compiler_facts(store_.device_id(example_device()),
                                  store_.candidate_id(example_candidate("never compiled"))),
            std::nullopt);
}

TEST_F(RoundTrip, StatisticsOfAnyTextAreValidJson) {
  const std::vector<CompilerStatistic> broken = {{"\xff", "\xc3", "\x80 x", true}};
  const auto read = parse_statistics(statistics_json(broken));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].value, broken[0].value);
  for (const char* text : {"", "{", "{}", "[1]", R"([{"name":"x"}])",
                           R"([{"executable":"","name":"x","description":"","value":null}])"})
    EXPECT_TRUE(parse_statistics(text).empty()) << text;
}

RC_GTEST_FIXTURE_PROP(RoundTrip, TextsOfVerdictsAndWinners, ()) {
  const RowId device = store_.device_id(example_device());
  const RowId candidate = store_.candidate_id(example_candidate("abc"));
  const rooftile::Problem problem = *any_problem();
  const std::string bucket = *odd_text(), version = *odd_text(), reason = *odd_text(),
                    detail = *odd_text();
  const std::vector<WinnerRecord> ranked = {{.candidate = candidate,
                                             .problem = store_.problem_id(problem),
                                             .kernel_ns = *any_time(),
                                             .pack_ns = *any_time()}};
  store_.put_winners(device, bucket, ranked);
  store_.put_certificate(device, candidate, version, true, detail);
  RC_ASSERT(store_.certificate(device, candidate, version) == true);
  bool found = false;
  for (const TunedKernel& kernel : store_.tuned_kernels(device, version))
    found |= kernel.bucket == bucket && kernel.problem == problem &&
             kernel.kernel_ns == ranked[0].kernel_ns && kernel.pack_ns == ranked[0].pack_ns;
  RC_ASSERT(found);
  RC_ASSERT(store_.winners(device).at(0).generator_version == version);
  RC_ASSERT(store_.winners(device).at(0).verdict_detail == detail);
  store_.put_winners(device, bucket, {});

  // Uses a device of its own, because dispatch gets no black-listed candidate.
  DeviceProfile other = example_device();
  other.driver_version = 77;
  const RowId elsewhere = store_.device_id(other);
  store_.black_list(elsewhere, candidate, reason);
  RC_ASSERT(store_.black_listed(elsewhere).at(0).reason == reason);
}

}  // namespace
}  // namespace rooftile
