#include "bench/limiter/trial.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/error.h"
#include "core/numbers/statistics.h"
#include "generator/compile.h"
#include "generator/layout.h"
#include "tuner/measure/processor_time.h"

namespace rooftile {
namespace {

/// Bytes that an index of fetch_a, fetch_b or fetch_words counts.
std::uint64_t vector_bytes(const Variant& v, const Signature& s, Operand operand) {
  const bool is_a = operand == Operand::kA;
  if (!is_a && reads_quantized(v, s))
    return static_cast<std::uint64_t>(words_width(v, s.types)) * sizeof(std::uint32_t);
  const DataType type = type_read(v, s, is_a ? v.packed_a : v.packed_b);
  const int width = is_a ? load_width_a(v, s) : load_width_b(v, s);
  return static_cast<std::uint64_t>(bytes_of(type) * width);
}

/// The vectors of a buffer, each followed by a gap of its size, in a buffer of twice the bytes.
Buffer spread(Device& device, const Buffer& dense, std::uint64_t vector) {
  const std::uint64_t bytes = dense.size_bytes() / vector * vector;
  const Buffer out = device.create_buffer(bytes, BufferUse::kDownload);
  const std::vector<Step> download = {CopyStep{{&dense, 0, bytes}, {&out, 0, bytes}}};
  run_steps(device, download);
  const Buffer in = device.create_buffer(2 * bytes, BufferUse::kUpload);
  const auto* const from = static_cast<const char*>(out.mapped());
  auto* const to = static_cast<char*>(in.mapped());
  std::memset(to, 0, 2 * bytes);
  for (std::uint64_t at = 0; at < bytes; at += vector) std::memcpy(to + 2 * at, from + at, vector);
  Buffer spread = device.create_buffer(2 * bytes, BufferUse::kDevice);
  const std::vector<Step> upload = {CopyStep{{&in, 0, 2 * bytes}, {&spread, 0, 2 * bytes}}};
  run_steps(device, upload);
  return spread;
}

// A sample that is longer counts processor time on a software device, because other programs may
// have the processors in between; of shorter ones the shortest of several is taken.
constexpr double kLongNs = 2e6;

/// Medians of ratios: their standard error.
double error_of(std::span<const double> ratios) {
  return kMedianError * kNormalDeviation * median_absolute_deviation(ratios) /
         std::sqrt(static_cast<double>(ratios.size()));
}

}  // namespace

LimiterTrial::LimiterTrial(std::shared_ptr<Device> device, const Variant& variant,
                           const Problem& problem, double rotate_bytes)
    : device_(std::move(device)),
      problem_(problem),
      variant_(variant),
      kernel_(device_, variant, signature_of(problem), ShaderCache({})),
      placement_(own_buffers(problem)),
      operands_(device_),
      on_host_(device_->profile().kind == DeviceKind::kSoftware) {
  operands_.prepare(problem_, rotate_bytes);
  const GemmPlan plan = kernel_.plan(problem_, placement_);
  for (std::size_t set = 0; set < operands_.sets(); ++set) panels_.emplace_back(*device_, plan);
  pack();
  const Shader gemm = emit_gemm(variant_, signature_of(problem_));
  for (const Change change : kChanges)
    if (const auto shader =
            change == Change::kSums && variant_.split_k == 1 ? std::nullopt : changed(gemm, change))
      changed_.push_back(
          {.change = change,
           .pipeline = device_->create_pipeline(compile(*shader), shader->interface)});
  spread_operands();
  for (std::size_t set = 0; set < operands_.sets(); ++set) {
    unchanged_.push_back(
        std::make_unique<CommandList>(device_->record(steps(set, 1), Timing::kPerStep)));
    for (Changed& one : changed_)
      one.lists.push_back(std::make_unique<CommandList>(
          device_->record(changed_steps(one, set), Timing::kPerStep)));
  }
  // What is changed is compared with the control, whose text differs in the change only, and the
  // unchanged kernel takes the control's turns.
  std::swap(unchanged_, changed_.front().lists);
  check(0, *unchanged_[0], "control");
  for (Changed& one : changed_) check(0, *one.lists[0], name_of(one.change));
  if (const std::string wrong = operands_.written_behind_c(); !wrong.empty())
    fail(ErrorCode::kInternal, "{}", wrong);
}

void LimiterTrial::pack() {
  const GemmPlan plan = kernel_.plan(problem_, placement_);
  for (std::size_t set = 0; set < operands_.sets(); ++set) {
    KernelSteps made = kernel_.steps(plan, operands_.operands(set, placement_, variant_),
                                     panels_[set].workspace());
    made.steps.resize(made.first_gemm);
    run_steps(*device_, made.steps);
  }
}

std::vector<Step> LimiterTrial::steps(std::size_t set, float alpha) {
  Problem p = problem_;
  p.alpha = alpha;
  KernelSteps made =
      kernel_.steps(kernel_.plan(p, placement_), operands_.operands(set, placement_, variant_),
                    panels_[set].workspace());
  made.steps.erase(made.steps.begin(),
                   made.steps.begin() + static_cast<std::ptrdiff_t>(made.first_gemm));
  return std::move(made.steps);
}

std::vector<Step> LimiterTrial::changed_steps(const Changed& changed, std::size_t set) {
  const std::size_t gemms = kernel_.plan(problem_, placement_).gemms.size();
  std::vector<Step> made = steps(set, changed.change == Change::kArithmetic ? 0.5f : 1.0f);
  std::vector<Step> all;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (i < gemms) {
      DispatchStep step = std::get<DispatchStep>(made[i]);
      step.pipeline = &changed.pipeline;
      if (changed.change == Change::kLines)
        step.bindings[0] = {&spread_a_[set]}, step.bindings[1] = {&spread_b_[set]};
      if (changed.change == Change::kIdle) step.groups[2] *= 2;
      all.emplace_back(std::move(step));
      if (changed.change != Change::kLaunches) continue;
      all.emplace_back(BarrierStep{});
    }
    all.push_back(made[i]);
  }
  if (changed.change == Change::kSums) {
    all.emplace_back(BarrierStep{});
    all.insert(all.end(), made.begin() + static_cast<std::ptrdiff_t>(gemms), made.end());
  }
  return all;
}

void LimiterTrial::spread_operands() {
  const Signature s = signature_of(problem_);
  for (std::size_t set = 0; set < operands_.sets(); ++set) {
    const Operands operands = operands_.operands(set, placement_, variant_);
    const Workspace workspace = panels_[set].workspace();
    spread_a_.push_back(spread(*device_,
                               workspace.packed_a != nullptr ? *workspace.packed_a : *operands.a,
                               vector_bytes(variant_, s, Operand::kA)));
    spread_b_.push_back(spread(*device_,
                               workspace.packed_b != nullptr ? *workspace.packed_b : *operands.b,
                               vector_bytes(variant_, s, Operand::kB)));
  }
}

double LimiterTrial::run(CommandList& list) {
  const RunResult result = device_->run(list, kWorkerTimeoutNs);
  return std::max(1.0, std::accumulate(result.step_ns.begin(), result.step_ns.end(), 0.0));
}

double LimiterTrial::sample(const std::vector<std::unique_ptr<CommandList>>& lists, bool wall) {
  const auto next = [&]() -> CommandList& { return *lists[++turn_ % lists.size()]; };
  if (on_host_ && !wall && ns_.size() > 0 && ns_.front() > kLongNs) {
    const ProcessorTime before = processor_time_now();
    run(next());
    return (processor_time_now() - before).cpu_ns;
  }
  double best = run(next());
  for (double total = best; total < kLongNs / 2;) {
    const double ns = run(next());
    best = std::min(best, ns), total += ns + kLongNs / 8;
  }
  return best;
}

void LimiterTrial::check(std::size_t set, CommandList& list, std::string_view what) {
  operands_.overwrite_spots(set);
  run(list);
  if (const std::string wrong = operands_.spot_check(set); !wrong.empty())
    fail(ErrorCode::kInternal, "{}: {}", what, wrong);
}

void LimiterTrial::measure(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    ns_.push_back(sample(unchanged_, true));
    base_.push_back(sample(unchanged_, false));
    // Every other round in the other order, so that a drift of the machine's speed cancels.
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      Changed& one = changed_[round % 2 == 0 ? i : changed_.size() - 1 - i];
      one.ns.push_back(sample(one.lists, one.change == Change::kIdle));
    }
  }
}

double LimiterTrial::ns() const { return median(ns_); }

Movement LimiterTrial::movement(const Changed& one) const {
  const bool idle = one.change == Change::kIdle;
  std::vector<double> shares;
  for (std::size_t i = 0; i < ns_.size(); ++i) {
    const double ratio = one.ns[i] / (idle ? ns_ : base_)[i];
    shares.push_back(idle ? 1 - ratio / 2 : ratio - 1);
  }
  return {.change = one.change, .share = median(shares), .error = error_of(shares)};
}

Movement LimiterTrial::control() const { return movement(changed_.front()); }

std::vector<Movement> LimiterTrial::movements() const {
  std::vector<Movement> movements;
  for (const Changed& one : changed_)
    if (one.change != Change::kNone) movements.push_back(movement(one));
  std::ranges::stable_sort(movements, std::greater{}, &Movement::share);
  return movements;
}

}  // namespace rooftile
