#include "db/store.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/error.h"
#include "db/device_row.h"
#include "db/open_file.h"
#include "db/problem_row.h"
#include "db/records_json.h"
#include "db/store_impl.h"

namespace rooftile {
namespace {

/// Links resolved: SQLite puts its -wal next to the link's target, and setting aside must rename
/// the target.
std::filesystem::path resolved(const std::filesystem::path& path) {
  if (path.empty())
    fail(ErrorCode::kInvalidArgument,
         "the tuning database's path is empty; name a file with ROOFTILE_DB or --db");
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error)
    fail(ErrorCode::kIo, "{} leads nowhere: {}; name another file with ROOFTILE_DB or --db",
         path.string(), error.message());
  std::filesystem::path result = std::filesystem::weakly_canonical(absolute, error);
  return error ? absolute.lexically_normal() : result;
}

}  // namespace

Store::Store(const std::filesystem::path& path, const StoreOptions& options)
    : impl_(std::make_unique<Impl>()) {
  OpenedFile opened = open_file(resolved(path), options);
  impl_->options = options;
  impl_->note = std::move(opened.note);
  impl_->connection = std::move(opened.connection);
}

Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const std::filesystem::path& Store::path() const { return impl_->connection->path(); }

const std::string& Store::note() const { return impl_->note; }

int Store::schema_version() const {
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
    const auto find = [&]() -> std::optional<RowId> {
      Sql sql(connection, "SELECT id FROM candidates WHERE hash = ?");
      if (sql.bind(candidate.hash).step()) return sql.integer();
      return std::nullopt;
    };
    if (const std::optional<RowId> id = find()) return *id;
    // Another process may have inserted it since; then its row is the answer.
    Sql(connection,
        "INSERT INTO candidates (hash, signature, family, parameters, variant) VALUES (?, ?, ?, ?, "
        "?)"
        " ON CONFLICT (hash) DO NOTHING")
        .bind_all(candidate.hash, candidate.signature, name(candidate.variant.family),
                  parameters_json(candidate.variant), to_string(candidate.variant))
        .run();
    return find().value();
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
