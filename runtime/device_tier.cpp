#include "runtime/device_tier.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "generator/emit.h"
#include "runtime/log.h"

namespace rooftile {
namespace {

// One submit is kept well under the shortest OS watchdog (2 s): longer products run as panels of
// about this length.
constexpr double kStepNs = 0.25e9;
// A step that takes this many times its predicted time, and at least this long, is a hang.
constexpr double kTimeoutRatio = 100.0, kShortestTimeoutNs = 10e9;

bool same_device(const DeviceProfile& x, const DeviceProfile& y) {
  return x.device_uuid == y.device_uuid && x.vendor_id == y.vendor_id &&
         x.device_id == y.device_id && x.driver_id == y.driver_id &&
         x.driver_version == y.driver_version && x.pipeline_cache_uuid == y.pipeline_cache_uuid;
}

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

}  // namespace

DeviceTier::DeviceTier(DeviceProfile profile, KernelRanking ranking,
                       std::filesystem::path cache_folder)
    : profile_(std::move(profile)),
      ranking_(std::move(ranking)),
      shader_cache_(std::move(cache_folder)) {}

std::vector<RankedChoice> DeviceTier::ranked(const Problem& p) const {
  return ranking_.ranked(effective(p));
}

std::string DeviceTier::veto(const Problem& p) const {
  {
    const std::lock_guard lock(mutex_);
    if (gone_) return last_failure_;
  }
  return does_not_fit(p);
}

std::string DeviceTier::does_not_fit(const Problem& p) const {
  const Problem staged = effective(p);
  const DeviceLimits& limits = profile_.limits;
  const std::uint64_t largest =
      std::min(limits.max_storage_buffer_range_bytes, limits.max_memory_allocation_bytes);
  std::uint64_t total = 0;
  const StagedBytes operands = staged_bytes(staged);
  for (const std::uint64_t bytes :
       {operands.a, operands.b, operands.c, operands.scales, operands.zero_points}) {
    if (bytes > largest)
      return fmt::format("an operand of {} bytes exceeds the device's buffer limit of {}", bytes,
                         largest);
    total += bytes;
  }
  // Packed panels may take as much again as A and B.
  if (2 * total > profile_.device_memory_bytes)
    return fmt::format("operands and panels of {} bytes do not fit the device's memory of {}",
                       2 * total, profile_.device_memory_bytes);
  return {};
}

void DeviceTier::open() {
  if (device_ != nullptr) return;
  const Enumeration found = enumerate_devices();
  const auto match = std::find_if(found.devices.begin(), found.devices.end(),
                                  [&](const DeviceProfile& d) { return same_device(d, profile_); });
  if (match == found.devices.end())
    fail(
        ErrorCode::kDevice,
        "the tuned device '{}' ({}) is not here or its driver has changed{}{}; run `rooftile tune`",
        profile_.name, profile_.driver_info, found.note.empty() ? "" : ": ", found.note);
  device_ = Device::open(*match, {.cache_folder = shader_cache_.folder()});
  pool_ = std::make_unique<BufferPool>(device_);
}

const Kernel& DeviceTier::kernel(const CandidateRecord& candidate, const Signature& signature) {
  auto& slot = built_[candidate.hash];
  if (slot == nullptr) {
    // The certificate is of the kernel with that hash: templates, or the row, may have changed
    // since.
    if (emit_gemm(candidate.variant, signature).hash != candidate.hash)
      fail(ErrorCode::kUnsupported,
           "what was certified is not the kernel that this Rooftile makes; run `rooftile tune`");
    slot = std::make_unique<Kernel>(device_, candidate.variant, signature, shader_cache_);
    device_->save_pipeline_cache();
  }
  return *slot;
}

void DeviceTier::run(const RankedChoice& choice, const GemmCall& call) {
  const Problem staged = effective(call.problem);
  const double timeout_ns =
      std::max(kShortestTimeoutNs, kTimeoutRatio * std::min(choice.expected_ns, kStepNs));

  const Kernel& kernel = this->kernel(*choice.candidate, signature_of(staged));
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
    CommandList list = device_->record(steps);
    device_->run(list, timeout_ns);
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
  const DataType type_c = staged.types.c;
  for (std::int64_t i = 0; i < staged.batch; ++i)
    copy_matrix(extent_c, type_c, result + i * staged.stride_c * bytes_of(type_c), staged.ldc,
                call.c_of(i), call.problem.ldc);
}

void DeviceTier::gemm(const GemmCall& call) {
  const std::vector<RankedChoice> kernels = ranked(call.problem);
  const std::lock_guard lock(mutex_);
  if (gone_) fail(ErrorCode::kDevice, "{}", last_failure_);
  if (kernels.empty())
    fail(ErrorCode::kUnsupported,
         "no certified kernel of {} is legal for {}; run `rooftile tune` with this problem",
         profile_.name, to_string(call.problem));
  const auto give_up = [&](const std::string& why) {
    gone_ = true;
    last_failure_ = why;
  };
  try {
    open();
  } catch (const Error& error) {
    give_up(error.what());
    throw;
  }
  std::optional<Error> last;
  for (const RankedChoice& choice : kernels) {
    const CandidateRecord& candidate = *choice.candidate;
    if (failed_.contains(candidate.hash)) continue;
    try {
      return run(choice, call);
    } catch (const Error& error) {
      last = error;
      last_failure_ = error.what();
      if (error.code() == ErrorCode::kOutOfMemory) {
        pool_->trim();
        break;  // the next kernel needs no less
      }
      failed_.insert(candidate.hash);
      log_warning(fmt::format("kernel '{}' fails on {} and is not used any more: {}",
                              short_name(candidate.variant), profile_.name, error.what()));
      built_.erase(candidate.hash);
      if (device_->lost()) {
        give_up(fmt::format("the device {} was lost: {}", profile_.name, error.what()));
        break;
      }
    }
  }
  if (last) throw *last;
  fail(ErrorCode::kDevice, "every kernel of {} for {} has failed: {}", profile_.name,
       to_string(call.problem), last_failure_);
}

DeviceState DeviceTier::state() const {
  const std::lock_guard lock(mutex_);
  return {.opened = device_ != nullptr, .lost = gone_, .last_failure = last_failure_};
}

}  // namespace rooftile
