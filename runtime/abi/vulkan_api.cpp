// C ABI of vulkan.h.
#include <rooftile/vulkan.h>

#include <deque>
#include <memory>
#include <tuple>

#include "runtime/abi/c_api_arguments.h"
#include "runtime/abi/c_api_guard.h"
#include "runtime/abi/handles.h"
#include "runtime/abi/resident_arguments.h"
#include "runtime/resident/resident.h"
#include "runtime/support/names.h"

namespace rooftile {
namespace {

/// Objects that recorded commands use.
struct NamedRecording {
  std::shared_ptr<Resident> resident;  // Destroyed last.
  std::shared_ptr<const Kernel> kernel;
  std::shared_ptr<const PackedOperand> packed;
  CommandList commands;
};

Names<rooftile_recording, NamedRecording>& recording_names() {
  // Never destroyed: see resident_api.cpp.
  static auto& names = *new Names<rooftile_recording, NamedRecording>("recording");
  return names;
}

ForeignDevice foreign_device(const rooftile_vulkan_device* device) {
  const Given given("device", device);
  const auto call = [user = given->user](void (*function)(void*)) -> std::function<void()> {
    if (function == nullptr) return {};
    return [=] { function(user); };
  };
  return {.get_instance_proc_addr =
              reinterpret_cast<ForeignDevice::Function>(given->get_instance_proc_addr),
          .instance = given->instance,
          .physical_device = given->physical_device,
          .device = given->device,
          .queue = given->queue,
          .queue_family = given->queue_family,
          .api_version = given->api_version,
          .create_info = given->create_info,
          .lock_queue = call(given->lock_queue),
          .unlock_queue = call(given->unlock_queue)};
}

/// A call on VkBuffers, and the Buffer objects that refer to them.
class VulkanWork {
 public:
  enum class Purpose : std::uint8_t { kPrepare, kRecord };

  VulkanWork(Resident& resident, const rooftile_gemm_args* args,
             const rooftile_vulkan_operands* given_operands, Purpose purpose)
      : device_(*resident.device()) {
    const Given operands("operands", given_operands);
    if ((operands->usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT) == 0)
      fail(ErrorCode::kInvalidArgument,
           "operands->usage is {:#x}, without VK_BUFFER_USAGE_STORAGE_BUFFER_BIT", operands->usage);
    work_.buffers = {.texels = (operands->usage & VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT) != 0,
                     .copies = (operands->usage & VK_BUFFER_USAGE_TRANSFER_SRC_BIT) != 0};
    work_.call = resident_call(
        args, operand_slots_of(*operands, [this](const auto& given) { return place(given); }),
        resident.precision());
    const OperandSlot workspace = place(operands->workspace);
    if (workspace.buffer != nullptr || purpose == Purpose::kPrepare)
      work_.workspace = workspace_bound(workspace, operands->workspace_bytes, device_.profile());
    product_ = resident.product(
        work_, purpose == Purpose::kPrepare ? AwaitCertificate::kYes : AwaitCertificate::kNo);
  }
  VulkanWork(const VulkanWork&) = delete;
  VulkanWork& operator=(const VulkanWork&) = delete;

  const ResidentProduct& product() const { return product_; }
  const Region& workspace() const { return work_.workspace.region; }
  const std::shared_ptr<const PackedOperand>& packed() const { return work_.call.packed; }

 private:
  OperandSlot place(const rooftile_vulkan_place& given) {
    if (given.buffer == VK_NULL_HANDLE) return {};
    for (const auto& [handle, buffer] : buffers_) {
      if (handle != given.buffer) continue;
      if (buffer.size_bytes() != given.bytes)
        fail(ErrorCode::kInvalidArgument, "a VkBuffer is given with two sizes: {} and {} bytes",
             buffer.size_bytes(), given.bytes);
      return {&buffer, given.offset};
    }
    buffers_.emplace_back(
        given.buffer,
        device_.foreign_view(reinterpret_cast<std::uint64_t>(given.buffer), 0, given.bytes));
    return {&buffers_.back().second, given.offset};
  }

  Device& device_;
  // Each VkBuffer occurs once, because operands may overlap.
  std::deque<std::pair<VkBuffer, Buffer>> buffers_;
  ResidentWork work_;
  ResidentProduct product_;
};

}  // namespace
}  // namespace rooftile

extern "C" {

rooftile_status rooftile_vulkan_requirements_get(const rooftile_vulkan_device* device,
                                                 rooftile_vulkan_requirements* requirements) {
  using namespace rooftile;
  return guarded([&] {
    auto owner = std::make_unique<DeviceRequirements>(foreign_device(device));
    give_struct("requirements", requirements,
                {.extension_count = static_cast<std::uint32_t>(owner->extensions().size()),
                 .extensions = owner->extensions().data(),
                 .features = owner->chain(),
                 .owner = owner.get()});
    std::ignore = owner.release();
  });
}

void rooftile_vulkan_requirements_free(rooftile_vulkan_requirements* requirements) {
  if (requirements == nullptr) return;
  delete static_cast<rooftile::DeviceRequirements*>(requirements->owner);
  requirements->owner = nullptr;
}

rooftile_status rooftile_vulkan_open(const rooftile_options* options,
                                     const rooftile_vulkan_device* device,
                                     rooftile_context** context) {
  using namespace rooftile;
  return guarded([&] {
    if (context == nullptr)
      fail(ErrorCode::kInvalidArgument, "context is null: there is nowhere to put the result");
    *context = nullptr;
    ContextOptions chosen = context_options(options);
    chosen.adopted =
        Device::adopt(foreign_device(device), {.cache_folder = default_cache_folder()});
    *context = new rooftile_context{Context(chosen)};
  });
}

rooftile_status rooftile_vulkan_prepare(rooftile_context* context, const rooftile_gemm_args* args,
                                        const rooftile_vulkan_operands* operands,
                                        rooftile_prepared* prepared) {
  using namespace rooftile;
  return guarded([&] {
    const VulkanWork work(*resident_of(context), args, operands, VulkanWork::Purpose::kPrepare);
    if (prepared != nullptr) describe(work.product(), prepared);
  });
}

rooftile_status rooftile_vulkan_record(rooftile_context* context, const rooftile_gemm_args* args,
                                       const rooftile_vulkan_operands* operands,
                                       VkCommandBuffer commands, rooftile_recording** recording) {
  using namespace rooftile;
  return guarded([&] {
    if (recording == nullptr)
      fail(ErrorCode::kInvalidArgument, "recording is null: it has to own what the commands use");
    *recording = nullptr;
    if (commands == nullptr) fail(ErrorCode::kInvalidArgument, "commands is null");
    const std::shared_ptr<Resident> resident = resident_of(context);
    const VulkanWork work(*resident, args, operands, VulkanWork::Purpose::kRecord);
    *recording = recording_names().add(std::make_shared<NamedRecording>(
        NamedRecording{resident, work.product().kernel(), work.packed(),
                       resident->record_into(commands, work.product(), work.workspace())}));
  });
}

rooftile_status rooftile_recording_release(rooftile_recording* recording) {
  using namespace rooftile;
  return guarded([&] { recording_names().release(recording); });
}

}  // extern "C"
