// What the handles of resident.h and vulkan.h name.
#pragma once

#include <rooftile/resident.h>

#include <memory>

#include "runtime/names.h"
#include "runtime/resident_list.h"

namespace rooftile {

// The device first: it goes last.
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
};

Names<rooftile_buffer, NamedBuffer>& buffer_names();
Names<rooftile_run, NamedRun>& run_names();
Names<rooftile_list, NamedList>& list_names();

/// Throw kInvalidArgument for a null context, and a buffer of another one.
std::shared_ptr<Resident> resident_of(rooftile_context* context);
std::shared_ptr<DeviceMemory> memory_of(const Resident& resident, const rooftile_buffer* buffer);

template <typename T>
T* checked(const char* argument, T* pointer) {
  if (pointer == nullptr) fail(ErrorCode::kInvalidArgument, "{} is null", argument);
  return pointer;
}

}  // namespace rooftile
