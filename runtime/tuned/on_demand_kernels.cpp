#include "runtime/tuned/on_demand_kernels.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "db/store.h"
#include "generator/emit.h"
#include "generator/version.h"
#include "runtime/support/background.h"
#include "runtime/support/log.h"
#include "runtime/tuned/certifiable_kernels.h"
#include "runtime/tuned/certification_record.h"
#include "runtime/tuned/imported_data.h"
#include "runtime/tuned/shipped_devices.h"
#include "runtime/tuned/tuned_data.h"
#include "runtime/verify/certify.h"

namespace rooftile {
namespace {

using Clock = std::chrono::steady_clock;

enum class State : std::uint8_t { kQueued, kCertified, kFailed };

/// A kernel that is certified, or was to be.
struct Entry {
  CandidateRecord candidate;  // its hash is known once it is certified
  Signature signature;
  State state = State::kQueued;
  bool imported = false;  // CertifiableKernel::imported
};

}  // namespace

struct OnDemandKernels::Impl {
  Impl(DeviceProfile of_device, std::filesystem::path database_file,
       std::filesystem::path cache_folder, std::function<std::shared_ptr<Device>()> open,
       Clock::duration longest_wait)
      : profile(std::move(of_device)),
        database(std::move(database_file)),
        shader_cache(std::move(cache_folder)),
        open_device(std::move(open)),
        patience(longest_wait) {}

  const DeviceProfile profile;
  const std::filesystem::path database;
  const ShaderCache shader_cache;
  const std::function<std::shared_ptr<Device>()> open_device;
  const Clock::duration patience;
  std::atomic<pid_t> user = 0;  // the first process that has asked

  std::once_flag reads_imported;
  std::optional<KernelRanking> imported;  // written once, by the first wishes()

  std::mutex mutex;  // guards everything below
  std::condition_variable changed;
  using Class = std::vector<std::unique_ptr<Entry>>;
  std::unordered_map<std::string, Class> classes;  // by signature
  std::unordered_set<std::string> wrong_kernels;   // hashes, as the database has them
  int under_way = 0;
  // Since when the background thread is at one of those under way, and whether the warning that
  // calls wait in vain was given since the last one ended.
  std::optional<Clock::time_point> running_since;
  bool said = false;

  std::mutex listening;  // held while the listener runs; never beside the other one
  std::function<void()> listener;

  std::atomic<bool> stopping = false;
  std::shared_ptr<Device> device;  // used by the background thread only
  Background background;           // last: its jobs use the rest

  /// Kernels that may be certified for the problem, best first.
  std::vector<CertifiableKernel> wishes(const KernelRanking& tuned, const Problem& p,
                                        const Placement& at, const DeviceLimits& limits);
  /// False in a forked child, whose parent's other threads may have held the mutex.
  bool may_use() {
    pid_t process = 0;
    return user.compare_exchange_strong(process, ::getpid()) || process == ::getpid();
  }

  // The mutex is held.
  /// The class, with what the database knows of it.
  Class& of(const std::string& signature);
  void load(Class& of_class, const std::string& signature);
  static Entry* find(const Class& of_class, const Variant& variant) {
    const auto entry = std::ranges::find_if(
        of_class, [&](const std::unique_ptr<Entry>& e) { return e->candidate.variant == variant; });
    return entry == of_class.end() ? nullptr : entry->get();
  }
  static std::ptrdiff_t count(const Class& of_class, State state) {
    return std::ranges::count(of_class, state, [](const auto& entry) { return entry->state; });
  }

  /// The best of these kernels that may still be certified; null: none, or a better one is
  /// certified already.
  static const CertifiableKernel* next(const Class& of_class,
                                       std::span<const CertifiableKernel> wishes);

  static bool may_certify(const Class& of_class, std::span<const CertifiableKernel> wishes) {
    return count(of_class, State::kQueued) > 0 || next(of_class, wishes) != nullptr;
  }

  /// Waits until no kernel of the class is under way. Returns false where that takes longer than
  /// until then, or one kernel longer than `patience`.
  bool wait_for(const Class& of_class, Clock::time_point until,
                std::unique_lock<std::mutex>& locked);
  void warn_timed_out(const std::string& signature);

  void run(Entry& entry);
  /// failure: what is to be said of one that has failed, if anything is.
  State tried(Entry& entry, std::string& failure);
  Certificate certificate_of(const Entry& entry);
  void end(Entry& entry, State state);
};

std::vector<CertifiableKernel> OnDemandKernels::Impl::wishes(const KernelRanking& tuned,
                                                             const Problem& p, const Placement& at,
                                                             const DeviceLimits& limits) {
  std::call_once(reads_imported,
                 [&] { imported = imported_data(database, shipped_folder(), profile).ranking; });
  std::vector<CertifiableKernel> wishes;
  if (imported->has_class(p) || (tuned.classes().empty() && !imported->classes().empty())) {
    wishes = certifiable_kernels(profile, *imported, p, at, limits);
    for (CertifiableKernel& wish : wishes) wish.imported = true;
  }
  append(wishes, certifiable_kernels(profile, tuned, p, at, limits));
  return wishes;
}

OnDemandKernels::Impl::Class& OnDemandKernels::Impl::of(const std::string& signature) {
  const auto [known, is_new] = classes.try_emplace(signature);
  if (is_new) load(known->second, signature);
  return known->second;
}

void OnDemandKernels::Impl::load(Class& of_class, const std::string& signature) try {
  if (database.empty() || !database_exists(database)) return;
  const Store store(database,
                    {.mode = OpenMode::kReadOnly, .busy_timeout_ms = kDatabasePatienceMs});
  const auto row = store.find_device(profile);
  if (!row) return;
  for (CandidateRecord& candidate : store.certified_candidates(*row, kGeneratorVersion, signature))
    of_class.push_back(std::make_unique<Entry>(
        Entry{.candidate = std::move(candidate), .signature = {}, .state = State::kCertified}));
  for (std::string& hash : store.wrong_kernels(*row, kGeneratorVersion))
    wrong_kernels.insert(std::move(hash));
  for (const JournalRecord& entry : store.dead_journal(*row))
    if (const auto candidate = store.candidate(entry.candidate))
      wrong_kernels.insert(candidate->hash);
} catch (const Error&) {  // locked or damaged: what is certified is not known
}

Certificate OnDemandKernels::Impl::certificate_of(const Entry& entry) {
  if (device == nullptr || device->lost()) device = open_device();
  const Kernel kernel(device, entry.candidate.variant, entry.signature, shader_cache);
  // Neither a context that is closed nor a process that ends waits for the rest.
  const Certificate certificate = certify(
      *device, kernel, entry.signature, [this] { return stopping || !Background::wait_at_exit(); });
  device->save_pipeline_cache();
  return certificate;
}

State OnDemandKernels::Impl::tried(Entry& entry, std::string& failure) {
  entry.candidate.hash = emit_gemm(entry.candidate.variant, entry.signature).hash;
  {
    const std::lock_guard lock(mutex);
    // The process that found it out has said so.
    if (wrong_kernels.contains(entry.candidate.hash)) return State::kFailed;
  }
  CertificationRecord record(database, profile, entry.candidate);
  try {
    const Certificate certificate = certificate_of(entry);
    if (certificate.interrupted) return State::kFailed;
    record.put(certificate);
    if (certificate.passed) return State::kCertified;
    failure = certificate.detail;
  } catch (const Error& error) {
    failure = error.what();
    // The tuner does the same with a candidate that takes its worker along.
    if (error.code() == ErrorCode::kTimeout || (device != nullptr && device->lost()))
      record.black_list(failure);
    device = nullptr;
  }
  return State::kFailed;
}

void OnDemandKernels::Impl::run(Entry& entry) {
  {
    const std::lock_guard lock(mutex);
    running_since = Clock::now();
  }
  std::string failure;
  State state = State::kFailed;
  try {
    state = tried(entry, failure);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (!failure.empty())
    log_warning(fmt::format("kernel '{}' for {} is not certified on {} and not used: {}",
                            short_name(entry.candidate.variant), to_string(entry.signature),
                            profile.name, failure));
  end(entry, state);
}

void OnDemandKernels::Impl::end(Entry& entry, State state) {
  {
    const std::lock_guard lock(mutex);
    entry.state = state;
    running_since.reset();
    said = false;
  }
  {
    const std::lock_guard lock(listening);
    if (listener) listener();
  }
  const std::lock_guard lock(mutex);
  if (--under_way == 0) device = nullptr;  // on which nothing has to be certified any more
  changed.notify_all();
}

OnDemandKernels::OnDemandKernels(DeviceProfile profile, std::filesystem::path database,
                                 std::filesystem::path cache_folder,
                                 std::function<std::shared_ptr<Device>()> open_device,
                                 std::chrono::nanoseconds patience)
    : impl_(std::make_unique<Impl>(std::move(profile), std::move(database), std::move(cache_folder),
                                   std::move(open_device), patience)) {}

OnDemandKernels::~OnDemandKernels() {
  if (impl_->user != 0 && !impl_->may_use()) {
    std::ignore = impl_.release();  // its end would wait for threads that only the parent has
    return;
  }
  impl_->stopping = true;
}

OnDemandKernels::Certified OnDemandKernels::ranked(const KernelRanking& tuned, const Problem& p,
                                                   const Placement& at,
                                                   const DeviceLimits& limits) const {
  if (!impl_->may_use()) return {};
  const std::lock_guard lock(impl_->mutex);
  const Impl::Class& of_class = impl_->of(to_string(signature_of(p)));
  if (Impl::count(of_class, State::kCertified) == 0) return {};
  const std::vector<CertifiableKernel> wishes = impl_->wishes(tuned, p, at, limits);
  Certified certified = {.may_improve = impl_->may_certify(of_class, wishes)};
  for (const CertifiableKernel& wish : wishes) {
    const Entry* const entry = Impl::find(of_class, wish.variant);
    if (entry != nullptr && entry->state == State::kCertified)
      certified.kernels.push_back({&entry->candidate, wish.expected_ns});
  }
  return certified;
}

const CertifiableKernel* OnDemandKernels::Impl::next(const Class& of_class,
                                                     std::span<const CertifiableKernel> wishes) {
  const auto has_failed_often = [&](bool of_imported) {
    return std::ranges::count_if(of_class, [&](const auto& entry) {
             return entry->state == State::kFailed && entry->imported == of_imported;
           }) >= kMostFailures;
  };
  for (const CertifiableKernel& wish : wishes) {
    const Entry* const entry = find(of_class, wish.variant);
    if (entry == nullptr && !has_failed_often(wish.imported)) return &wish;
    if (entry != nullptr && entry->state == State::kCertified) return nullptr;
  }
  return nullptr;
}

bool OnDemandKernels::may_certify(const KernelRanking& tuned, const Problem& p, const Placement& at,
                                  const DeviceLimits& limits) const {
  if (!impl_->may_use()) return false;
  const std::vector<CertifiableKernel> wished = impl_->wishes(tuned, p, at, limits);
  const std::lock_guard lock(impl_->mutex);
  return Impl::may_certify(impl_->of(to_string(signature_of(p))), wished);
}

bool OnDemandKernels::request(const KernelRanking& tuned, const Problem& p, const Placement& at,
                              const DeviceLimits& limits) {
  if (!impl_->may_use()) return false;
  const std::vector<CertifiableKernel> wished = impl_->wishes(tuned, p, at, limits);
  const Signature wanted = signature_of(p);
  const std::string signature = to_string(wanted);
  const std::lock_guard lock(impl_->mutex);
  Impl::Class& of_class = impl_->of(signature);
  if (Impl::count(of_class, State::kQueued) > 0) return true;
  const CertifiableKernel* const wish = Impl::next(of_class, wished);
  if (wish == nullptr) return false;
  auto entry =
      std::make_unique<Entry>(Entry{.candidate = {.signature = signature, .variant = wish->variant},
                                    .signature = wanted,
                                    .imported = wish->imported});
  Entry& queued = *entry;
  of_class.push_back(std::move(entry));
  ++impl_->under_way;
  if (impl_->background.post([impl = impl_.get(), &queued] { impl->run(queued); })) return true;
  --impl_->under_way;
  queued.state = State::kFailed;
  return false;
}

bool OnDemandKernels::Impl::wait_for(const Class& of_class, Clock::time_point until,
                                     std::unique_lock<std::mutex>& locked) {
  while (count(of_class, State::kQueued) > 0) {
    const Clock::time_point end =
        running_since ? std::min(until, *running_since + patience) : until;
    if (Clock::now() >= end) return false;
    changed.wait_until(locked, end);
  }
  return true;
}

void OnDemandKernels::Impl::warn_timed_out(const std::string& signature) {
  if (std::exchange(said, true)) return;
  log_warning(
      fmt::format("no kernel for {} was certified on {} within {:.3g} s, so that a slower one is "
                  "used; calls and "
                  "lists that come later use it once it is certified",
                  signature, profile.name, std::chrono::duration<double>(patience).count()));
}

void OnDemandKernels::obtain(const KernelRanking& tuned, const Problem& p, const Placement& at,
                             const DeviceLimits& limits) {
  const Clock::time_point begin = Clock::now();
  const std::string signature = to_string(signature_of(p));
  bool waited = false;
  while (request(tuned, p, at, limits)) {
    waited = true;
    std::unique_lock lock(impl_->mutex);
    if (!impl_->wait_for(impl_->of(signature), begin + impl_->patience, lock))
      return impl_->warn_timed_out(signature);
  }
  if (waited && log_level() == LogLevel::kDecisions)
    log_line(fmt::format("waited {:.3g} s for kernels for {} to be certified on {}",
                         std::chrono::duration<double>(Clock::now() - begin).count(), signature,
                         impl_->profile.name));
}

void OnDemandKernels::wait() const {
  if (!impl_->may_use()) return;
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [&] { return impl_->under_way == 0; });
}

void OnDemandKernels::when_changed(std::function<void()> listener) {
  const std::lock_guard lock(impl_->listening);
  impl_->listener = std::move(listener);
}

}  // namespace rooftile
