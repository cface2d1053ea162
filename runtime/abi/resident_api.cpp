// C ABI of resident.h.
#include <rooftile/resident.h>

#include <limits>

#include "runtime/abi/c_api_arguments.h"
#include "runtime/abi/c_api_guard.h"
#include "runtime/abi/handles.h"
#include "runtime/abi/resident_arguments.h"

namespace rooftile {

// Never destroyed: drivers tear themselves down in exit handlers of their own, and nothing may call
// into them afterwards.
Names<rooftile_buffer, NamedBuffer>& buffer_names() {
  static auto& names = *new Names<rooftile_buffer, NamedBuffer>("buffer");
  return names;
}
Names<rooftile_run, NamedRun>& run_names() {
  static auto& names = *new Names<rooftile_run, NamedRun>("run");
  return names;
}
Names<rooftile_list, NamedList>& list_names() {
  static auto& names = *new Names<rooftile_list, NamedList>("list");
  return names;
}

std::shared_ptr<Resident> resident_of(rooftile_context* context) {
  if (context == nullptr) fail(ErrorCode::kInvalidArgument, "context is null");
  return context->context.resident();
}

std::shared_ptr<DeviceMemory> memory_of(const Resident& resident, const rooftile_buffer* buffer) {
  const auto named = buffer_names().get(buffer);
  if (named->resident.get() != &resident)
    fail(ErrorCode::kInvalidArgument, "a buffer belongs to another context");
  return named->memory;
}

namespace {

double timeout(std::uint64_t timeout_ns) {
  return timeout_ns == ROOFTILE_FOREVER ? std::numeric_limits<double>::infinity()
                                        : static_cast<double>(timeout_ns);
}

ResidentWork work_of(const Resident& resident, const rooftile_gemm_args* args,
                     const rooftile_resident_operands* given_operands) {
  const Given operands("operands", given_operands);
  ResidentWork work;
  const auto place = [&](const rooftile_place& given) -> OperandSlot {
    if (given.buffer == nullptr) return {};
    work.uses.push_back(memory_of(resident, given.buffer));
    return {&work.uses.back()->buffer, given.offset};
  };
  work.call = resident_call(args, operand_slots_of(*operands, place), resident.precision());
  work.workspace = workspace_bound(place(operands->workspace), operands->workspace_bytes,
                                   resident.device()->profile());
  return work;
}

}  // namespace

void give(const std::shared_ptr<Resident>& resident,
          const std::function<std::shared_ptr<Run>()>& begin, rooftile_run** target) {
  if (target == nullptr) {
    begin();
    return;
  }
  // A call that has begun must not fail for lack of memory.
  const auto named = std::make_shared<NamedRun>(NamedRun{resident, nullptr});
  rooftile_run* const name = run_names().add(named);
  try {
    named->run = begin();
  } catch (...) {
    run_names().release(name);
    throw;
  }
  *target = name;
}

}  // namespace rooftile

extern "C" {

rooftile_status rooftile_buffer_create(rooftile_context* context, size_t bytes,
                                       rooftile_buffer** buffer) {
  using namespace rooftile;
  return guarded([&] {
    *checked("buffer", buffer) = nullptr;
    const std::shared_ptr<Resident> resident = resident_of(context);
    *buffer = buffer_names().add(
        std::make_shared<NamedBuffer>(NamedBuffer{resident, resident->create_memory(bytes)}));
  });
}

rooftile_status rooftile_buffer_release(rooftile_buffer* buffer) {
  using namespace rooftile;
  return guarded([&] { buffer_names().release(buffer); });
}

rooftile_status rooftile_buffer_size(rooftile_buffer* buffer, size_t* bytes) {
  using namespace rooftile;
  return guarded([&] {
    *checked("bytes", bytes) =
        static_cast<size_t>(buffer_names().get(buffer)->memory->buffer.size_bytes());
  });
}

rooftile_status rooftile_buffer_upload(rooftile_buffer* buffer, size_t offset_bytes,
                                       const void* from, size_t bytes) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = buffer_names().get(buffer);
    if (bytes > 0) checked("from", from);
    named->resident->upload(named->memory, offset_bytes, from, bytes);
  });
}

rooftile_status rooftile_buffer_download(rooftile_buffer* buffer, size_t offset_bytes, void* to,
                                         size_t bytes) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = buffer_names().get(buffer);
    if (bytes > 0) checked("to", to);
    named->resident->download(named->memory, offset_bytes, to, bytes);
  });
}

rooftile_status rooftile_resident_prepare(rooftile_context* context, const rooftile_gemm_args* args,
                                          const rooftile_resident_operands* operands,
                                          rooftile_prepared* prepared) {
  using namespace rooftile;
  return guarded([&] {
    const std::shared_ptr<Resident> resident = resident_of(context);
    const ResidentProduct product =
        resident->product(work_of(*resident, args, operands), AwaitCertificate::kYes);
    if (prepared != nullptr) describe(product, prepared);
  });
}

rooftile_status rooftile_resident_gemm(rooftile_context* context, const rooftile_gemm_args* args,
                                       const rooftile_resident_operands* operands,
                                       rooftile_run** run) {
  using namespace rooftile;
  return guarded([&] {
    if (run != nullptr) *run = nullptr;
    const std::shared_ptr<Resident> resident = resident_of(context);
    const ResidentWork work = work_of(*resident, args, operands);
    give(
        resident, [&] { return resident->gemm(work); }, run);
  });
}

rooftile_status rooftile_resident_finish(rooftile_context* context, uint64_t timeout_ns) {
  using namespace rooftile;
  return guarded([&] {
    if (context == nullptr) fail(ErrorCode::kInvalidArgument, "context is null");
    const std::shared_ptr<Resident> resident = context->context.opened_resident();
    if (resident != nullptr && !resident->finish(timeout(timeout_ns)))
      fail(ErrorCode::kTimeout, "the device's work is not finished after {} ns", timeout_ns);
  });
}

rooftile_status rooftile_run_wait(rooftile_run* run, uint64_t timeout_ns) {
  using namespace rooftile;
  return guarded([&] {
    if (!run_names().get(run)->run->wait(timeout(timeout_ns)))
      fail(ErrorCode::kTimeout, "the run is not finished after {} ns", timeout_ns);
  });
}

rooftile_status rooftile_run_release(rooftile_run* run) {
  using namespace rooftile;
  return guarded([&] { run_names().release(run); });
}

rooftile_status rooftile_list_create(rooftile_context* context, rooftile_list** list) {
  using namespace rooftile;
  return guarded([&] {
    *checked("list", list) = nullptr;
    const std::shared_ptr<Resident> resident = resident_of(context);
    *list = list_names().add(std::make_shared<NamedList>(NamedList{
        resident, std::make_shared<ResidentList>(resident), context->context.grouped_counter()}));
  });
}

rooftile_status rooftile_list_gemm(rooftile_list* list, const rooftile_gemm_args* args,
                                   const rooftile_resident_operands* operands) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = list_names().get(list);
    named->list->add_gemm(work_of(*named->resident, args, operands));
  });
}

rooftile_status rooftile_list_upload(rooftile_list* list, rooftile_buffer* buffer,
                                     size_t offset_bytes, const void* from, size_t bytes) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = list_names().get(list);
    if (bytes > 0) checked("from", from);
    named->list->add_upload(memory_of(*named->resident, buffer), offset_bytes, from, bytes);
  });
}

rooftile_status rooftile_list_download(rooftile_list* list, rooftile_buffer* buffer,
                                       size_t offset_bytes, void* to, size_t bytes) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = list_names().get(list);
    if (bytes > 0) checked("to", to);
    named->list->add_download(memory_of(*named->resident, buffer), offset_bytes, to, bytes);
  });
}

rooftile_status rooftile_list_run(rooftile_list* list, rooftile_run** run) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = list_names().get(list);
    if (run != nullptr) *run = nullptr;
    if (run == nullptr && named->list->has_downloads())
      fail(ErrorCode::kInvalidArgument,
           "run is null, but the list has downloads, which rooftile_run_wait completes");
    give(
        named->resident, [&] { return named->list->run(); }, run);
  });
}

rooftile_status rooftile_list_release(rooftile_list* list) {
  using namespace rooftile;
  return guarded([&] { list_names().release(list); });
}

}  // extern "C"
