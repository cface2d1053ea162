// Objects behind the handles of the C ABI.
#pragma once

#include <rooftile/packed.h>
#include <rooftile/resident.h>

#include <functional>
#include <memory>

#include "runtime/call/packed_operand.h"
#include "runtime/dispatch/context.h"
#include "runtime/resident/resident_list.h"
#include "runtime/support/names.h"

struct rooftile_context {
  rooftile::Context context;
};

namespace rooftile {

// The device is the first member, so that it is destroyed last.
struct NamedBuffer {
  std::shared_ptr<Resident> resident;
  std::shared_ptr<DeviceMemory> memory;
};
struct NamedRun {
  std::shared_ptr<Resident> resident;
  std::shared_ptr<Run> run;
};
struct NamedList {
  std::shared_ptr<Resident> resident;
  std::shared_ptr<ResidentList> list;
  std::function<void(const Problem&)> count_grouped;  ///< Context::grouped_counter
};

struct NamedPacked {
  std::shared_ptr<const PackedOperand> packed;
};

Names<rooftile_buffer, NamedBuffer>& buffer_names();
Names<rooftile_run, NamedRun>& run_names();
Names<rooftile_list, NamedList>& list_names();
Names<rooftile_packed, NamedPacked>& packed_names();

/// Throw kInvalidArgument for a null context, and for a buffer of another context.
std::shared_ptr<Resident> resident_of(rooftile_context* context);
std::shared_ptr<DeviceMemory> memory_of(const Resident& resident, const rooftile_buffer* buffer);

/// Begins a run and stores its handle in *target, if the caller wants it. Nothing is begun without
/// memory for the handle.
void give(const std::shared_ptr<Resident>& resident,
          const std::function<std::shared_ptr<Run>()>& begin, rooftile_run** target);

template <typename T>
T* checked(const char* argument, T* pointer) {
  if (pointer == nullptr) fail(ErrorCode::kInvalidArgument, "{} is null", argument);
  return pointer;
}

}  // namespace rooftile
