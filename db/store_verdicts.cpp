#include "core/error.h"
#include "db/store_impl.h"

namespace rooftile {

void Store::put_certificate(RowId device, RowId candidate, std::string_view generator_version,
                            bool passed, std::string_view detail) {
  impl_->guarded("storing a certificate", [&] {
    Sql(*impl_->connection,
        "INSERT INTO certificates (device_id, candidate_id, generator_version, verdict, detail) "
        "VALUES (?, ?, ?, ?, ?)")
        .bind_all(device, candidate, generator_version,
                  name(passed ? Verdict::kPassed : Verdict::kFailed), detail)
        .run();
  });
}

std::optional<bool> Store::certificate(RowId device, RowId candidate,
                                       std::string_view generator_version) const {
  return impl_->guarded("reading a certificate", [&]() -> std::optional<bool> {
    Sql sql(*impl_->connection,
            "SELECT verdict FROM certificates WHERE device_id = ? AND candidate_id = ? AND "
            "generator_version = ?"
            " ORDER BY id DESC LIMIT 1");
    if (!sql.bind_all(device, candidate, generator_version).step()) return std::nullopt;
    return sql.text() == name(Verdict::kPassed);
  });
}

void Store::revoke_certificates(RowId device, std::string_view candidate_hash,
                                std::string_view reason) {
  impl_->guarded("revoking certificates", [&] {
    Sql(*impl_->connection,
        "INSERT INTO certificates (device_id, candidate_id, generator_version, verdict, detail)"
        " SELECT f.device_id, f.candidate_id, f.generator_version, 'revoked', ?"
        " FROM certificates AS f JOIN candidates AS c ON c.id = f.candidate_id"
        " WHERE f.device_id = ? AND c.hash = ? AND f.verdict = 'passed'"
        " AND f.id = (SELECT max(newest.id) FROM certificates AS newest WHERE newest.device_id = "
        "f.device_id"
        "   AND newest.candidate_id = f.candidate_id AND newest.generator_version = "
        "f.generator_version)")
        .bind_all(reason, device, candidate_hash)
        .run();
  });
}

void Store::black_list(RowId device, RowId candidate, std::string_view reason) {
  impl_->guarded("black-listing a candidate", [&] {
    Sql(*impl_->connection,
        "INSERT INTO black_list (device_id, candidate_id, reason) VALUES (?, ?, ?)"
        " ON CONFLICT (device_id, candidate_id)"
        " DO UPDATE SET reason = excluded.reason, created_at = excluded.created_at")
        .bind_all(device, candidate, reason)
        .run();
  });
}

std::vector<BlackListRecord> Store::black_listed(RowId device) const {
  return impl_->guarded("reading the black list", [&] {
    std::vector<BlackListRecord> records;
    Sql sql(*impl_->connection,
            "SELECT candidate_id, reason, created_at FROM black_list WHERE device_id = ? ORDER BY "
            "candidate_id");
    sql.bind(device);
    while (sql.next_row()) {
      BlackListRecord& record = records.emplace_back();
      record.candidate = sql.integer();
      record.reason = sql.text();
      record.at = sql.text();
    }
    return records;
  });
}

void Store::clear_black_list(RowId device) {
  impl_->guarded("clearing the black list", [&] {
    Sql(*impl_->connection, "DELETE FROM black_list WHERE device_id = ?").bind(device).run();
  });
}

std::vector<CandidateRecord> Store::certified_candidates(RowId device,
                                                         std::string_view generator_version,
                                                         std::string_view signature) const {
  return impl_->guarded("reading certificates", [&] {
    std::vector<CandidateRecord> certified;
    Sql sql(*impl_->connection,
            "SELECT c.id, c.hash, c.signature, c.variant FROM candidates AS c"
            " WHERE c.signature = ?3"
            " AND 'passed' = (SELECT f.verdict FROM certificates AS f WHERE f.device_id = ?1"
            "   AND f.candidate_id = c.id AND f.generator_version = ?2"
            "   ORDER BY f.id DESC LIMIT 1)"
            " AND NOT EXISTS (SELECT 1 FROM black_list AS b"
            "   WHERE b.device_id = ?1 AND b.candidate_id = c.id)"
            " ORDER BY c.id DESC");
    sql.bind_all(device, generator_version, signature);
    while (sql.next_row()) {
      CandidateRecord candidate;
      candidate.id = sql.integer();
      candidate.hash = sql.text();
      candidate.signature = sql.text();
      try {
        candidate.variant = parse_variant(sql.text());
      } catch (const Error&) {
        continue;
      }
      certified.push_back(std::move(candidate));
    }
    return certified;
  });
}

std::vector<std::string> Store::wrong_kernels(RowId device,
                                              std::string_view generator_version) const {
  return impl_->guarded("reading verdicts", [&] {
    std::vector<std::string> hashes;
    Sql sql(*impl_->connection,
            "SELECT c.hash FROM candidates AS c"
            " WHERE EXISTS (SELECT 1 FROM black_list AS b"
            "   WHERE b.device_id = ?1 AND b.candidate_id = c.id)"
            " OR 'passed' <> (SELECT f.verdict FROM certificates AS f WHERE f.device_id = ?1"
            "   AND f.candidate_id = c.id AND f.generator_version = ?2"
            "   ORDER BY f.id DESC LIMIT 1)");
    sql.bind_all(device, generator_version);
    while (sql.next_row()) hashes.push_back(sql.text());
    return hashes;
  });
}

}  // namespace rooftile
