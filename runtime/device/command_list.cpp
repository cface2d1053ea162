#include <algorithm>
#include <variant>

#include "runtime/device/device_impl.h"
#include "runtime/device/ranges.h"
#include "runtime/device/step_checker.h"

namespace rooftile {
namespace {

constexpr std::uint32_t kQueriesPerTime = 2;  // Before and after a step, or all of them.

bool is_barrier(const Step& step) { return std::holds_alternative<BarrierStep>(step); }

}  // namespace

CommandList::CommandList() = default;
CommandList::~CommandList() { destroy_or_leak(impl_); }
CommandList::CommandList(CommandList&&) noexcept = default;
CommandList& CommandList::operator=(CommandList&& other) noexcept {
  std::swap(impl_, other.impl_);
  destroy_or_leak(other.impl_);
  return *this;
}

/// Turns checked steps into one command buffer.
class Device::Recorder {
 public:
  explicit Recorder(std::shared_ptr<Impl> device, Timing timing = Timing::kNone,
                    Resubmission resubmission = Resubmission::kWhenFinished)
      : device_(*device),
        timing_(timing),
        list_(std::make_unique<CommandList::Impl>()),
        checker_(*device) {
    list_->device = std::move(device);
    list_->resubmission = resubmission;
  }

  std::unique_ptr<CommandList::Impl> record(std::span<const Step> steps) {
    ListNeeds needs = checker_.check_all(steps);
    make_descriptors(needs);
    make_objects(std::move(needs));
    vk::CommandBufferBeginInfo begin;
    if (list_->resubmission == Resubmission::kAnyTime)
      begin.flags |= vk::CommandBufferUsageFlagBits::eSimultaneousUse;
    list_->commands.begin(begin, device_.dispatcher());
    if (list_->queries != 0) {
      list_->commands.resetQueryPool(*list_->timestamps, 0, list_->queries, device_.dispatcher());
    }
    // Counters of whole command buffers must begin with the first command and end with the last.
    const bool counted = *list_->counters != vk::QueryPool();
    if (counted) list_->commands.beginQuery(*list_->counters, 0, {}, device_.dispatcher());
    const bool whole = timing_ == Timing::kWhole;
    if (whole) begin_time();
    for (const Step& step : steps) record_timed(step);
    if (whole) write_timestamp();
    write(BarrierStep{});  // Makes writes visible to the host and to the next list on the queue.
    if (counted) list_->commands.endQuery(*list_->counters, 0, device_.dispatcher());
    list_->commands.end(device_.dispatcher());
    return std::move(list_);
  }

  /// Records with one query of these counters around all steps. The profiling lock must be held.
  std::unique_ptr<CommandList::Impl> record_counted(std::span<const Step> steps,
                                                    std::span<const std::uint32_t> counters) {
    vk::QueryPoolPerformanceCreateInfoKHR chosen;
    chosen.queueFamilyIndex = device_.counters->queue_family;
    chosen.counterIndexCount = static_cast<std::uint32_t>(counters.size());
    chosen.pCounterIndices = counters.data();
    vk::QueryPoolCreateInfo info({}, vk::QueryType::ePerformanceQueryKHR, 1);
    info.pNext = &chosen;
    list_->counters = {device_.handle, info};
    return record(steps);
  }

  std::unique_ptr<CommandList::Impl> record_into(vk::CommandBuffer commands,
                                                 std::span<const Step> steps) {
    make_descriptors(checker_.check_all(steps));
    list_->commands = commands;
    for (const Step& step : steps) record_timed(step);
    return std::move(list_);
  }

 private:
  void make_descriptors(const ListNeeds& needs) {
    if (needs.descriptor_sets == 0) return;
    std::vector<vk::DescriptorPoolSize> sizes;
    const auto add = [&](vk::DescriptorType type, std::uint32_t count) {
      if (count != 0) sizes.emplace_back(type, count);
    };
    add(vk::DescriptorType::eStorageBuffer, needs.storage_bindings);
    add(vk::DescriptorType::eUniformTexelBuffer, needs.texel_bindings);
    const vk::DescriptorPoolCreateInfo info({}, needs.descriptor_sets, sizes);
    list_->descriptors = {device_.handle, info};
  }

  void make_objects(ListNeeds needs) {
    if (timing_ != Timing::kNone)
      list_->queries = kQueriesPerTime * (timing_ == Timing::kWhole ? 1 : needs.timed_steps);
    if (list_->queries != 0) {
      const vk::QueryPoolCreateInfo info({}, vk::QueryType::eTimestamp, list_->queries);
      list_->timestamps = {device_.handle, info};
    }
    list_->incoherent = std::move(needs.incoherent);
    list_->pool = {device_.handle, vk::CommandPoolCreateInfo({}, device_.details.queue_family)};
    list_->commands = allocate_commands();
    if (*list_->counters != vk::QueryPool()) reset_counters();
  }

  vk::CommandBuffer allocate_commands() const {
    const vk::CommandBufferAllocateInfo info(*list_->pool, vk::CommandBufferLevel::ePrimary, 1);
    return (*device_.handle).allocateCommandBuffers(info, device_.dispatcher()).front();
  }

  /// The command buffer that contains a query of counters must not reset it.
  void reset_counters() {
    list_->counter_reset = allocate_commands();
    list_->counter_reset.begin(vk::CommandBufferBeginInfo(), device_.dispatcher());
    list_->counter_reset.resetQueryPool(*list_->counters, 0, 1, device_.dispatcher());
    list_->counter_reset.end(device_.dispatcher());
  }

  void record_timed(const Step& step) {
    const bool timed = timing_ == Timing::kPerStep && !is_barrier(step);
    if (timed)
      begin_time();
    else if (timing_ == Timing::kPerStep)
      list_->first_query.push_back(CommandList::Impl::kNoQuery);
    std::visit([this](const auto& any) { write(any); }, step);
    if (timed) write_timestamp();
  }

  void begin_time() {
    list_->first_query.push_back(static_cast<int>(next_query_));
    write_timestamp();
  }

  /// Bottom of pipe: the timestamp is taken when everything recorded before is finished.
  void write_timestamp() {
    list_->commands.writeTimestamp(vk::PipelineStageFlagBits::eBottomOfPipe, *list_->timestamps,
                                   next_query_++, device_.dispatcher());
  }

  void write(const BarrierStep&) {
    using Stage = vk::PipelineStageFlagBits;
    using Access = vk::AccessFlagBits;
    const vk::MemoryBarrier barrier(Access::eShaderWrite | Access::eTransferWrite,
                                    Access::eShaderRead | Access::eShaderWrite |
                                        Access::eTransferRead | Access::eTransferWrite |
                                        Access::eHostRead);
    list_->commands.pipelineBarrier(Stage::eComputeShader | Stage::eTransfer,
                                    Stage::eComputeShader | Stage::eTransfer | Stage::eHost, {},
                                    barrier, {}, {}, device_.dispatcher());
  }

  void write(const CopyStep& copy) {
    const ByteRange source = checker_.checked_range(copy.source),
                    target = checker_.checked_range(copy.target);
    list_->commands.copyBuffer(
        copy.source.buffer->impl_->named, copy.target.buffer->impl_->named,
        vk::BufferCopy(source.offset_bytes, target.offset_bytes, source.size_bytes),
        device_.dispatcher());
  }

  void write(const ClearStep& clear) {
    const ByteRange target = checker_.checked_range(clear.target);
    list_->commands.fillBuffer(clear.target.buffer->impl_->named, target.offset_bytes,
                               target.size_bytes, 0, device_.dispatcher());
  }

  void write(const DispatchStep& dispatch) {
    const Pipeline::Impl& pipeline = *dispatch.pipeline->impl_;
    const auto compute = vk::PipelineBindPoint::eCompute;
    list_->commands.bindPipeline(compute, *pipeline.handle, device_.dispatcher());
    if (!dispatch.bindings.empty()) {
      list_->commands.bindDescriptorSets(compute, *pipeline.layout, 0, make_set(dispatch, pipeline),
                                         {}, device_.dispatcher());
    }
    if (!dispatch.push_constants.empty()) {
      list_->commands.pushConstants(*pipeline.layout, vk::ShaderStageFlagBits::eCompute, 0,
                                    static_cast<std::uint32_t>(dispatch.push_constants.size()),
                                    dispatch.push_constants.data(), device_.dispatcher());
    }
    list_->commands.dispatch(dispatch.groups[0], dispatch.groups[1], dispatch.groups[2],
                             device_.dispatcher());
  }

  vk::DescriptorSet make_set(const DispatchStep& dispatch, const Pipeline::Impl& pipeline) {
    const vk::DescriptorSetAllocateInfo info(*list_->descriptors, *pipeline.set_layout);
    const vk::DescriptorSet set =
        (*device_.handle).allocateDescriptorSets(info, device_.dispatcher()).front();
    // Reserved, because the writes point into these vectors.
    std::vector<vk::DescriptorBufferInfo> buffers;
    std::vector<vk::BufferView> views;
    std::vector<vk::WriteDescriptorSet> writes;
    buffers.reserve(dispatch.bindings.size());
    views.reserve(dispatch.bindings.size());
    for (std::uint32_t i = 0; i < dispatch.bindings.size(); ++i) {
      const BindingKind kind = pipeline.interface.bindings[i];
      const ByteRange range = checker_.checked_range(dispatch.bindings[i]);
      const Buffer::Impl& bound = *dispatch.bindings[i].buffer->impl_;
      const vk::Buffer buffer = bound.named;
      vk::WriteDescriptorSet write(set, i);
      if (kind == BindingKind::kStorageBuffer) {
        write.descriptorType = vk::DescriptorType::eStorageBuffer;
        write.setBufferInfo(buffers.emplace_back(buffer, range.offset_bytes, range.size_bytes));
      } else {
        const std::uint64_t room = bound.driver_bytes -
                                   std::min(range.offset_bytes, bound.driver_bytes),
                            most =
                                device_.limits().max_texel_buffer_elements * texel_of(kind).bytes;
        const vk::BufferViewCreateInfo view(
            {}, buffer, static_cast<vk::Format>(texel_of(kind).vk_format), range.offset_bytes,
            texel_view_bytes(range.size_bytes, room, most));
        write.descriptorType = vk::DescriptorType::eUniformTexelBuffer;
        write.setTexelBufferView(
            views.emplace_back(*list_->views.emplace_back(device_.handle, view)));
      }
      writes.push_back(write);
    }
    (*device_.handle).updateDescriptorSets(writes, {}, device_.dispatcher());
    return set;
  }

  Impl& device_;
  Timing timing_;
  std::unique_ptr<CommandList::Impl> list_;
  StepChecker checker_;
  std::uint32_t next_query_ = 0;
};

CommandList Device::record(std::span<const Step> steps, Timing timing, Resubmission resubmission) {
  impl_->check_usable();
  if (timing != Timing::kNone && impl_->limits().timestamp_valid_bits == 0) {
    fail(ErrorCode::kUnsupported,
         "{} has no timestamps on its compute queue; measure the wall time of runs instead",
         profile().name);
  }
  CommandList list;
  list.impl_ = impl_->driver("recording commands",
                             [&] { return Recorder(impl_, timing, resubmission).record(steps); });
  return list;
}

CommandList Device::record_counted(std::span<const Step> steps,
                                   std::span<const std::uint32_t> counters) {
  CommandList list;
  list.impl_ = impl_->driver("recording counted commands",
                             [&] { return Recorder(impl_).record_counted(steps, counters); });
  return list;
}

CommandList Device::record_into(void* vk_command_buffer, std::span<const Step> steps) {
  impl_->check_usable();
  CommandList list;
  list.impl_ = impl_->driver("recording commands", [&] {
    const vk::CommandBuffer commands(static_cast<VkCommandBuffer>(vk_command_buffer));
    return Recorder(impl_).record_into(commands, steps);
  });
  return list;
}

namespace {

/// Locks the queue by the program's functions; an empty function is not called.
class QueueGuard {
 public:
  explicit QueueGuard(Device::Impl& device) : device_(device), lock_(device.queue_mutex) {
    if (device.lock_queue) device.lock_queue();
  }
  ~QueueGuard() {
    if (device_.unlock_queue) device_.unlock_queue();
  }
  QueueGuard(const QueueGuard&) = delete;
  QueueGuard& operator=(const QueueGuard&) = delete;

 private:
  Device::Impl& device_;
  const std::lock_guard<std::mutex> lock_;
};

}  // namespace

void Device::Impl::submit(const vk::SubmitInfo& work, vk::Fence fence) {
  if (*queue == vk::Queue())
    fail(ErrorCode::kUnsupported, "{} was passed without a queue: calls can only be recorded on it",
         profile().name);
  const QueueGuard guard(*this);
  queue.submit(work, fence);
}

Submission Device::submit(std::span<CommandList* const> lists) {
  impl_->check_usable();
  for (const CommandList* list : lists)
    if (list->impl_ == nullptr || list->impl_->device != impl_ || list->impl_->foreign())
      fail(ErrorCode::kInvalidArgument, "submit() needs lists recorded by the same device");
  Submission submission;
  submission.impl_ = std::make_unique<Submission::Impl>();
  submission.impl_->device = impl_;
  if (lists.empty()) {
    submission.impl_->done = true;
    return submission;
  }
  impl_->driver("submitting commands", [&] {
    const vk::Device device = *impl_->handle;
    Submission::Impl& made = *submission.impl_;
    for (const CommandList* list : lists)
      made.incoherent.insert(made.incoherent.end(), list->impl_->incoherent.begin(),
                             list->impl_->incoherent.end());
    if (!made.incoherent.empty())
      device.flushMappedMemoryRanges(made.incoherent, impl_->dispatcher());
    made.finished = impl_->take_fence();
    made.done = true;  // Stays true until a list is submitted.
    for (std::size_t i = 0; i < lists.size(); ++i) {
      try {
        impl_->submit(vk::SubmitInfo({}, {}, lists[i]->impl_->commands),
                      i + 1 == lists.size() ? *made.finished : vk::Fence());
      } catch (...) {
        // There is no fence that signals the end of the lists before this one.
        if (i > 0) give_up();
        throw;
      }
    }
    made.done = false;
  });
  return submission;
}

}  // namespace rooftile
