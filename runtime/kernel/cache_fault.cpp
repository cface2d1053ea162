#include "runtime/kernel/cache_fault.h"

#include <fmt/format.h>

#include "runtime/device/device.h"
#include "runtime/support/log.h"

namespace rooftile {

void say_cache_fault(const Device& device) {
  const PipelineCacheState state = device.pipeline_cache_state();
  if (state.fault)
    log_warning_once(state.file.parent_path().string(),
                     fmt::format("{}; kernels are compiled anew", state.note));
}

}  // namespace rooftile
