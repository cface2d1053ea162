#include "db/store.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/error.h"
#include "db/candidate_row.h"
#include "db/device_row.h"
#include "db/file_place.h"
#include "db/open_file.h"
#include "db/problem_row.h"
#include "db/store_impl.h"

namespace rooftile {

Store::Store(const std::filesystem::path& path, const StoreOptions& options)
    : impl_(std::make_unique<Impl>()) {
  OpenedFile opened = open_file(resolved_path(path), options);
  impl_->options = options;
  impl_->note = std::move(opened.note);
  impl_->older = opened.older;
  impl_->connection = std::move(opened.connection);
}

Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const std::filesystem::path& Store::path() const { return impl_->connection->path(); }

const std::string& Store::note() const { return impl_->note; }

bool Store::older() const { return impl_->older.has_value(); }

int Store::schema_version() const {
  if (impl_->older) return impl_->older->schema_version;
  return impl_->guarded("reading the schema's version", [&] {
    return static_cast<int>(impl_->connection->integer("PRAGMA user_version"));
  });
}

Store::Transaction::Transaction(Store& store) : store_(store) {
  Connection& connection = *store_.impl_->connection;
  if (connection.in_transaction())
    fail(ErrorCode::kInvalidArgument, "a transaction is already open on {}; commit it first",
         connection.path().string());
  connection.guarded("beginning a transaction", [&] { Sql(connection, "BEGIN IMMEDIATE").run(); });
}

Store::Transaction::~Transaction() {
  if (open_ && store_.impl_->connection->in_transaction())
    store_.impl_->connection->database().tryExec("ROLLBACK");
}

void Store::Transaction::commit() {
  Connection& connection = *store_.impl_->connection;
  open_ = false;
  // After a full disk or a failed write SQLite rolls back by itself.
  if (!connection.in_transaction())
    fail(ErrorCode::kDatabase,
         "the transaction on {} was undone by an earlier error; do its steps again",
         connection.path().string());
  connection.guarded("committing a transaction", [&] {
    try {
      Sql(connection, "COMMIT").run();
    } catch (const SQLite::Exception&) {
      if (connection.in_transaction()) connection.database().tryExec("ROLLBACK");
      throw;
    }
  });
}

RowId Store::device_id(const DeviceProfile& profile) {
  return impl_->guarded("storing a device",
                        [&] { return store_device(*impl_->connection, profile); });
}

std::optional<RowId> Store::find_device(const DeviceProfile& profile) const {
  return impl_->guarded("looking up a device",
                        [&] { return find_device_row(*impl_->connection, profile); });
}

std::vector<DeviceRecord> Store::devices() const {
  return impl_->guarded("listing the devices", [&] { return read_devices(*impl_->connection); });
}

RowId Store::candidate_id(const CandidateRecord& candidate) {
  return impl_->guarded("storing a candidate", [&] {
    Connection& connection = *impl_->connection;
    const std::optional<StoredCandidate> stored = find_candidate(connection, candidate.hash);
    if (!stored) return insert_candidate(connection, candidate);
    // The caller has generated this hash; whoever wrote something else next to it has not.
    if (!says_the_same(*stored, candidate)) correct_candidate(connection, stored->id, candidate);
    return stored->id;
  });
}

std::optional<CandidateRecord> Store::candidate(RowId id) const {
  return impl_->guarded("reading a candidate", [&]() -> std::optional<CandidateRecord> {
    Sql sql(*impl_->connection, "SELECT id, hash, signature, variant FROM candidates WHERE id = ?");
    if (!sql.bind(id).step()) return std::nullopt;
    CandidateRecord record{
        .id = sql.integer(), .hash = sql.text(), .signature = sql.text(), .variant = {}};
    const std::string variant = sql.text();
    try {
      record.variant = parse_variant(variant);
    } catch (const Error& error) {
      fail(ErrorCode::kDatabase,
           "candidate {} of {} cannot be read: {}; it was written by another version of Rooftile",
           id, path().string(), error.what());
    }
    return record;
  });
}

RowId Store::problem_id(const Problem& problem) {
  validate(problem);
  return impl_->guarded("storing a problem",
                        [&] { return store_problem(*impl_->connection, problem); });
}

std::optional<RowId> Store::find_problem(const Problem& problem) const {
  return impl_->guarded("looking for a problem",
                        [&] { return rooftile::find_problem(*impl_->connection, problem); });
}

std::optional<Problem> Store::problem(RowId id) const {
  return impl_->guarded("reading a problem", [&]() -> std::optional<Problem> {
    Sql sql(*impl_->connection,
            "SELECT type, trans_a, trans_b, m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, "
            "stride_c, epilogue, alpha, beta FROM "
            "problems WHERE id = ?");
    if (!sql.bind(id).step()) return std::nullopt;
    return read_problem(sql);
  });
}

}  // namespace rooftile
