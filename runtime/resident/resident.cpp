#include "runtime/resident/resident.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "core/error.h"
#include "core/round.h"
#include "generator/layout.h"
#include "runtime/kernel/step_time.h"
#include "runtime/support/copy_bytes.h"

namespace rooftile {
namespace {

// Size of one piece of a transfer through mapped memory: while one piece is transferred the host
// copies the next.
constexpr std::uint64_t kTransferPieceBytes = 16 << 20;
constexpr std::uint64_t kNothingBytes = 4096;  // Any binding's alignment.

bool shared_with_host(const Buffer& buffer) {
  return buffer.mapped() != nullptr && buffer.host_coherent();
}

}  // namespace

Resident::Resident(std::shared_ptr<Device> device, std::shared_ptr<const KernelChooser> chooser,
                   KernelHashes wrong_kernels, std::shared_ptr<KernelCache> cache,
                   std::function<std::shared_ptr<Device>()> checking_device, Precision precision)
    : owner_(::getpid()),
      log_(log_level() == LogLevel::kDecisions ? std::make_unique<OnceLog>() : nullptr),
      precision_(precision),
      device_(std::move(device)),
      chooser_(chooser != nullptr
                   ? std::move(chooser)
                   : std::make_shared<const KernelChooser>(
                         device_->profile(), DeviceRates(),
                         KernelRanking(device_->profile().limits, {}, {}), nullptr, cache)),
      kernels_(device_, chooser_, std::move(wrong_kernels), cache, checking_device),
      row_shaders_(device_, std::move(cache), std::move(checking_device)),
      nothing_(device_->create_buffer(kNothingBytes, BufferUse::kDevice)),
      pool_(device_) {}

Resident::~Resident() {
  // In a forked child a lock may be held forever, and no work runs.
  if (::getpid() != owner_) return;
  try {
    if (!finish(patience_ns())) device_->give_up();
  } catch (const std::exception&) {  // The device is lost, so no work runs any more.
  }
}

void Resident::check_range(const DeviceMemory& memory, std::uint64_t offset_bytes,
                           std::uint64_t bytes) const {
  const std::uint64_t size = memory.buffer.size_bytes();
  if (offset_bytes > size || bytes > size - offset_bytes)
    fail(ErrorCode::kInvalidArgument, "{} bytes from byte {} on are not in a buffer of {} bytes",
         bytes, offset_bytes, size);
}

std::shared_ptr<DeviceMemory> Resident::create_memory(std::uint64_t bytes) {
  const std::uint64_t limit = device_->profile().limits.max_memory_allocation_bytes;
  const std::uint64_t whole = bytes > limit ? bytes : round_up(bytes, kWidestLoadBytes);
  auto memory = std::make_shared<DeviceMemory>();
  memory->buffer = device_->create_buffer(whole, BufferUse::kDevice);
  return memory;
}

void Resident::reap() {
  while (!in_flight_.empty() && in_flight_.front()->finished()) in_flight_.pop_front();
}

std::shared_ptr<Run> Resident::submit(const std::vector<CommandList*>& lists, RunContents contents,
                                      const MemoryUses& uses) {
  const std::lock_guard lock(submitting_);
  reap();
  for (const auto& use : uses) contents.keeps.push_back(use);
  // Takes all memory before the device begins: what it uses must be kept from then on.
  const auto run = std::make_shared<Run>(std::move(contents));
  in_flight_.push_back(run);
  try {
    run->begin(device_->submit(lists));
  } catch (...) {
    in_flight_.pop_back();
    throw;
  }
  for (const auto& use : uses) {
    const std::lock_guard using_it(use->mutex);
    use->last_run = run;
  }
  return run;
}

double Resident::patience_ns() {
  const std::lock_guard lock(submitting_);
  double expected_ns = 0;
  std::set<const Kernel*> compiled;
  for (const auto& run : in_flight_) {
    expected_ns += run->expected_ns();
    for (const auto& kernel : run->kernels())
      if (!kernel->has_run()) compiled.insert(kernel.get());
  }
  // Software devices compile at the first dispatch, others when a pipeline is made.
  const bool compiles = device_->profile().kind == DeviceKind::kSoftware;
  return hang_ns(expected_ns) +
         (compiles ? kCompileTimeoutNs * static_cast<double>(compiled.size()) : 0);
}

void Resident::wait_for(const Run& run) {
  const double patience = patience_ns();
  if (run.finished(patience)) return;
  device_->give_up();
  fail(ErrorCode::kTimeout, "work on {} took more than {:.3g} ms; the device is not used any more",
       device_->profile().name, patience * 1e-6);
}

void Resident::wait_for(DeviceMemory& memory) {
  std::shared_ptr<Run> run;
  {
    const std::lock_guard lock(memory.mutex);
    run = memory.last_run.lock();
  }
  if (run != nullptr && !run->finished()) wait_for(*run);
}

bool Resident::finish(double timeout_ns) {
  std::shared_ptr<Run> last;
  {
    const std::lock_guard lock(submitting_);
    reap();
    if (in_flight_.empty()) return true;
    last = in_flight_.back();
  }
  // The queue completes its work in order.
  if (!last->finished(timeout_ns)) return false;
  const std::lock_guard lock(submitting_);
  reap();
  return true;
}

void Resident::staged(Direction direction, const std::shared_ptr<DeviceMemory>& memory,
                      std::uint64_t offset_bytes, char* host, std::uint64_t bytes) {
  const std::lock_guard lock(staging_);
  const bool up = direction == Direction::kUp;
  struct Piece {
    Resident& resident;
    std::unique_ptr<PooledBuffer> staging = nullptr;
    std::shared_ptr<Run> run = nullptr;
    char* host = nullptr;
    std::uint64_t bytes = 0;

    // After a failure in between, waits until the buffers of transfers in flight can return to the
    // pool.
    ~Piece() {
      if (run == nullptr) return;
      try {
        resident.wait_for(*run);
        // The device is lost or given up, so the buffer is not used again.
      } catch (const std::exception&) {
      }
    }
  };
  std::array<Piece, 2> pieces = {Piece{*this}, Piece{*this}};
  const auto finish_piece = [&](Piece& piece) {
    if (piece.run == nullptr) return;
    wait_for(*piece.run);
    if (!up) copy_bytes((*piece.staging)->mapped(), piece.host, piece.bytes);
    piece.run = nullptr;
  };
  std::size_t turn = 0;
  for (std::uint64_t at = 0; at < bytes; at += kTransferPieceBytes, ++turn) {
    Piece& piece = pieces[turn % 2];
    finish_piece(piece);
    piece.host = host + at;
    piece.bytes = std::min(kTransferPieceBytes, bytes - at);
    if (piece.staging == nullptr)
      piece.staging = std::make_unique<PooledBuffer>(
          pool_, piece.bytes, up ? BufferUse::kUpload : BufferUse::kDownload);
    const BufferRange there = {&memory->buffer, offset_bytes + at, piece.bytes},
                      here = {&**piece.staging, 0, piece.bytes};
    if (up) copy_bytes(piece.host, (*piece.staging)->mapped(), piece.bytes);
    const Step copy = up ? CopyStep{here, there} : CopyStep{there, here};
    RunContents contents;
    contents.lists.push_back(device_->record({&copy, 1}));
    CommandList* const list = &contents.lists.front();
    piece.run = submit({list}, std::move(contents), {memory});
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) finish_piece(pieces[(turn + i) % 2]);
}

void Resident::upload(const std::shared_ptr<DeviceMemory>& memory, std::uint64_t offset_bytes,
                      const void* from, std::uint64_t bytes) {
  check_range(*memory, offset_bytes, bytes);
  if (bytes == 0) return;
  device_->check_usable();
  if (shared_with_host(memory->buffer)) {
    wait_for(*memory);
    copy_bytes(from, static_cast<char*>(memory->buffer.mapped()) + offset_bytes, bytes);
  } else {
    staged(Direction::kUp, memory, offset_bytes, static_cast<char*>(const_cast<void*>(from)),
           bytes);
  }
  memory->written();
}

void Resident::download(const std::shared_ptr<DeviceMemory>& memory, std::uint64_t offset_bytes,
                        void* to, std::uint64_t bytes) {
  check_range(*memory, offset_bytes, bytes);
  if (bytes == 0) return;
  device_->check_usable();
  if (!shared_with_host(memory->buffer))
    return staged(Direction::kDown, memory, offset_bytes, static_cast<char*>(to), bytes);
  wait_for(*memory);
  copy_bytes(static_cast<const char*>(memory->buffer.mapped()) + offset_bytes, to, bytes);
}

ResidentProduct Resident::product(const ResidentWork& work, AwaitCertificate await) {
  ResidentProduct product = kernels_.choose(work.call, work.workspace.bytes, work.buffers, await);
  // Checks now, and not when a list is run, for reads of words beyond a buffer's end and for a
  // workspace that overlaps an operand.
  if (work.workspace.region.buffer != nullptr || product.workspace_bytes() == 0)
    product.steps(work.workspace.region, nothing_);
  const Problem& p = work.call.problem;
  if (log_ != nullptr && !product.empty())
    log_->say(fmt::format("{}{}, on device buffers: device; kernel {}", to_string(p),
                          p.types == Types{} ? " f32" : "",
                          short_name(product.kernel()->variant())));
  return product;
}

std::shared_ptr<DeviceMemory> Resident::own_workspace(std::uint64_t bytes) {
  const std::lock_guard lock(workspace_mutex_);
  // Work in flight keeps the old workspace alive.
  if (workspace_ == nullptr || workspace_->buffer.size_bytes() < bytes)
    workspace_ = create_memory(bytes);
  return workspace_;
}

void Resident::append(Segments& segments, const ResidentProduct& product, const ResidentWork& work,
                      MemoryUses& uses, std::vector<std::shared_ptr<const void>>& keeps,
                      std::vector<std::shared_ptr<const Kernel>>& kernels) {
  if (product.empty()) return;
  Region workspace = work.workspace.region;
  if (workspace.buffer == nullptr && product.workspace_bytes() > 0) {
    uses.push_back(own_workspace(product.workspace_bytes()));
    workspace.buffer = &uses.back()->buffer;
  }
  uses.insert(uses.end(), work.uses.begin(), work.uses.end());
  kernels.push_back(product.kernel());
  if (product.tile_list() != nullptr) keeps.push_back(product.tile_list());
  if (work.call.packed != nullptr) keeps.push_back(work.call.packed);
  segments.add(product.steps(workspace, nothing_), product.expected_ns());
}

std::vector<CommandList> Resident::record(const Segments& segments, Resubmission resubmission) {
  std::vector<CommandList> lists;
  for (const std::vector<Step>& steps : segments.lists())
    lists.push_back(device_->record(steps, Timing::kNone, resubmission));
  return lists;
}

CommandList Resident::record_into(void* vk_command_buffer, const ResidentProduct& product,
                                  const Region& workspace) {
  const ProductSteps made = product.steps(workspace, nothing_);
  return device_->record_into(vk_command_buffer, made.steps);
}

void Resident::mark_written(const ResidentWork& work) {
  for (const auto& memory : work.uses)
    if (&memory->buffer == work.call.c.buffer || &memory->buffer == work.workspace.region.buffer ||
        (work.call.groups != nullptr && &memory->buffer == work.call.groups->status.buffer))
      memory->written();
}

void Resident::check_scales(const ResidentCall& call, const MemoryUses& uses,
                            std::span<const PendingUpload> pending) {
  const ReadMemory read = [this](const std::shared_ptr<DeviceMemory>& memory, std::uint64_t offset,
                                 void* to,
                                 std::uint64_t bytes) { download(memory, offset, to, bytes); };
  check_resident_scales(read, call, uses, pending);
}

std::shared_ptr<Run> Resident::gemm(const ResidentWork& work) {
  check_scales(work.call, work.uses);
  Segments segments;
  MemoryUses uses;
  RunContents contents;
  append(segments, product(work, AwaitCertificate::kNo), work, uses, contents.keeps,
         contents.kernels);
  contents.lists = record(segments, Resubmission::kWhenFinished);
  contents.expected_ns = segments.expected_ns();
  std::vector<CommandList*> lists;
  for (CommandList& list : contents.lists) lists.push_back(&list);
  auto run = submit(lists, std::move(contents), uses);
  mark_written(work);
  return run;
}

}  // namespace rooftile
