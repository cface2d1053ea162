#include "runtime/resident/resident_list.h"

#include <algorithm>

#include "runtime/support/copy_bytes.h"

namespace rooftile {

void ResidentList::add_gemm(ResidentWork work) {
  ResidentProduct product = resident_->product(work, AwaitCertificate::kYes);
  const std::lock_guard lock(mutex_);
  items_.emplace_back(Gemm{std::move(work), std::move(product)});
  recorded_ = nullptr;
}

void ResidentList::add_rows(const RowCall& call) {
  RowOperation operation = std::visit(
      [&](const auto& any) {
        return row_operation(any, resident_->row_shaders().of(any),
                             resident_->device()->profile().limits);
      },
      call);
  if (operation.empty()) return;
  const std::lock_guard lock(mutex_);
  items_.emplace_back(std::move(operation));
  recorded_ = nullptr;
}

void ResidentList::add_upload(std::shared_ptr<DeviceMemory> memory, std::uint64_t offset_bytes,
                              const void* from, std::uint64_t bytes) {
  resident_->check_range(*memory, offset_bytes, bytes);
  if (bytes == 0) return;
  auto staging =
      std::make_shared<Buffer>(resident_->device()->create_buffer(bytes, BufferUse::kUpload));
  const std::lock_guard lock(mutex_);
  items_.emplace_back(
      Transfer{std::move(memory), offset_bytes, bytes, from, nullptr, std::move(staging)});
  recorded_ = nullptr;
}

void ResidentList::add_download(std::shared_ptr<DeviceMemory> memory, std::uint64_t offset_bytes,
                                void* to, std::uint64_t bytes) {
  resident_->check_range(*memory, offset_bytes, bytes);
  if (bytes == 0) return;
  auto staging =
      std::make_shared<Buffer>(resident_->device()->create_buffer(bytes, BufferUse::kDownload));
  const std::lock_guard lock(mutex_);
  items_.emplace_back(
      Transfer{std::move(memory), offset_bytes, bytes, nullptr, to, std::move(staging)});
  recorded_ = nullptr;
}

std::shared_ptr<ResidentList::Recorded> ResidentList::record() {
  auto recorded = std::make_shared<Recorded>();
  Segments segments;
  transfers_.clear();
  for (auto& item : items_) {
    if (const Gemm* gemm = std::get_if<Gemm>(&item)) {
      resident_->append(segments, gemm->product, gemm->work, recorded->uses, recorded->keeps,
                        recorded->kernels);
      continue;
    }
    if (const RowOperation* operation = std::get_if<RowOperation>(&item)) {
      segments.add(operation->steps(), operation->expected_ns);
      recorded->keeps.push_back(operation->pipeline);
      recorded->uses.insert(recorded->uses.end(), operation->uses.begin(), operation->uses.end());
      continue;
    }
    Transfer& transfer = std::get<Transfer>(item);
    const std::uint64_t begin = transfer.offset_bytes, bytes = transfer.bytes;
    const Buffer *device = &transfer.memory->buffer, *host = transfer.staging.get();
    const BufferRange on_device = {device, begin, bytes}, on_host = {host, 0, bytes};
    const Access of_device = {device, begin, begin + bytes}, of_host = {host, 0, bytes};
    if (transfer.from != nullptr)
      segments.add(CopyStep{on_host, on_device}, of_host, of_device);
    else
      segments.add(CopyStep{on_device, on_host}, of_device, of_host);
    recorded->keeps.push_back(transfer.staging);
    recorded->uses.push_back(transfer.memory);
    transfers_.push_back(&transfer);
  }
  recorded->lists = resident_->record(segments, Resubmission::kAnyTime);
  recorded->expected_ns = segments.expected_ns();
  return recorded;
}

void ResidentList::check_scales() {
  std::vector<PendingUpload> pending;
  for (const auto& item : items_)
    if (const Gemm* gemm = std::get_if<Gemm>(&item))
      resident_->check_scales(gemm->work.call, gemm->work.uses, pending);
    else if (const Transfer* transfer = std::get_if<Transfer>(&item);
             transfer != nullptr && transfer->from != nullptr)
      pending.push_back(
          {&transfer->memory->buffer, transfer->offset_bytes, transfer->bytes, transfer->from});
}

std::shared_ptr<Run> ResidentList::run() {
  const std::lock_guard lock(mutex_);
  if (last_run_ != nullptr) {
    resident_->wait_for(*last_run_);
    last_run_->wait(0);
    last_run_ = nullptr;
  }
  check_scales();
  if (recorded_ == nullptr) recorded_ = record();
  RunContents contents{.keeps = {recorded_}, .expected_ns = recorded_->expected_ns};
  if (!std::ranges::all_of(recorded_->kernels, [](const auto& x) { return x->has_run(); }))
    contents.kernels = recorded_->kernels;
  for (const Transfer* transfer : transfers_) {
    if (transfer->from != nullptr)
      copy_bytes(transfer->from, transfer->staging->mapped(), transfer->bytes);
    else
      contents.landings.push_back({transfer->staging->mapped(), transfer->to, transfer->bytes});
  }
  std::vector<CommandList*> lists;
  for (CommandList& list : recorded_->lists) lists.push_back(&list);
  auto run = resident_->submit(lists, std::move(contents), recorded_->uses);
  for (const auto& item : items_)
    if (const Gemm* gemm = std::get_if<Gemm>(&item))
      Resident::mark_written(gemm->work);
    else if (const RowOperation* operation = std::get_if<RowOperation>(&item))
      for (const auto& result : operation->results) result->written();
    else if (const Transfer& transfer = std::get<Transfer>(item); transfer.from != nullptr)
      transfer.memory->written();
  if (!transfers_.empty()) last_run_ = run;
  return run;
}

bool ResidentList::has_downloads() {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(items_, [](const auto& item) {
    const Transfer* transfer = std::get_if<Transfer>(&item);
    return transfer != nullptr && transfer->to != nullptr;
  });
}

std::size_t ResidentList::submissions() {
  const std::lock_guard lock(mutex_);
  return recorded_ != nullptr ? recorded_->lists.size() : 0;
}

std::vector<std::string> ResidentList::kernels() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& item : items_)
    if (const Gemm* gemm = std::get_if<Gemm>(&item))
      names.push_back(short_name(gemm->product.kernel()->variant()));
  return names;
}

}  // namespace rooftile
