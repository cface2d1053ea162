#include "runtime/tuned/certification_record.h"

#include <unistd.h>

#include <exception>

#include "core/error.h"
#include "generator/version.h"
#include "runtime/tuned/tuned_data.h"

namespace rooftile {

CertificationRecord::CertificationRecord(const std::filesystem::path& database,
                                         const DeviceProfile& profile,
                                         const CandidateRecord& candidate) {
  if (database.empty() || ::access(database.c_str(), W_OK) != 0) return;
  try {
    const StoreOptions reading = {.mode = OpenMode::kReadOnly,
                                  .busy_timeout_ms = kDatabasePatienceMs};
    const std::optional<RowId> device = Store(database, reading).find_device(profile);
    if (!device) return;
    device_ = *device;
    store_.emplace(database, StoreOptions{.busy_timeout_ms = kDatabasePatienceMs});
    candidate_ = store_->candidate_id(candidate);
    // A process that dies while the kernel runs leaves this entry: then no process tries it again
    // before the tuner has (tuner/worker/settle_journal.h).
    journal_ = store_->journal_begin(device_, candidate_, ::getpid());
  } catch (const Error&) {  // locked, or the disk is full
    store_.reset();
  }
}

CertificationRecord::~CertificationRecord() {
  keep([&] { store_->journal_end(journal_); });
}

void CertificationRecord::put(const Certificate& certificate) {
  keep([&] {
    store_->put_certificate(device_, candidate_, kGeneratorVersion, certificate.passed,
                            certificate.passed ? "certified on demand" : certificate.detail);
  });
}

void CertificationRecord::black_list(const std::string& reason) {
  keep([&] { store_->black_list(device_, candidate_, reason); });
}

template <typename Body>
void CertificationRecord::keep(const Body& body) noexcept {
  if (!store_) return;
  try {
    body();
  } catch (const std::exception&) {
    store_.reset();
  }
}

}  // namespace rooftile
