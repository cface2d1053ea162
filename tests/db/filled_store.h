// The stored data of a small tuning run, for tests of views and of the examples in
// docs/database.md.
#pragma once

#include "store_fixture.h"

namespace rooftile {

struct Filled {
  DeviceProfile profile;
  RowId device = 0;
  CandidateRecord slow, fast, wrong;
  std::string bucket, tall_bucket;
};

inline void fill_runs(Store& store, const Filled& filled, RowId problem_id, RowId tall_id) {
  const auto failed = [](RowId run, RowId candidate, RowId problem_row, SampleStatus status,
                         double kernel_ns) {
    SampleRecord sample = measured(run, candidate, problem_row, kernel_ns);
    sample.status = status;
    sample.detail = "what went wrong";
    return sample;
  };
  const RowId first = store.begin_run(filled.device, "1.0", R"({"budget_s": 60})");
  store.add_sample(measured(first, filled.slow.id, problem_id, 1000));
  store.add_sample(failed(first, filled.wrong.id, tall_id, SampleStatus::kTimedOut, 1));
  SampleRecord noisy = measured(first, filled.fast.id, problem_id, 800);
  noisy.retaken = 3;
  noisy.noisy = 1;
  noisy.level = 1.1;
  store.add_sample(noisy);
  for (const double ns : {2000.0, 2200.0, 2100.0})
    store.add_reference_sample(first, {.median_ns = ns, .mad_ns = 10, .count = 5});
  store.add_sample(failed(first, filled.wrong.id, problem_id, SampleStatus::kWrongResult, 1));
  store.add_sample(measured(first, filled.slow.id, tall_id, 300));
  store.end_run(first, "budget", {.highest_c = 71.5, .throttle_events = 4});
  const RowId second = store.begin_run(filled.device, "1.0", "{}");
  store.add_sample(measured(second, filled.slow.id, problem_id, 1200));
  store.add_sample(measured(second, filled.fast.id, problem_id, 900));
  store.add_sample(measured(second, filled.slow.id, problem_id, 1100));
  store.end_run(second, "finished");
}

inline void fill_verdicts(Store& store, const Filled& filled, RowId problem_id) {
  store.put_compiler_facts(
      filled.device, filled.fast.id,
      {.facts = {.registers = 96,
                 .spilled_registers = 0,
                 .shared_bytes = 8192,
                 .subgroups_per_unit = 8,
                 .statistics = {{"compute", "VGPRs", "of a subgroup", std::uint64_t{96}}}}});
  store.put_counters(filled.device, filled.fast.id, problem_id,
                     {.passes = 2,
                      .counters = {{.name = "VRAM read size",
                                    .category = "Memory",
                                    .description = "Number of bytes read from VRAM",
                                    .unit = "bytes",
                                    .scope = "command",
                                    .value = 1e6},
                                   {.name = "VALU Busy",
                                    .category = "Shaders",
                                    .description = "",
                                    .unit = "percent",
                                    .scope = "command buffer",
                                    .value = 87.5}}});
  store.put_certificate(filled.device, filled.fast.id, "1.0", true, "all 432 problems");
  store.put_certificate(filled.device, filled.wrong.id, "1.0", false, "NaN at (3, 5)");
  store.black_list(filled.device, filled.wrong.id, "hung for 2 s");
}

inline void fill_lists(Store& store, const Filled& filled, RowId problem_id, RowId tall_id) {
  const std::vector<WinnerRecord> ranked = {
      {.candidate = filled.fast.id,
       .problem = problem_id,
       .rank = 0,
       .kernel_ns = 800,
       .pack_ns = 40},
      {.candidate = filled.slow.id, .problem = problem_id, .rank = 1, .kernel_ns = 1000}};
  const std::vector<WinnerRecord> tall_ranked = {
      {.candidate = filled.slow.id, .problem = tall_id, .rank = 0, .kernel_ns = 300}};
  store.put_winners(filled.device, filled.bucket, ranked);
  store.put_winners(filled.device, filled.tall_bucket, tall_ranked);
  store.put_outcome(filled.device, {.problem = problem_id,
                                    .candidate = filled.fast.id,
                                    .verdict = OutcomeVerdict::kFaster,
                                    .confidence = 0.97,
                                    .tried = 3,
                                    .default_candidate = filled.slow.id,
                                    .default_ns = 1010});
  store.put_outcome(filled.device, {.problem = tall_id, .candidate = filled.slow.id, .tried = 1});
  store.log_untuned(filled.device, packed_problem(8, 4096, 17), 12);
  const std::vector<PortfolioRecord> portfolio = {
      {.candidate = filled.fast.id,
       .place = 0,
       .times = {{.m = 8, .n = 8, .k = 8, .batch = 1, .ns = 9}}}};
  store.put_portfolio(filled.device, filled.fast.signature, portfolio,
                      RegretRecord{.signature = filled.fast.signature,
                                   .problems = 23,
                                   .median = 0.01,
                                   .median_low = 0.005,
                                   .median_high = 0.03,
                                   .mean = 0.02,
                                   .worst_decile = 0.08,
                                   .worst = 0.3,
                                   .nearest_median = 0.1,
                                   .nearest_mean = 0.25,
                                   .nearest_worst_decile = 0.7});
}

inline Filled fill_store(Store& store) {
  Filled filled;
  filled.profile = example_device("Quote's \"GPU\" <b>&amp;</b> \u00fc\u4e2d");
  filled.device = store.device_id(filled.profile);
  const std::vector<Figure> old_figures = {
      {.name = "device.fma.f32", .unit = "gflops", .value = 10, .mad = 1, .count = 3}};
  const std::vector<Figure> figures = {
      {.name = "device.fma.f32", .unit = "gflops", .value = 50, .mad = 0.5, .count = 9},
      {.name = "device.submit", .unit = "ns", .value = 20000, .mad = 100, .count = 30}};
  store.add_calibration(filled.device, old_figures);
  store.add_calibration(filled.device, figures);

  filled.slow = example_candidate("slow", 16);
  filled.fast = example_candidate("fast", 64);
  filled.wrong = example_candidate("wrong", 128);
  for (CandidateRecord* candidate : {&filled.slow, &filled.fast, &filled.wrong})
    candidate->id = store.candidate_id(*candidate);
  const Problem problem = packed_problem(37, 129, 65), tall = packed_problem(500, 3, 7);
  const RowId problem_id = store.problem_id(problem), tall_id = store.problem_id(tall);
  filled.bucket = to_string(bucket_of(problem));
  filled.tall_bucket = to_string(bucket_of(tall));

  fill_runs(store, filled, problem_id, tall_id);
  fill_verdicts(store, filled, problem_id);
  fill_lists(store, filled, problem_id, tall_id);
  return filled;
}

}  // namespace rooftile
