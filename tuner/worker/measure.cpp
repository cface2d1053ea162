#include "tuner/worker/measure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/half.h"
#include "core/numbers/statistics.h"
#include "runtime/kernel/staging.h"
#include "runtime/kernel/step_time.h"
#include "runtime/model/counted.h"
#include "runtime/verify/random_operand.h"
#include "runtime/verify/reference.h"

namespace rooftile {
namespace {

// The parent's watchdog is shorter; this one only ends an abandoned worker.
constexpr double kTimeoutNs = 60e9;
// Compiled kernels kept for a next request, a megabyte or more each. Finals and portfolios reuse
// fewer, and an exhaustive search reuses none of thousands.
constexpr std::size_t kMostBuilt = 256;
constexpr std::size_t kMostSets = 8;   // Limit of operand sets in rotation.
constexpr double kMostSetBytes = 1e9;  // Limit of memory in rotation.
constexpr int kSpotChecks = 16;
// Canaries behind C. They show after its first run that a kernel writes behind C, before it
// destroys anything else: a software device may take its memory from this process's heap. Their
// length is a row of 16384 columns, which is what a row check that is off by one writes.
constexpr std::uint64_t kGuardBytes = 64 << 10;
constexpr unsigned char kCanary = 0xa5;
// More than the cost of most launches, and less than a watchdog's limit for a very slow candidate.
constexpr double kProbeTiles = 16;
// A few time slices of a scheduler; doubled each time.
constexpr std::chrono::milliseconds kFirstBackOff(20);

std::vector<char> ones(std::int64_t count) {
  std::vector<char> content(static_cast<std::size_t>(count) * sizeof(float));
  const std::vector<float> values(static_cast<std::size_t>(count), 1.0f);
  std::memcpy(content.data(), values.data(), content.size());
  return content;
}

// Workspace of one plan.
class Panels {
 public:
  Panels(Device& device, const GemmPlan& plan) {
    const auto allocate = [&](std::int64_t elements, std::optional<Buffer>& buffer) {
      if (elements > 0)
        buffer = device.create_buffer(static_cast<std::uint64_t>(elements) * sizeof(float),
                                      BufferUse::kDevice);
    };
    allocate(plan.packed_a_elements, a_);
    allocate(plan.packed_b_elements, b_);
    allocate(plan.part_elements, parts_);
  }
  Workspace workspace() const {
    return {a_ ? &*a_ : nullptr, b_ ? &*b_ : nullptr, parts_ ? &*parts_ : nullptr};
  }

 private:
  std::optional<Buffer> a_, b_, parts_;
};

}  // namespace

struct Measurer::OperandSet {
  Buffer a, b, c;              // Buffers that kernels see.
  Buffer vectors, residual;    // Of the epilogue, if there is one; filled with ones.
  Buffer scales, zero_points;  // Of a quantised B.
  RandomQuantization quantization;
  Buffer host_a, host_b,
      host_c;  // Mapped; empty on unified memory, where a, b and c are mapped themselves.
  bool unified;

  void* view(const Buffer& kernel_side, const Buffer& host_side) const {
    return unified ? kernel_side.mapped() : host_side.mapped();
  }
  void* data_a() const { return view(a, host_a); }
  void* data_b() const { return view(b, host_b); }
  void* data_c() const { return view(c, host_c); }
  unsigned char* guard(const Problem& p) const {
    return static_cast<unsigned char*>(view(c, host_c)) + staged_bytes(p).c;
  }
};

namespace {

/// Bytes of canaries behind C: fewer where the device binds no more, and whole vectors.
std::uint64_t guard_bytes(const Problem& staged, const DeviceLimits& limits) {
  const std::uint64_t most = largest_buffer_bytes(limits);
  const std::uint64_t bytes_c = staged_bytes(staged).c;
  return std::min(kGuardBytes, most > bytes_c ? (most - bytes_c) / 16 * 16 : 0);
}

/// An element of C that is checked.
struct Spot {
  std::int64_t row, column, product;
  std::int64_t element;  // Its index in C of the whole batch.
};

/// The same elements for each run of a problem.
std::vector<Spot> spots(const Problem& p) {
  Random random(0xc0ffee);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(limit)));
  };
  std::vector<Spot> spots;
  for (int i = 0; i < kSpotChecks; ++i) {
    // The last element of C is checked first, because edge handling is the likeliest error.
    Spot spot = i == 0 ? Spot{p.m - 1, p.n - 1, p.batch - 1, 0}
                       : Spot{below(p.m), below(p.n), below(p.batch), 0};
    spot.element = spot.product * p.stride_c + spot.row * p.ldc + spot.column;
    if (std::ranges::find(spots, spot.element, &Spot::element) == spots.end())
      spots.push_back(spot);
  }
  return spots;
}

/// What the spots hold before each run. Where beta is 0 it is infinite: no sum of the operands is,
/// and a kernel that reads it gives NaN. Otherwise the results depend on it, so that it is finite,
/// and a spot's result equals it only by chance.
float value_before(const Problem& p) {
  return p.beta == 0.0f ? -std::numeric_limits<float>::infinity() : 1.0f;
}

void refuse(const std::string& wrong) {
  if (!wrong.empty()) fail(ErrorCode::kInternal, "{}", wrong);
}

}  // namespace

std::size_t operand_sets(const Problem& staged, double rotate_bytes) {
  const StagedBytes bytes = staged_bytes(staged);
  const double set_bytes = static_cast<double>(bytes.a + bytes.b + bytes.c);
  const double wanted =
      std::min(std::ceil(rotate_bytes / set_bytes), std::floor(kMostSetBytes / set_bytes));
  return static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(kMostSets)));
}

double operand_bytes(const Problem& problem, double rotate_bytes) {
  const Problem staged = staged_problem(problem);
  const StagedBytes bytes = staged_bytes(staged);
  return static_cast<double>(operand_sets(staged, rotate_bytes) * (bytes.a + bytes.b + bytes.c));
}

Measurer::Measurer(std::shared_ptr<Device> device) : device_(std::move(device)), cache_({}) {}
Measurer::~Measurer() = default;

Measurer::Built& Measurer::build(const Variant& variant, const Signature& signature) {
  Built& built = built_[to_string(variant) + " " + to_string(signature)];
  built.used = ++requests_;
  if (built_.size() > kMostBuilt)
    built_.erase(
        std::ranges::min_element(built_, {}, [](const auto& entry) { return entry.second.used; }));
  if (built.kernel == nullptr) {
    const double start = now_ns();
    built.kernel = std::make_unique<Kernel>(device_, variant, signature, cache_);
    built.compile_ns = now_ns() - start;
    built.statistics = all_statistics(built.kernel->executables());
  }
  return built;
}

// Probes the problem's first few tiles. Drivers may compile at the first dispatch, and again for
// other operands, and a bad candidate may be a thousand times too slow; the probe shows both.
void Measurer::probe(Built& built, const Problem& p, const Operands& operands,
                     const Workspace& workspace, double compute_units) {
  const Variant& v = built.kernel->variant();
  const double tile_flops = 2.0 * v.tile_m * v.tile_n * static_cast<double>(p.k);
  const GemmPlan plan = built.kernel->plan(p, operands.placement, kProbeTiles * tile_flops);
  const KernelSteps kernel = built.kernel->steps(plan, operands, workspace);
  const auto packs = static_cast<std::ptrdiff_t>(kernel.first_gemm);
  CommandList list =
      device_->record(std::span(kernel.steps).first(kernel.first_gemm + 1), Timing::kPerStep);
  const double start = now_ns();
  device_->run(list, kTimeoutNs);
  const double first_ns = now_ns() - start;
  double best = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < 2; ++repeat) {
    const RunResult result = device_->run(list, kTimeoutNs);
    best =
        std::min(best, std::accumulate(result.step_ns.begin() + packs, result.step_ns.end(), 0.0));
  }
  if (!built.probed) built.compile_ns += std::max(0.0, first_ns - best);
  built.probed = p;
  built.occupancy = 0;
  const auto workgroups = [](const GemmStep& step) {
    return static_cast<double>(step.groups[0]) * step.groups[1] * step.groups[2];
  };
  double tiles = 0;
  for (const GemmStep& step : built.kernel->plan(p, operands.placement).gemms)
    tiles += workgroups(step);
  const double probed_tiles = workgroups(plan.gemms.front());
  built.estimate_ns =
      best * tiles / std::clamp(compute_units, probed_tiles, std::max(tiles, probed_tiles));
}

void Measurer::prepare_operands(const Problem& p, double rotate_bytes) {
  if (prepared_ == p && !sets_.empty()) return;
  sets_.clear();
  prepared_ = p;
  const StagedBytes bytes = staged_bytes(p);
  const std::uint64_t bytes_a = bytes.a, bytes_b = bytes.b,
                      bytes_c = bytes.c + guard_bytes(p, device_->profile().limits);
  const std::size_t sets = operand_sets(p, rotate_bytes);
  const bool unified = device_->profile().unified_memory;
  Random random(0x0b5e55ed);
  for (std::size_t i = 0; i < sets; ++i) {
    auto set = std::make_unique<OperandSet>();
    set->unified = unified;
    set->a = device_->create_buffer(bytes_a, BufferUse::kDevice);
    set->b = device_->create_buffer(bytes_b, BufferUse::kDevice);
    set->c = device_->create_buffer(bytes_c, BufferUse::kDevice);
    if (!unified) {
      set->host_a = device_->create_buffer(bytes_a, BufferUse::kUpload);
      set->host_b = device_->create_buffer(bytes_b, BufferUse::kUpload);
      set->host_c = device_->create_buffer(bytes_c, BufferUse::kDownload);
    }
    // The rows' padding is filled too, because no kernel may let it affect C.
    const auto fill = [](void* target, const std::vector<char>& content) {
      std::memcpy(target, content.data(), content.size());
    };
    const auto elements = [](std::uint64_t size, std::int64_t bits) {
      return 8 * static_cast<std::int64_t>(size) / bits;
    };
    fill(set->data_a(),
         random_operand(p.types.a, elements(bytes_a, 8 * bytes_of(p.types.a)), random));
    fill(set->data_b(), random_b(p.types, elements(bytes_b, bits_of_b(p.types)), random));
    if (!unified) {
      const std::vector<Step> steps = {CopyStep{{&set->host_a, 0, bytes_a}, {&set->a, 0, bytes_a}},
                                       CopyStep{{&set->host_b, 0, bytes_b}, {&set->b, 0, bytes_b}}};
      run(steps);
    }
    const EpilogueElements fused = epilogue_elements(p);
    set->vectors = buffer_of(ones(fused.vectors));
    set->residual = buffer_of(ones(fused.residual));
    set->quantization = random_quantization(p, random);
    set->scales = buffer_of(set->quantization.scales);
    set->zero_points = buffer_of(set->quantization.zero_points);
    sets_.push_back(std::move(set));
  }
  set_canaries();
}

std::vector<Step> Measurer::guard_copies(Direction direction) const {
  const std::uint64_t offset = staged_bytes(prepared_).c;
  const std::uint64_t bytes = guard_bytes(prepared_, device_->profile().limits);
  std::vector<Step> steps;
  for (const auto& set : sets_) {
    if (set->unified || bytes == 0) continue;
    const BufferRange kernels{&set->c, offset, bytes}, hosts{&set->host_c, offset, bytes};
    steps.push_back(direction == Direction::kToDevice ? CopyStep{hosts, kernels}
                                                      : CopyStep{kernels, hosts});
  }
  return steps;
}

void Measurer::set_canaries() {
  const std::uint64_t bytes = guard_bytes(prepared_, device_->profile().limits);
  for (const auto& set : sets_) std::memset(set->guard(prepared_), kCanary, bytes);
  run(guard_copies(Direction::kToDevice));
}

std::string Measurer::written_behind_c() {
  run(guard_copies(Direction::kToHost));
  const std::uint64_t bytes = guard_bytes(prepared_, device_->profile().limits);
  for (const auto& set : sets_) {
    const unsigned char* const guard = set->guard(prepared_);
    const auto spoilt = static_cast<std::uint64_t>(
        std::find_if(guard, guard + bytes, [](unsigned char x) { return x != kCanary; }) - guard);
    if (spoilt == bytes) continue;
    const std::uint64_t element = (staged_bytes(prepared_).c + spoilt) /
                                  static_cast<std::uint64_t>(bytes_of(prepared_.types.c));
    set_canaries();  // the next kernel has nothing to do with it
    return fmt::format("{}: wrote outside of C, {} elements from its start", to_string(prepared_),
                       element);
  }
  return {};
}

void Measurer::run(std::span<const Step> steps) const {
  if (steps.empty()) return;
  CommandList list = device_->record(steps);
  device_->run(list, kTimeoutNs);
}

std::vector<double> Measurer::timed_run(std::span<const Step> steps, ProcessorTime& used) {
  CommandList list = device_->record(steps, Timing::kPerStep);
  const bool on_host = device_->profile().kind == DeviceKind::kSoftware;
  const ProcessorTime before = on_host ? processor_time_now() : ProcessorTime();
  RunResult result = device_->run(list, kTimeoutNs);
  if (on_host) used += processor_time_now() - before;
  return std::move(result.step_ns);
}

Buffer Measurer::buffer_of(const std::vector<char>& content) const {
  if (content.empty()) return {};
  const std::uint64_t bytes = (content.size() + 15) / 16 * 16;
  Buffer buffer = device_->create_buffer(bytes, BufferUse::kDevice);
  Buffer host =
      buffer.mapped() != nullptr ? Buffer() : device_->create_buffer(bytes, BufferUse::kUpload);
  std::memcpy(buffer.mapped() != nullptr ? buffer.mapped() : host.mapped(), content.data(),
              content.size());
  if (buffer.mapped() == nullptr) {
    const std::vector<Step> steps = {CopyStep{{&host, 0, bytes}, {&buffer, 0, bytes}}};
    run(steps);
  }
  return buffer;
}

void Measurer::overwrite_spots(const Problem& p, const OperandSet& set) const {
  const float before = value_before(p);
  const auto bytes = static_cast<std::uint64_t>(bytes_of(p.types.c));
  std::vector<Step> copies;
  for (const Spot& spot : spots(p)) {
    const std::uint64_t offset = static_cast<std::uint64_t>(spot.element) * bytes;
    narrow(p.types.c, &before, static_cast<char*>(set.data_c()) + offset, 1);
    if (!set.unified)
      copies.push_back(CopyStep{{&set.host_c, offset, bytes}, {&set.c, offset, bytes}});
  }
  run(copies);
}

std::string Measurer::spot_check(const Problem& p, const OperandSet& set) const {
  if (!set.unified) {
    const std::uint64_t bytes = staged_bytes(p).c;
    const std::vector<Step> steps = {CopyStep{{&set.c, 0, bytes}, {&set.host_c, 0, bytes}}};
    run(steps);
  }
  const auto behind = [](const void* operand, std::int64_t bytes) {
    return static_cast<const char*>(operand) + bytes;
  };
  for (const Spot& spot : spots(p)) {
    const ReferenceElement expected = reference_element(
        p,
        {behind(set.data_a(), spot.product * p.stride_a * bytes_of(p.types.a)),
         behind(set.data_b(), bytes_of_b(p.types, spot.product * p.stride_b)),
         set.quantization.scales.data(), set.quantization.zero_points.data()},
        double{value_before(p)}, {.row_scale = 1, .column_scale = 1, .bias = 1, .residual = 1},
        spot.row, spot.column);
    const double got = element(p.types.c, set.data_c(), spot.element);
    if (!(error_ratio(p, expected, got) <= 1.0))
      return fmt::format("{}: C[{}][{}] is {}, expected {}", to_string(p), spot.row, spot.column,
                         got, expected.value);
  }
  return {};
}

Operands Measurer::operands_of(std::size_t turn, const Placement& placement) const {
  const OperandSet& set = *sets_[turn % sets_.size()];
  const auto or_null = [](const Buffer& x) { return x.size_bytes() > 0 ? &x : nullptr; };
  return {&set.a,
          &set.b,
          &set.c,
          placement,
          or_null(set.vectors),
          or_null(set.residual),
          or_null(set.scales),
          or_null(set.zero_points)};
}

Reading Measurer::timed_call(Built& built, const GemmPlan& plan, const Operands& operands,
                             const Workspace& workspace) {
  KernelSteps kernel = built.kernel->steps(plan, operands, workspace);
  auto packs = static_cast<std::ptrdiff_t>(kernel.first_gemm);
  Reading reading;
  ProcessorTime used;
  for (const std::vector<Step>& steps : submissions_of(std::move(kernel))) {
    const std::vector<double> step_ns = timed_run(steps, used);
    reading.pack_ns += std::accumulate(step_ns.begin(), step_ns.begin() + packs, 0.0);
    reading.kernel_ns += std::accumulate(step_ns.begin() + packs, step_ns.end(), 0.0);
    packs = 0;
  }
  reading.busy_share = busy_share(used, built.occupancy);
  built.occupancy = std::max(built.occupancy, used.occupancy());
  return reading;
}

TimeReply Measurer::time(const TimeRequest& request) {
  const Problem p = staged_problem(request.problem);
  Built& built = build(request.variant, signature_of(p));
  if (request.spilled == Spilled::kDrop) {
    if (auto reason = spill_reason(compiler_facts(built.statistics)))
      return {.hash = built.kernel->hash(),
              .compile_ns = built.compile_ns,
              .statistics = built.statistics,
              .dropped_reason = std::move(reason)};
  }
  const Placement placement = own_buffers(p);
  prepare_operands(p, request.rotate_bytes);
  std::vector<Panels> panels;  // One of each operand set where they are packed before.
  for (std::size_t set = 0; set < (request.prepacked ? sets_.size() : 1); ++set)
    panels.emplace_back(*device_, built.kernel->plan(p, placement));
  const auto workspace = [&] { return panels[turn_ % panels.size()].workspace(); };
  if (built.probed != p) {
    probe(built, p, operands_of(turn_, placement), workspace(), request.compute_units);
    refuse(written_behind_c());
  }
  TimeReply reply{.hash = built.kernel->hash(),
                  .compile_ns = built.compile_ns,
                  .estimate_ns = built.estimate_ns,
                  .statistics = built.statistics};
  if (reply.estimate_ns > request.limit_ns) return reply;

  GemmPlan plan =
      built.kernel->plan(p, placement, kStepNs * flops(p) / std::max(built.estimate_ns, 1.0));
  const auto packing_ns = [&] {
    const KernelSteps kernel =
        built.kernel->steps(plan, operands_of(turn_, placement), workspace());
    if (kernel.first_gemm == 0) return 0.0;
    ProcessorTime unused;
    const std::vector<double> step_ns =
        timed_run(std::span(kernel.steps).first(kernel.first_gemm), unused);
    return std::accumulate(step_ns.begin(), step_ns.end(), 0.0);
  };
  std::vector<double> pack_ns;
  if (request.prepacked) {
    for (std::size_t set = 0; set < sets_.size(); ++set, ++turn_) pack_ns.push_back(packing_ns());
    plan = without_packing(without_packing(std::move(plan), Operand::kA), Operand::kB);
  }
  const auto take = [&] {
    // The operand set also changes from call to call; otherwise calls with one sample each would
    // always use the same two sets.
    const Operands operands = operands_of(++turn_, placement);
    overwrite_spots(p, *sets_[turn_ % sets_.size()]);
    Reading reading = timed_call(built, plan, operands, workspace());
    // Without packing, the steps before the kernel's clear partial sums.
    if (request.prepacked) reading.kernel_ns += std::exchange(reading.pack_ns, 0.0);
    reading.kernel_ns = std::max(reading.kernel_ns, 1.0);  // The timer may be coarser.
    return reading;
  };
  const double start = now_s();
  // An untimed run absorbs page faults of new packed operands, low clocks, and the compilation of a
  // reduction, which the probe left out.
  if (built.estimate_ns <= kLongProductNs || !plan.reduces.empty())
    take();
  else if (!request.prepacked)
    packing_ns();
  const SteadySamples samples = steady_samples(
      request.samples, retakes_.any() ? kMostRetakes : 0, take,
      [](int before) { std::this_thread::sleep_for(kFirstBackOff * (1 << before)); });
  retakes_.earn(now_s() - start - samples.lost_s);
  retakes_.spend(samples.lost_s);
  for (const Reading& reading : samples.readings) {
    if (!request.prepacked) pack_ns.push_back(reading.pack_ns);
    reply.kernel_ns.push_back(reading.kernel_ns);
  }
  reply.retaken = samples.retaken;
  reply.noisy = samples.noisy;
  reply.pack_ns = pack_ns.empty() ? 0.0 : median(pack_ns);
  refuse(written_behind_c());
  refuse(spot_check(p, *sets_[turn_ % sets_.size()]));
  return reply;
}

CounterReadings Measurer::count(const CountRequest& request) {
  const Problem p = staged_problem(request.problem);
  const struct Forget {
    Measurer& measurer;
    ~Forget() {
      measurer.sets_.clear();
      measurer.built_.clear();
    }
  } forget{*this};
  const Kernel& kernel = *build(request.variant, signature_of(p)).kernel;
  const Placement placement = own_buffers(p);
  const GemmPlan plan = kernel.plan(p, placement);
  const Panels panels(*device_, plan);
  prepare_operands(p, 0);
  const Operands operands = operands_of(0, placement);
  const KernelSteps made = kernel.steps(plan, operands, panels.workspace());
  const std::span<const Step> all(made.steps), steps = all.subspan(made.first_gemm);
  run(all.first(made.first_gemm));
  run(steps);  // Drivers may compile at the first dispatch.
  // Each pass begins like a measured run, with no operand in a cache.
  const auto cold_bytes = static_cast<std::uint64_t>(std::min(request.rotate_bytes, kMostSetBytes));
  Buffer cold;
  CommandList chill;
  if (cold_bytes >= sizeof(std::uint32_t)) {
    const std::uint64_t whole_words = cold_bytes / sizeof(std::uint32_t) * sizeof(std::uint32_t);
    cold = device_->create_buffer(whole_words, BufferUse::kDevice);
    chill = device_->record(std::vector<Step>{ClearStep{{&cold, 0, whole_words}}});
  }
  return device_->count(steps, {.first = is_known}, kTimeoutNs,
                        cold.size_bytes() > 0 ? &chill : nullptr);
}

Certificate Measurer::certify(const Variant& variant, const Signature& signature) {
  return rooftile::certify(*device_, *build(variant, signature).kernel, signature);
}

}  // namespace rooftile
