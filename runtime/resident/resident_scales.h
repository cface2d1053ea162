// Scales of a quantised B that lie on the device, checked as those in host memory are
// (runtime/call/scale_checks.h): read back before the first product that uses them, and again after
// something has written the memory that holds them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/resident/device_memory.h"
#include "runtime/resident/resident_call.h"

namespace rooftile {

/// Host memory that is on its way into device memory.
struct PendingUpload {
  const Buffer* to = nullptr;
  std::uint64_t offset_bytes = 0, bytes = 0;
  const void* from = nullptr;
};

/// Reads bytes of device memory, as Resident::download does.
using ReadMemory = std::function<void(const std::shared_ptr<DeviceMemory>& memory,
                                      std::uint64_t offset_bytes, void* to, std::uint64_t bytes)>;

/// Throws kInvalidArgument as check_scales() does. Waits for the runs that use the memory if it has
/// to be read. pending: what is uploaded before the product runs, in this order. Nothing is done
/// for a B that is not quantised, that no product reads, or that was packed (and checked) before,
/// and for memory that is not among uses.
void check_resident_scales(const ReadMemory& read, const ResidentCall& call, const MemoryUses& uses,
                           std::span<const PendingUpload> pending = {});

}  // namespace rooftile
