#include "core/error.h"
#include "db/store_impl.h"
#include "db/tables/problem_row.h"

namespace rooftile {
namespace {

/// The columns of an entry, and the tables that it is read from besides winners or imported_winners
/// as w.
#define ROOFTILE_ENTRY_COLUMNS                                          \
  "w.bucket, w.rank, w.kernel_ns, w.pack_ns, " ROOFTILE_PROBLEM_COLUMNS \
  ", c.id, c.hash, c.signature, c.variant"
#define ROOFTILE_ENTRY_TABLES                       \
  " AS w JOIN problems AS p ON p.id = w.problem_id" \
  " LEFT JOIN candidates AS c ON c.id = w.candidate_id"

/// Reads ROOFTILE_ENTRY_COLUMNS. Returns false when this version cannot parse the problem or the
/// variant, because a newer version or an editor wrote it, and when an editor removed the
/// candidate.
bool read_tuned_kernel(Sql& sql, TunedKernel& kernel) {
  kernel.bucket = sql.text();
  kernel.rank = static_cast<int>(sql.integer());
  kernel.kernel_ns = sql.real();
  kernel.pack_ns = sql.real();
  try {
    kernel.problem = read_problem(sql);
    if (sql.null()) return false;
    kernel.candidate.id = sql.integer();
    kernel.candidate.hash = sql.text();
    kernel.candidate.signature = sql.text();
    kernel.candidate.variant = parse_variant(sql.text());
  } catch (const Error&) {
    return false;
  }
  return true;
}

Verdict parse_verdict(const std::string& text) {
  for (const Verdict verdict : {Verdict::kPassed, Verdict::kFailed, Verdict::kRevoked})
    if (text == name(verdict)) return verdict;
  return Verdict::kNone;
}

}  // namespace

void Store::put_winners(RowId device, std::string_view bucket,
                        std::span<const WinnerRecord> ranked) {
  impl_->guarded("storing winners", [&] {
    Connection& connection = *impl_->connection;
    Atomically atomically(connection);
    Sql(connection, "DELETE FROM winners WHERE device_id = ? AND bucket = ?")
        .bind_all(device, bucket)
        .run();
    for (const WinnerRecord& winner : ranked)
      Sql(connection,
          "INSERT INTO winners (device_id, bucket, rank, candidate_id, problem_id, kernel_ns, "
          "pack_ns)"
          " VALUES (?, ?, ?, ?, ?, ?, ?)")
          .bind_all(device, bucket, winner.rank, winner.candidate, winner.problem, winner.kernel_ns,
                    winner.pack_ns)
          .run();
    if (!ranked.empty())
      Sql(connection, "DELETE FROM untuned_problems WHERE device_id = ? AND bucket = ?")
          .bind_all(device, bucket)
          .run();
    atomically.commit();
  });
}

std::vector<TunedKernel> Store::tuned_kernels(RowId device,
                                              std::string_view generator_version) const {
  return impl_->guarded("reading the tuned kernels", [&] {
    std::vector<TunedKernel> kernels;
    Sql sql(*impl_->connection,
            "SELECT " ROOFTILE_ENTRY_COLUMNS " FROM winners" ROOFTILE_ENTRY_TABLES
            " WHERE w.device_id = ?"
            " AND (SELECT f.verdict FROM certificates AS f WHERE f.device_id = w.device_id"
            "       AND f.candidate_id = w.candidate_id AND f.generator_version = ?"
            "       ORDER BY f.id DESC LIMIT 1) = 'passed'"
            " AND NOT EXISTS (SELECT 1 FROM black_list AS b WHERE b.device_id = w.device_id"
            "                  AND b.candidate_id = w.candidate_id)"
            " ORDER BY w.bucket, w.rank");
    sql.bind_all(device, generator_version);
    while (sql.next_row()) {
      TunedKernel kernel;
      if (read_tuned_kernel(sql, kernel)) kernels.push_back(std::move(kernel));
    }
    return kernels;
  });
}

std::vector<RankedKernel> Store::winners(RowId device, std::vector<UnknownWinner>* unknown) const {
  return impl_->guarded("reading the ranked kernels", [&] {
    std::vector<RankedKernel> kernels;
    Sql sql(
        *impl_->connection,
        "SELECT coalesce(c.variant, ''), coalesce(f.verdict, 'none'), "
        "coalesce(f.generator_version, ''),"
        " coalesce(f.detail, ''), b.candidate_id IS NOT NULL, coalesce(b.reason, ''),"
        " " ROOFTILE_ENTRY_COLUMNS " FROM winners" ROOFTILE_ENTRY_TABLES
        " LEFT JOIN certificates AS f ON f.id = (SELECT max(newest.id) FROM certificates AS newest"
        "   WHERE newest.device_id = w.device_id AND newest.candidate_id = w.candidate_id)"
        " LEFT JOIN black_list AS b ON b.device_id = w.device_id AND b.candidate_id = "
        "w.candidate_id"
        " WHERE w.device_id = ? ORDER BY w.bucket, w.rank");
    sql.bind(device);
    while (sql.next_row()) {
      RankedKernel entry;
      std::string variant = sql.text();
      entry.verdict = parse_verdict(sql.text());
      entry.generator_version = sql.text();
      entry.verdict_detail = sql.text();
      const bool black_listed = sql.integer() != 0;
      std::string reason = sql.text();
      if (black_listed) entry.black_list_reason = std::move(reason);
      if (read_tuned_kernel(sql, entry.kernel))
        kernels.push_back(std::move(entry));
      else if (unknown != nullptr)
        unknown->push_back({std::move(entry.kernel.bucket), std::move(variant)});
    }
    return kernels;
  });
}

std::vector<ImportedKernel> Store::imported_kernels(RowId device, RowId here) const {
  return impl_->guarded("reading imported ranked kernels", [&] {
    std::vector<ImportedKernel> kernels;
    Sql sql(*impl_->connection,
            "SELECT o.key, " ROOFTILE_ENTRY_COLUMNS " FROM imported_winners" ROOFTILE_ENTRY_TABLES
            " JOIN origins AS o ON o.id = w.origin_id"
            " WHERE w.device_id = ?1"
            " AND NOT EXISTS (SELECT 1 FROM imported_black_list AS b"
            "                  WHERE b.device_id IN (?1, ?2) AND b.candidate_id = w.candidate_id)"
            " ORDER BY o.id, w.bucket, w.rank");
    sql.bind_all(device, here);
    while (sql.next_row()) {
      ImportedKernel imported{.origin = sql.text(), .kernel = {}};
      if (read_tuned_kernel(sql, imported.kernel)) kernels.push_back(std::move(imported));
    }
    return kernels;
  });
}

}  // namespace rooftile
