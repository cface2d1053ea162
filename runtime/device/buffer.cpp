#include <algorithm>

#include "runtime/device/device_impl.h"
#include "runtime/device/physical/memory_type.h"
#include "runtime/device/ranges.h"
#include "runtime/device/step_checker.h"

namespace rooftile {

Buffer::Buffer() = default;
Buffer::~Buffer() { destroy_or_leak(impl_); }
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(impl_, other.impl_);
  destroy_or_leak(other.impl_);
  return *this;
}

std::uint64_t Buffer::size_bytes() const { return impl_ == nullptr ? 0 : impl_->size_bytes; }
std::uint64_t Buffer::allocated_bytes() const {
  return impl_ == nullptr ? 0 : impl_->allocated_bytes;
}
void* Buffer::mapped() const { return impl_ == nullptr ? nullptr : impl_->mapped; }

void Buffer::free() noexcept {
  if (impl_ != nullptr && impl_->device->forked())
    static_cast<void>(impl_.release());
  else
    impl_.reset();
}

bool Buffer::host_coherent() const { return impl_ != nullptr && impl_->coherent; }

Buffer Device::create_buffer(std::uint64_t bytes, BufferUse use, BufferSize size) {
  impl_->check_usable();
  if (bytes == 0) fail(ErrorCode::kInvalidArgument, "a buffer of 0 bytes cannot be made");
  const std::uint64_t most = impl_->limits().max_memory_allocation_bytes;
  if (bytes > most) {
    fail(ErrorCode::kOutOfMemory,
         "a buffer of {} bytes is above the {} bytes that {} allocates at once; divide it into "
         "slices",
         bytes, most, profile().name);
  }
  return impl_->driver(fmt::format("making a buffer of {} bytes", bytes), [&] {
    auto made = std::make_unique<Buffer::Impl>();
    made->device = impl_;
    made->size_bytes = bytes;

    vk::BufferCreateInfo info;
    made->driver_bytes =
        size == BufferSize::kExact ? bytes : std::min(driver_buffer_bytes(bytes), most);
    info.size = made->driver_bytes;
    info.usage = kBufferUsage;
    made->handle = vk::raii::Buffer(impl_->handle, info);

    const vk::MemoryRequirements needs = made->handle.getMemoryRequirements();
    const auto& types = impl_->details.memory_types;
    const auto type =
        choose_memory_type(types, needs.memoryTypeBits, use, profile().unified_memory);
    if (!type)
      fail(ErrorCode::kUnsupported, "{} has no memory that the host can map for buffers",
           profile().name);
    if (needs.size > types[*type].heap_bytes) {
      fail(ErrorCode::kOutOfMemory,
           "a buffer of {} bytes is above its heap of {} bytes on {}; divide it into slices", bytes,
           types[*type].heap_bytes, profile().name);
    }
    made->memory = vk::raii::DeviceMemory(impl_->handle, vk::MemoryAllocateInfo(needs.size, *type));
    made->allocated_bytes = needs.size;
    made->handle.bindMemory(*made->memory, 0);
    made->named = *made->handle;
    made->named_memory = *made->memory;
    const bool map =
        types[*type].host_visible && (use != BufferUse::kDevice || profile().unified_memory);
    if (map) {
      made->mapped = made->memory.mapMemory(0, VK_WHOLE_SIZE);
      made->coherent = types[*type].host_coherent;
    }
    Buffer buffer;
    buffer.impl_ = std::move(made);
    return buffer;
  });
}

Buffer Device::import_host(void* memory, std::uint64_t bytes) {
  impl_->check_usable();
  const std::uint64_t alignment = impl_->limits().host_import_alignment_bytes;
  if (alignment == 0)
    fail(ErrorCode::kUnsupported, "{} cannot use host memory as it is; copy it into a buffer",
         profile().name);
  if (bytes == 0 || bytes % alignment != 0 ||
      reinterpret_cast<std::uintptr_t>(memory) % alignment != 0)
    fail(ErrorCode::kInvalidArgument,
         "{} bytes of host memory at {} cannot be imported: both must be multiples of {} on {}",
         bytes, memory, alignment, profile().name);
  constexpr auto kHandle = vk::ExternalMemoryHandleTypeFlagBits::eHostAllocationEXT;
  return impl_->driver(
      fmt::format("importing {} bytes of host memory", bytes),
      [&] {
        auto made = std::make_unique<Buffer::Impl>();
        made->device = impl_;
        made->size_bytes = made->driver_bytes = bytes;
        const vk::ExternalMemoryBufferCreateInfo external(kHandle);
        vk::BufferCreateInfo info({}, bytes, kBufferUsage);
        info.pNext = &external;
        made->handle = vk::raii::Buffer(impl_->handle, info);

        const auto& types = impl_->details.memory_types;
        const auto importable = impl_->handle.getMemoryHostPointerPropertiesEXT(kHandle, memory);
        const vk::MemoryRequirements needs = made->handle.getMemoryRequirements();
        const auto type =
            choose_memory_type(types, needs.memoryTypeBits & importable.memoryTypeBits,
                               BufferUse::kUpload, profile().unified_memory);
        if (!type || needs.size > bytes)
          fail(ErrorCode::kUnsupported, "{} cannot use {} bytes of this host memory as a buffer",
               profile().name, bytes);
        const vk::ImportMemoryHostPointerInfoEXT import(kHandle, memory);
        vk::MemoryAllocateInfo allocation(bytes, *type);
        allocation.pNext = &import;
        made->memory = vk::raii::DeviceMemory(impl_->handle, allocation);
        made->handle.bindMemory(*made->memory, 0);
        made->named = *made->handle;
        made->named_memory = *made->memory;
        made->mapped = memory;
        Buffer buffer;
        buffer.impl_ = std::move(made);
        return buffer;
      },
      ErrorCode::kUnsupported);
}

Buffer Device::view(const Buffer& whole, std::uint64_t offset_bytes, std::uint64_t bytes) {
  const ByteRange range = StepChecker(*impl_).checked_range({&whole, offset_bytes, bytes});
  const Buffer::Impl& viewed = *whole.impl_;
  Buffer part;
  part.impl_ = std::make_unique<Buffer::Impl>();
  part.impl_->device = impl_;
  part.impl_->size_bytes = range.size_bytes;
  part.impl_->coherent = viewed.coherent;
  part.impl_->driver_bytes = viewed.driver_bytes;
  part.impl_->named = viewed.named;
  part.impl_->named_memory = viewed.named_memory;
  part.impl_->first_byte = range.offset_bytes;
  return part;
}

Buffer Device::foreign_view(std::uint64_t vk_buffer, std::uint64_t offset_bytes,
                            std::uint64_t bytes) {
  if (vk_buffer == 0 || bytes == 0)
    fail(ErrorCode::kInvalidArgument, "a VkBuffer is null or a range of it is empty");
  Buffer part;
  part.impl_ = std::make_unique<Buffer::Impl>();
  part.impl_->device = impl_;
  part.impl_->size_bytes = bytes;
  part.impl_->named = vk::Buffer(reinterpret_cast<VkBuffer>(vk_buffer));
  part.impl_->first_byte = offset_bytes;
  return part;
}

}  // namespace rooftile
