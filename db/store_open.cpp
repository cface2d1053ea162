#include <SQLiteCpp/SQLiteCpp.h>

#include "core/error.h"
#include "db/exchange/foreign_file.h"
#include "db/open/file_location.h"
#include "db/open/open_file.h"
#include "db/open/prepare_place.h"
#include "db/store_impl.h"

namespace rooftile {

Store::Store(const std::filesystem::path& path, const StoreOptions& options)
    : impl_(std::make_unique<Impl>()) {
  const std::filesystem::path resolved = resolved_path(path, options.named);
  if (options.foreign) {
    if (options.mode != OpenMode::kReadOnly)
      fail(ErrorCode::kInternal, "{} is opened as a file of others, for writing",
           resolved.string());
    prepare_place(resolved, options);
    refuse_foreign(resolved, options);
  }
  OpenedFile opened = open_file(resolved, options);
  impl_->options = options;
  impl_->note = std::move(opened.note);
  impl_->connection = std::move(opened.connection);
  if (options.foreign) impl_->connection->limit_values();
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

}  // namespace rooftile
