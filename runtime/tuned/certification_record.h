// The database's record of kernels that are certified on demand, read and written.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/device_profile.h"
#include "db/store.h"
#include "runtime/verify/certify.h"

namespace rooftile {

/// One candidate's certification, which is under way as long as this object lives. Not thread-safe.
/// Where the database fails nothing is kept, and the next process certifies the kernel again.
class CertificationRecord {
 public:
  /// Nothing is kept where the database is missing, does not know the device, or cannot be used or
  /// written.
  CertificationRecord(const std::filesystem::path& database, const DeviceProfile& profile,
                      const CandidateRecord& candidate);
  ~CertificationRecord();
  CertificationRecord(const CertificationRecord&) = delete;
  CertificationRecord& operator=(const CertificationRecord&) = delete;

  void put(const Certificate& certificate);
  void black_list(const std::string& reason);

 private:
  template <typename Body>
  void keep(const Body& body) noexcept;

  std::optional<Store> store_;
  RowId device_ = 0, candidate_ = 0, journal_ = 0;
};

}  // namespace rooftile
