#include "runtime/device_tier.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "runtime/float_environment.h"
#include "runtime/step_time.h"

namespace rooftile {
namespace {

// A step that takes this many times its predicted time, and at least this long, is a hang.
constexpr double kTimeoutRatio = 100.0, kShortestTimeoutNs = 10e9;

// alpha == 0 must not read A and B: the staged product has no depth then.
Problem effective(const Problem& p) {
  Problem staged = staged_problem(p);
  if (p.alpha == 0.0f) staged.k = 0;
  return staged;
}

// Host matrices on their way to a kernel: in one buffer on unified memory, else through a mapped
// one.
class StagedInput {
 public:
  StagedInput(BufferPool& pool, const DeviceProfile& profile, std::uint64_t bytes)
      : bytes_(bytes), device_(pool, bytes_, BufferUse::kDevice) {
    if (!profile.unified_memory)
      upload_ = std::make_unique<PooledBuffer>(pool, bytes_, BufferUse::kUpload);
  }
  void* host() const { return upload_ ? (*upload_)->mapped() : device_->mapped(); }
  float* floats() const { return static_cast<float*>(host()); }
  const Buffer* device() const { return &*device_; }
  void append_copy(std::vector<Step>& steps) const {
    if (upload_) steps.emplace_back(CopyStep{{&**upload_, 0, bytes_}, {device(), 0, bytes_}});
  }

 private:
  std::uint64_t bytes_;
  PooledBuffer device_;
  std::unique_ptr<PooledBuffer> upload_;
};

/// The epilogue's vectors and residual, laid out as own_buffers() says.
class StagedEpilogue {
 public:
  StagedEpilogue(BufferPool& pool, const DeviceProfile& profile, const GemmCall& call,
                 const Placement& at) {
    const Problem& p = call.problem;
    const EpilogueElements elements = epilogue_elements(p);
    const auto stage = [&](std::int64_t count, std::unique_ptr<StagedInput>& buffer) {
      if (count > 0)
        buffer = std::make_unique<StagedInput>(
            pool, profile,
            std::max<std::uint64_t>(16, static_cast<std::uint64_t>(count) * sizeof(float)));
    };
    stage(elements.vectors, vectors_);
    stage(elements.residual, residual_);
    const Epilogue& e = p.epilogue;
    if (e.row_scale)
      std::copy_n(call.epilogue.row_scale, p.m, vectors_->floats() + at.offset_row_scale);
    if (e.column_scale)
      std::copy_n(call.epilogue.column_scale, p.n, vectors_->floats() + at.offset_column_scale);
    if (e.bias != Bias::kNone)
      std::copy_n(call.epilogue.bias, e.bias == Bias::kRow ? p.m : p.n,
                  vectors_->floats() + at.offset_bias);
    for (std::int64_t i = 0; e.residual && i < p.batch; ++i)
      copy_matrix(
          {p.m, p.n}, DataType::kF32, call.epilogue.residual + i * call.epilogue.stride_residual,
          call.epilogue.ld_residual, residual_->floats() + i * at.stride_residual, at.ld_residual);
  }
  const Buffer* vectors() const { return vectors_ ? vectors_->device() : nullptr; }
  const Buffer* residual() const { return residual_ ? residual_->device() : nullptr; }
  void append_copies(std::vector<Step>& steps) const {
    if (vectors_) vectors_->append_copy(steps);
    if (residual_) residual_->append_copy(steps);
  }

 private:
  std::unique_ptr<StagedInput> vectors_, residual_;
};

/// Values of a quantised B into its buffer, scales and zero points into their own.
class StagedQuantization {
 public:
  /// staged: without depth when B must not be read.
  StagedQuantization(BufferPool& pool, const DeviceProfile& profile, const GemmCall& call,
                     const Problem& staged, const StagedInput& b) {
    if (!quantized(staged.types)) return;
    const bool reads = staged.k > 0;
    const QuantizedBytes bytes = quantized_bytes(call.problem);
    const StagedBytes sizes = staged_bytes(call.problem);
    if (reads) std::memcpy(b.host(), call.b, static_cast<std::size_t>(bytes.values));
    const auto stage = [&](std::uint64_t size, const void* from, std::int64_t used) {
      auto buffer = std::make_unique<StagedInput>(pool, profile, size);
      if (reads) std::memcpy(buffer->host(), from, static_cast<std::size_t>(used));
      return buffer;
    };
    scales_ = stage(std::max<std::uint64_t>(sizes.scales, 16), call.scales, bytes.scales);
    if (staged.types.b.zero_point != ZeroPoint::kMiddle)
      zero_points_ = stage(std::max<std::uint64_t>(sizes.zero_points, 16), call.zero_points,
                           bytes.zero_points);
  }
  const Buffer* scales() const { return scales_ ? scales_->device() : nullptr; }
  const Buffer* zero_points() const { return zero_points_ ? zero_points_->device() : nullptr; }
  void append_copies(std::vector<Step>& steps) const {
    if (scales_) scales_->append_copy(steps);
    if (zero_points_) zero_points_->append_copy(steps);
  }

 private:
  std::unique_ptr<StagedInput> scales_, zero_points_;
};

/// Bytes of the largest operand, and of all with what they may be packed into.
struct Footprint {
  std::uint64_t largest = 0, total = 0;
};
Footprint footprint(const Problem& p) {
  const StagedBytes bytes = staged_bytes(effective(p));
  Footprint needed;
  for (const std::uint64_t operand : {bytes.a, bytes.b, bytes.c, bytes.scales, bytes.zero_points}) {
    needed.largest = std::max(needed.largest, operand);
    needed.total += 2 * operand;  // packed panels may take as much again as A and B
  }
  return needed;
}

std::uint64_t largest_buffer(const DeviceLimits& limits) {
  return std::min(limits.max_storage_buffer_range_bytes, limits.max_memory_allocation_bytes);
}

}  // namespace

DeviceTier::DeviceTier(DeviceProfile profile, KernelRanking ranking,
                       std::filesystem::path cache_folder)
    : profile_(std::move(profile)),
      ranking_(std::move(ranking)),
      kernels_(profile_, std::move(cache_folder)) {}

std::vector<RankedChoice> DeviceTier::ranked(const Problem& p) const {
  return ranking_.ranked(effective(p));
}

std::optional<double> DeviceTier::measured_ns(const Problem& p) const {
  return ranking_.measured_ns(effective(p));
}

DeviceTier::Refusal DeviceTier::veto(const Problem& p) const {
  if (std::string gone = kernels_.gone(); !gone.empty())
    return {Veto::kDeviceGone, std::move(gone)};
  if (std::string large = does_not_fit(p); !large.empty())
    return {Veto::kDoesNotFit, std::move(large)};
  if (kernels_.any_failed())
    if (const auto kernels = ranked(p); !kernels.empty() && kernels_.all_failed(kernels))
      return {Veto::kNoKernel, fmt::format("every kernel of {} for it has failed: {}",
                                           profile_.name, kernels_.last_failure())};
  return {};
}

bool DeviceTier::fits(const Problem& p) const {
  const Footprint needed = footprint(p);
  return needed.largest <= largest_buffer(profile_.limits) &&
         needed.total <= profile_.device_memory_bytes;
}

std::string DeviceTier::does_not_fit(const Problem& p) const {
  if (fits(p)) return {};
  const Footprint needed = footprint(p);
  const std::uint64_t most = largest_buffer(profile_.limits);
  if (needed.largest > most)
    return fmt::format("an operand of {} bytes exceeds the device's buffer limit of {}",
                       needed.largest, most);
  return fmt::format("operands and panels of {} bytes do not fit the device's memory of {}",
                     needed.total, profile_.device_memory_bytes);
}

std::shared_ptr<Device> DeviceTier::device() { return kernels_.device(); }

void DeviceTier::run(const RankedChoice& choice, const Kernel& kernel, const GemmCall& call,
                     const SpotCheck* check) {
  const std::shared_ptr<Device> device = kernels_.device();
  const std::lock_guard running(running_);
  if (pool_ == nullptr) pool_ = std::make_unique<BufferPool>(device);
  const Problem staged = effective(call.problem);
  const double timeout_ns =
      std::max(kShortestTimeoutNs, kTimeoutRatio * std::min(choice.expected_ns, kStepNs));

  const double steps_needed = choice.expected_ns / kStepNs;
  const GemmPlan plan = steps_needed > 1
                            ? kernel.plan(staged, own_buffers(staged), flops(staged) / steps_needed)
                            : kernel.plan(staged, own_buffers(staged));

  const Extent extent_a = stored_a(staged), extent_b = stored_b(staged),
               extent_c = {staged.m, staged.n};
  const StagedBytes bytes = staged_bytes(staged);
  const StagedInput a(*pool_, profile_, bytes.a), b(*pool_, profile_, bytes.b),
      c(*pool_, profile_, bytes.c);
  const Placement placement = own_buffers(staged);
  const StagedEpilogue epilogue(*pool_, profile_, call, placement);
  std::unique_ptr<PooledBuffer> download;
  if (!profile_.unified_memory)
    download = std::make_unique<PooledBuffer>(*pool_, bytes.c, BufferUse::kDownload);
  const auto workspace_of = [&](std::int64_t elements) {
    return elements == 0 ? nullptr
                         : std::make_unique<PooledBuffer>(
                               *pool_, static_cast<std::uint64_t>(elements) * sizeof(float),
                               BufferUse::kDevice);
  };
  const auto packed_a = workspace_of(plan.packed_a_elements),
             packed_b = workspace_of(plan.packed_b_elements),
             parts = workspace_of(plan.part_elements);

  for (std::int64_t i = 0; i < staged.batch; ++i) {
    const auto put = [&](const StagedInput& target, Extent extent, DataType type, const void* from,
                         std::int64_t ld, std::int64_t stride, std::int64_t staged_ld) {
      copy_matrix(extent, type, from, ld,
                  static_cast<char*>(target.host()) + i * stride * bytes_of(type), staged_ld);
    };
    const Types& types = staged.types;
    if (i == 0 || staged.stride_a != 0)
      put(a, extent_a, types.a, call.a_of(i), call.problem.lda, staged.stride_a, staged.lda);
    if (!quantized(types) && (i == 0 || staged.stride_b != 0))
      put(b, extent_b, types.a, call.b_of(i), call.problem.ldb, staged.stride_b, staged.ldb);
    if (staged.beta != 0.0f)
      put(c, extent_c, types.c, call.c_of(i), call.problem.ldc, staged.stride_c, staged.ldc);
  }
  const StagedQuantization quantization(*pool_, profile_, call, staged, b);

  const Operands operands = {a.device(),
                             b.device(),
                             c.device(),
                             placement,
                             epilogue.vectors(),
                             epilogue.residual(),
                             quantization.scales(),
                             quantization.zero_points()};
  const auto buffer = [](const std::unique_ptr<PooledBuffer>& pooled) {
    return pooled ? &**pooled : nullptr;
  };
  const Workspace workspace = {buffer(packed_a), buffer(packed_b), buffer(parts)};
  std::vector<Step> steps;
  const auto run_steps = [&] {
    CommandList list = device->record(steps);
    device->run(list, timeout_ns);
    steps.clear();
  };
  a.append_copy(steps);
  b.append_copy(steps);
  if (staged.beta != 0.0f) c.append_copy(steps);
  epilogue.append_copies(steps);
  quantization.append_copies(steps);
  if (!steps.empty()) steps.emplace_back(BarrierStep{});
  for (Step& step : kernel.pack_steps(plan, operands, workspace)) steps.push_back(std::move(step));
  // The first gemm step shares its submit with copies and packing; each further panel has its own.
  std::vector<Step> gemms = kernel.gemm_steps(plan, operands, workspace);
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    steps.push_back(std::move(gemms[i]));
    if (i + 1 < gemms.size()) run_steps();
  }
  for (Step& step : kernel.reduce_steps(plan, operands, workspace))
    steps.push_back(std::move(step));
  if (download) {
    steps.emplace_back(BarrierStep{});
    steps.emplace_back(CopyStep{{c.device(), 0, bytes.c}, {&**download, 0, bytes.c}});
  }
  run_steps();
  const auto* result = static_cast<const char*>(download ? (**download).mapped() : c.host());
  if (check != nullptr)
    if (auto mismatch = check->mismatch(call, result, staged.ldc, staged.stride_c))
      throw SpotCheckFailed(*std::move(mismatch), choice.candidate->hash);
  const DataType type_c = staged.types.c;
  for (std::int64_t i = 0; i < staged.batch; ++i)
    copy_matrix(extent_c, type_c, result + i * staged.stride_c * bytes_of(type_c), staged.ldc,
                call.c_of(i), call.problem.ldc);
}

bool DeviceTier::gemm(const GemmCall& call, Wait wait, const SpotCheck* check) {
  const QuietFloats quiet;
  const std::vector<RankedChoice> kernels = ranked(call.problem);
  if (kernels.empty())
    fail(ErrorCode::kUnsupported,
         "no certified kernel of {} is legal for {}; run `rooftile tune` with this problem",
         profile_.name, to_string(call.problem));
  const Signature signature = signature_of(call.problem);
  std::optional<Error> last;
  for (const RankedChoice& choice : kernels) {
    const std::span<const RankedChoice> rest(&choice, &kernels.back() + 1);
    if (wait == Wait::kNo && !kernels_.ready(rest, signature)) return false;
    std::shared_ptr<const Kernel> kernel;
    try {
      kernel = kernels_.kernel(*choice.candidate, signature);
    } catch (const Error& error) {
      last = error;
      if (error.code() == ErrorCode::kOutOfMemory || !kernels_.gone().empty()) break;
    }
    if (kernel == nullptr) continue;
    try {
      run(choice, *kernel, call, check);
      return true;
    } catch (const SpotCheckFailed& error) {
      if (error.wrong()) kernels_.passed_over(*choice.candidate, error);
      throw;
    } catch (const Error& error) {
      last = error;
      if (!kernels_.passed_over(*choice.candidate, error)) break;
    }
  }
  if (last && last->code() == ErrorCode::kOutOfMemory) {
    const std::lock_guard running(running_);
    if (pool_ != nullptr) pool_->trim();
  }
  if (last) throw *last;
  fail(ErrorCode::kDevice, "every kernel of {} for {} has failed: {}", profile_.name,
       to_string(call.problem), kernels_.last_failure());
}

void DeviceTier::gemm(const GemmCall& call, const SpotCheck* check) {
  gemm(call, Wait::kYes, check);
}

bool DeviceTier::gemm_if_ready(const GemmCall& call, const SpotCheck* check) {
  return gemm(call, Wait::kNo, check);
}

DeviceState DeviceTier::state() const {
  return {.opened = kernels_.opened(),
          .lost = !kernels_.gone().empty(),
          .last_failure = kernels_.last_failure()};
}

}  // namespace rooftile
