#include "core/error.h"
#include "db/store_impl.h"
#include "db/tables/process_identity.h"

namespace rooftile {
namespace {

/// Commits inside reach the disk before they return. With a write-ahead log and synchronous NORMAL
/// a commit survives the death of the process, but not a power cut before the next checkpoint; FULL
/// syncs the log with every commit, and with it everything committed before. The launch that
/// follows may be what takes the machine down, so the row must be there.
class Durably {
 public:
  explicit Durably(Connection& connection) : connection_(connection) {
    connection_.database().exec("PRAGMA synchronous = FULL");
  }
  ~Durably() { connection_.database().tryExec("PRAGMA synchronous = NORMAL"); }
  Durably(const Durably&) = delete;
  Durably& operator=(const Durably&) = delete;

 private:
  Connection& connection_;
};

}  // namespace

RowId Store::journal_begin(RowId device, RowId candidate, std::int64_t pid) {
  return impl_->guarded("writing the journal", [&] {
    Connection& connection = *impl_->connection;
    if (connection.in_transaction())
      fail(ErrorCode::kInvalidArgument,
           "a journal entry inside a transaction would not be on the disk; commit it first");
    const ProcessIdentity process = identify_process(pid);
    const Durably durably(connection);
    Sql(connection,
        "INSERT INTO journal (device_id, candidate_id, pid, process_start, boot_id, pid_namespace)"
        " VALUES (?, ?, ?, ?, ?, ?)")
        .bind_all(device, candidate, pid, process.start_ticks, process.boot_id,
                  process.pid_namespace)
        .run();
    return connection.database().getLastInsertRowid();
  });
}

// The removal is not durable by itself: until the next journal_begin() syncs both, a power cut
// restores the row and attributes the failure to a candidate that had finished. No kernel runs in
// that time, and a sync takes longer than many kernels.
void Store::journal_end(RowId journal) {
  impl_->guarded("writing the journal", [&] {
    Sql(*impl_->connection, "DELETE FROM journal WHERE id = ?").bind(journal).run();
  });
}

std::vector<JournalRecord> Store::journal(RowId device) const {
  return impl_->guarded("reading the journal", [&] {
    std::vector<JournalRecord> records;
    Sql sql(
        *impl_->connection,
        "SELECT id, device_id, candidate_id, pid, created_at, process_start, boot_id, pid_namespace"
        " FROM journal WHERE device_id = ? ORDER BY id");
    sql.bind(device);
    while (sql.next_row()) {
      JournalRecord& record = records.emplace_back();
      record.id = sql.integer();
      record.device = sql.integer();
      record.candidate = sql.integer();
      record.pid = sql.integer();
      record.started_at = sql.text();
      record.process_start_ticks = sql.integer();
      record.boot_id = sql.text();
      record.pid_namespace = sql.text();
    }
    return records;
  });
}

std::vector<JournalRecord> Store::dead_journal(RowId device) const {
  std::vector<JournalRecord> records = journal(device);
  std::erase_if(records, [](const JournalRecord& record) { return !is_gone(record); });
  return records;
}

}  // namespace rooftile
