#include "db/exchange/import_rows.h"

#include <cmath>

#include "core/error.h"
#include "core/text_table.h"
#include "db/exchange/foreign_text.h"
#include "db/exchange/foreign_values.h"
#include "db/tables/candidate_row.h"
#include "db/tables/device_row.h"
#include "db/tables/portfolio_times.h"
#include "db/tables/problem_row.h"

namespace rooftile {
namespace {

constexpr std::size_t kLongestKey = 200, kLongestHash = 64, kLongestName = 256;

class Import {
 public:
  Import(Connection& connection, const std::string& file) : connection_(connection), file_(file) {}

  ImportReport run() {
    add_text_functions(connection_);
    prepare_maps();
    refuse_suspicious();
    origins();
    devices();
    candidates();
    problems();
    calibrations();
    runs();
    compiler_facts();
    counters();
    winners();
    portfolio();
    black_list();
    log();
    return report_;
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    fail(ErrorCode::kDatabase, "{} holds {}; nothing of it was imported", file_, why);
  }

  /// Temporary tables that map ids of the other file to ids of this one. They move to the disk when
  /// they grow.
  void prepare_maps() {
    constexpr const char* kIds = "theirs INTEGER PRIMARY KEY, ours INTEGER";
    constexpr std::pair<const char*, const char*> kTables[] = {
        {"origins", kIds},
        {"devices", kIds},
        {"candidates", kIds},
        {"problems", kIds},
        {"winners",
         "origin_id, device_id, bucket, rank, candidate_id, problem_id, kernel_ns, pack_ns, "
         "created_at"},
        {"portfolio", "origin_id, device_id, signature, candidate_id, place, times, created_at"}};
    for (const auto& [table, columns] : kTables)
      connection_.database().exec(
          fmt::format("CREATE TEMP TABLE IF NOT EXISTS import_{0} ({1}); "
                      "DELETE FROM temp.import_{0}",
                      table, columns));
  }

  void refuse_suspicious() {
    if (const std::string_view found = find_suspicious(connection_); !found.empty()) refuse(found);
  }

  void origins() {
    Sql theirs(connection_, "SELECT id, key, own FROM theirs.origins ORDER BY id");
    while (theirs.next_row()) {
      const RowId id = theirs.integer();
      const std::string key = theirs.text();
      const bool own = theirs.integer() != 0;
      if (!is_plain(key, kLongestKey)) refuse("an origin with an invalid key");
      Sql(connection_, "INSERT INTO main.origins (key, own) VALUES (?, 0) ON CONFLICT DO NOTHING")
          .bind(key)
          .run();
      Sql find(connection_, "SELECT id, own FROM main.origins WHERE key = ?");
      find.bind(key).step();
      const RowId ours = find.integer();
      if (find.integer() != 0) our_origin_ = ours;
      if (own) file_origin_ = ours, report_.origin = key;
      Sql(connection_, "INSERT INTO temp.import_origins VALUES (?, ?)").bind_all(id, ours).run();
    }
    if (file_origin_ == 0) refuse("no origin of its own");
  }

  void devices() {
    Sql theirs(connection_, "SELECT " ROOFTILE_DEVICE_COLUMNS " FROM theirs.devices ORDER BY id");
    while (theirs.next_row()) {
      DeviceRecord device = read_device(theirs);
      DeviceProfile& profile = device.profile;
      if (!is_plain(profile.device_uuid, kLongestHash) ||
          !is_plain(profile.pipeline_cache_uuid, kLongestHash))
        refuse(fmt::format("a device (row {}) with an invalid identity", device.id));
      for (std::string* text : {&profile.name, &profile.driver_name, &profile.driver_info})
        *text = cleaned_text(*text, kLongestName);
      // A device that this machine has itself keeps what its driver reported here.
      std::optional<RowId> ours = find_device_row(connection_, profile);
      if (!ours) {
        ours = insert_device(connection_, profile);
        ++report_.devices;
      }
      Sql(connection_, "INSERT INTO temp.import_devices VALUES (?, ?)")
          .bind_all(device.id, *ours)
          .run();
    }
  }

  void candidates() {
    Sql theirs(connection_,
               "SELECT id, hash, signature, variant FROM theirs.candidates ORDER BY id");
    while (theirs.next_row()) {
      const RowId id = theirs.integer();
      CandidateRecord candidate{.hash = theirs.text(), .signature = theirs.text(), .variant = {}};
      const std::string variant = theirs.text();
      std::optional<StoredCandidate> ours = find_candidate(connection_, candidate.hash);
      const bool identical =
          ours && ours->signature == candidate.signature && ours->variant == variant;
      if (!identical) {
        check_candidate(id, candidate, variant);
        if (ours && !says_the_same(*ours, candidate))
          refuse(fmt::format("another kernel (candidate {}) under the hash {} than is known here",
                             id, candidate.hash));
      }
      const RowId row = ours ? ours->id : insert_candidate(connection_, candidate);
      Sql(connection_, "INSERT INTO temp.import_candidates VALUES (?, ?)").bind_all(id, row).run();
    }
  }

  /// Reads the variant into candidate.
  void check_candidate(RowId id, CandidateRecord& candidate, const std::string& variant) const {
    if (!is_plain(candidate.hash, kLongestHash) || !is_signature(candidate.signature))
      refuse(fmt::format("a candidate (row {}) with an invalid hash or signature", id));
    try {
      candidate.variant = parse_variant(variant);
    } catch (const Error& error) {
      refuse(
          fmt::format("a kernel (candidate {}) that this version of Rooftile cannot read: {}; a "
                      "newer version may",
                      id, cleaned_text(error.what(), kLongestName)));
    }
  }

  void problems() {
    Sql theirs(connection_,
               "SELECT id, " ROOFTILE_PROBLEM_COLUMNS " FROM theirs.problems ORDER BY id");
    while (theirs.next_row()) {
      const RowId id = theirs.integer();
      Problem problem;
      try {
        problem = read_problem(theirs);
        validate(problem);
      } catch (const Error& error) {
        refuse(fmt::format("an invalid problem (row {}): {}", id,
                           cleaned_text(error.what(), kLongestName)));
      }
      if (!std::isfinite(problem.alpha) || !std::isfinite(problem.beta))
        refuse(fmt::format("a problem (row {}) whose scalars are not finite", id));
      Sql(connection_, "INSERT INTO temp.import_problems VALUES (?, ?)")
          .bind_all(id, store_problem(connection_, problem))
          .run();
    }
  }

  void calibrations() {
    Sql insert(connection_,
               "INSERT INTO main.calibrations (device_id, created_at, origin_id, key)"
               " SELECT d.ours, c.created_at, coalesce(o.ours, ?), c.key"
               " FROM theirs.calibrations AS c"
               " JOIN temp.import_devices AS d ON d.theirs = c.device_id"
               " LEFT JOIN temp.import_origins AS o ON o.theirs = c.origin_id"
               " WHERE true ORDER BY c.id ON CONFLICT (key) DO NOTHING");
    insert.bind(file_origin_).run();
    report_.calibrations = changes();
    Sql(connection_,
        "INSERT INTO main.calibration_figures (calibration_id, position, name, unit, value, mad, "
        "measurements)"
        " SELECT ours.id, f.position, cleaned_text(f.name, 256), cleaned_text(f.unit, 256), "
        "f.value, f.mad, f.measurements"
        " FROM theirs.calibrations AS c JOIN main.calibrations AS ours ON ours.key = c.key"
        " JOIN theirs.calibration_figures AS f ON f.calibration_id = c.id"
        " WHERE ours.origin_id IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM main.calibration_figures AS known WHERE known.calibration_id = ours.id)")
        .run();
  }

  /// Samples are only added to a run, in the order of their ids, and copies keep that order, so the
  /// first n of them are the same in every file.
  void runs() {
    Sql theirs(connection_,
               "SELECT r.id, r.key, d.ours, coalesce(o.ours, ?), r.created_at,"
               " cleaned_text(r.generator_version, 256), cleaned_text(json(r.settings), 65536)"
               " FROM theirs.runs AS r"
               " JOIN temp.import_devices AS d ON d.theirs = r.device_id"
               " LEFT JOIN temp.import_origins AS o ON o.theirs = r.origin_id ORDER BY r.id");
    theirs.bind(file_origin_);
    while (theirs.next_row()) {
      const RowId id = theirs.integer();
      const std::string key = theirs.text();
      const RowId device = theirs.integer(), origin = theirs.integer();
      if (!is_plain(key, kLongestKey))
        refuse(fmt::format("a run (row {}) with an invalid key", id));
      Sql known(connection_,
                "SELECT id, origin_id IS ? AND device_id = ?, (SELECT count(*) FROM main.samples"
                " WHERE run_id = runs.id) FROM main.runs AS runs WHERE key = ?");
      known.bind_all(origin, device, key);
      RowId ours = 0;
      std::int64_t samples = 0;
      if (known.step()) {
        ours = known.integer();
        const bool same_run = known.integer() != 0;
        if (!same_run)
          continue;  // a run of this file, or another run with a copied key: the existing one stays
        samples = known.integer();
      } else {
        Sql insert(connection_,
                   "INSERT INTO main.runs (device_id, origin_id, key, created_at, "
                   "generator_version, settings) VALUES (?, ?, ?, ?, ?, ?)");
        insert.bind_all(device, origin, key);
        for (int column = 0; column < 3; ++column) insert.bind(theirs.text());
        insert.run();
        ours = connection_.database().getLastInsertRowid();
        ++report_.runs;
      }
      Sql(connection_,
          "UPDATE main.runs SET (ended_at, outcome) = (SELECT ended_at, cleaned_text(outcome, 256)"
          " FROM theirs.runs WHERE id = ?) WHERE id = ? AND ended_at IS NULL")
          .bind_all(id, ours)
          .run();
      Sql(connection_,
          "INSERT INTO main.samples (run_id, candidate_id, problem_id, status, measurements,"
          " kernel_ns, kernel_mad_ns, kernel_low_ns, kernel_high_ns, pack_ns, compile_ns, detail,"
          " created_at, retaken, noisy, level, purpose)"
          " SELECT ?, c.ours, p.ours, s.status, s.measurements, s.kernel_ns, s.kernel_mad_ns,"
          " s.kernel_low_ns, s.kernel_high_ns, s.pack_ns, s.compile_ns,"
          " cleaned_text(s.detail, 4096), s.created_at, s.retaken, s.noisy, s.level,"
          " s.purpose"
          " FROM theirs.samples AS s"
          " CROSS JOIN temp.import_candidates AS c ON c.theirs = s.candidate_id"
          " CROSS JOIN temp.import_problems AS p ON p.theirs = s.problem_id"
          " WHERE s.run_id = ? ORDER BY s.id LIMIT -1 OFFSET ?")
          .bind_all(ours, id, samples)
          .run();
      report_.samples += changes();
    }
  }

  void compiler_facts() {
    Sql(connection_,
        "INSERT INTO main.compiler_facts (device_id, candidate_id, registers, scalar_registers,"
        " spilled_registers, spilled_scalar_registers, spill_stores, scratch_bytes, shared_bytes,"
        " subgroups_per_unit, statistics, dropped_reason, created_at, origin_id)"
        " SELECT d.ours, c.ours, f.registers, f.scalar_registers, f.spilled_registers,"
        " f.spilled_scalar_registers, f.spill_stores, f.scratch_bytes, f.shared_bytes,"
        " f.subgroups_per_unit, cleaned_text(json(f.statistics), 1048576),"
        " cleaned_text(f.dropped_reason, 4096), f.created_at, coalesce(o.ours, ?)"
        " FROM theirs.compiler_facts AS f"
        " JOIN temp.import_devices AS d ON d.theirs = f.device_id"
        " JOIN temp.import_candidates AS c ON c.theirs = f.candidate_id"
        " LEFT JOIN temp.import_origins AS o ON o.theirs = f.origin_id"
        " WHERE true ON CONFLICT (device_id, candidate_id) DO NOTHING")
        .bind(file_origin_)
        .run();
  }

  /// Existing rows stay, whether they are of this machine or were imported earlier.
  void counters() {
    Sql(connection_,
        "INSERT INTO main.counter_sets (device_id, candidate_id, problem_id, passes, created_at,"
        " origin_id)"
        " SELECT d.ours, c.ours, p.ours, s.passes, s.created_at, coalesce(o.ours, ?)"
        " FROM theirs.counter_sets AS s"
        " JOIN temp.import_devices AS d ON d.theirs = s.device_id"
        " JOIN temp.import_candidates AS c ON c.theirs = s.candidate_id"
        " JOIN temp.import_problems AS p ON p.theirs = s.problem_id"
        " LEFT JOIN temp.import_origins AS o ON o.theirs = s.origin_id"
        " WHERE true ORDER BY s.id ON CONFLICT (device_id, candidate_id, problem_id) DO NOTHING")
        .bind(file_origin_)
        .run();
    Sql(connection_,
        "INSERT INTO main.counters (counter_set_id, position, name, category, description, unit,"
        " scope, value)"
        " SELECT ours.id, x.position, cleaned_text(x.name, 256), cleaned_text(x.category, 256),"
        " cleaned_text(x.description, 256), x.unit, x.scope, x.value"
        " FROM theirs.counter_sets AS s"
        " JOIN temp.import_devices AS d ON d.theirs = s.device_id"
        " JOIN temp.import_candidates AS c ON c.theirs = s.candidate_id"
        " JOIN temp.import_problems AS p ON p.theirs = s.problem_id"
        " JOIN main.counter_sets AS ours ON ours.device_id = d.ours"
        "  AND ours.candidate_id = c.ours AND ours.problem_id = p.ours"
        " JOIN theirs.counters AS x ON x.counter_set_id = s.id"
        " WHERE ours.origin_id IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM main.counters AS known WHERE known.counter_set_id = ours.id)")
        .run();
  }

  /// For each origin and bucket the newest list counts.
  void winners() {
    Sql(connection_,
        "INSERT INTO temp.import_winners"
        " SELECT w.origin, d.ours, p.bucket, w.rank, c.ours, p.id, w.kernel_ns, w.pack_ns,"
        " w.created_at"
        " FROM (SELECT ? AS origin, device_id, rank, candidate_id, problem_id, kernel_ns, pack_ns,"
        "        created_at FROM theirs.winners"
        "       UNION ALL"
        "       SELECT o.ours, device_id, rank, candidate_id, problem_id, kernel_ns, pack_ns,"
        "        i.created_at FROM theirs.imported_winners AS i"
        "        JOIN temp.import_origins AS o ON o.theirs = i.origin_id) AS w"
        " JOIN temp.import_devices AS d ON d.theirs = w.device_id"
        " JOIN temp.import_candidates AS c ON c.theirs = w.candidate_id"
        " JOIN temp.import_problems AS map ON map.theirs = w.problem_id"
        " JOIN main.problems AS p ON p.id = map.ours"
        " WHERE w.origin <> ?")
        .bind_all(file_origin_, our_origin_)
        .run();
    Sql(connection_,
        "DELETE FROM temp.import_winners WHERE (origin_id, device_id, bucket) IN"
        " (SELECT t.origin_id, t.device_id, t.bucket FROM temp.import_winners AS t"
        "   GROUP BY t.origin_id, t.device_id, t.bucket"
        "  HAVING max(t.created_at) <= (SELECT max(w.created_at) FROM main.imported_winners AS w"
        "          WHERE w.origin_id = t.origin_id AND w.device_id = t.device_id"
        "            AND w.bucket = t.bucket))")
        .run();
    Sql(connection_,
        "DELETE FROM main.imported_winners WHERE (origin_id, device_id, bucket) IN"
        " (SELECT DISTINCT origin_id, device_id, bucket FROM temp.import_winners)")
        .run();
    Sql(connection_,
        "INSERT INTO main.imported_winners (origin_id, device_id, bucket, rank, candidate_id,"
        " problem_id, kernel_ns, pack_ns, created_at) SELECT * FROM temp.import_winners")
        .run();
    report_.winners = changes();
  }

  /// For each device and class the newest portfolio counts, whatever its origin.
  void portfolio() {
    Sql theirs(connection_,
               "SELECT p.origin, d.ours, ours.signature, ours.id, p.place, p.times, p.created_at"
               " FROM (SELECT ? AS origin, device_id, candidate_id, place, times, created_at"
               "        FROM theirs.portfolio WHERE place IS NOT NULL"
               "       UNION ALL"
               "       SELECT o.ours, device_id, candidate_id, place, times, i.created_at"
               "        FROM theirs.imported_portfolio AS i"
               "        JOIN temp.import_origins AS o ON o.theirs = i.origin_id) AS p"
               " JOIN temp.import_devices AS d ON d.theirs = p.device_id"
               " JOIN temp.import_candidates AS c ON c.theirs = p.candidate_id"
               " JOIN main.candidates AS ours ON ours.id = c.ours"
               " WHERE p.origin <> ?");
    theirs.bind_all(file_origin_, our_origin_);
    while (theirs.next_row()) {
      const RowId origin = theirs.integer(), device = theirs.integer();
      const std::string signature = theirs.text();
      const RowId candidate = theirs.integer();
      const std::int64_t place = theirs.integer();
      const std::string times = theirs.text(), created_at = theirs.text();
      if (!is_times_json(times))
        refuse(fmt::format("a portfolio (kernel {}) with invalid times", candidate));
      Sql(connection_, "INSERT INTO temp.import_portfolio VALUES (?, ?, ?, ?, ?, ?, ?)")
          .bind_all(origin, device, signature, candidate, place, times, created_at)
          .run();
    }
    keep_newest_portfolios();
    Sql(connection_,
        "DELETE FROM main.imported_portfolio WHERE EXISTS"
        " (SELECT 1 FROM main.candidates AS c JOIN temp.import_portfolio AS t"
        "   ON t.signature = c.signature"
        "   WHERE c.id = imported_portfolio.candidate_id"
        "     AND t.device_id = imported_portfolio.device_id)")
        .run();
    Sql(connection_,
        "INSERT INTO main.imported_portfolio (origin_id, device_id, candidate_id, place, times,"
        " created_at) SELECT origin_id, device_id, candidate_id, place, times, created_at"
        " FROM temp.import_portfolio")
        .run();
    report_.portfolio = changes();
  }

  /// Selects the rows to import: those that are neither here already nor older than the ones here.
  void keep_newest_portfolios() {
    Sql(connection_,
        "DELETE FROM temp.import_portfolio WHERE (origin_id, device_id, signature) NOT IN"
        " (SELECT origin_id, device_id, signature FROM"
        "   (SELECT origin_id, device_id, signature, row_number() OVER (PARTITION BY device_id,"
        "     signature ORDER BY max(created_at) DESC, origin_id) AS age"
        "     FROM temp.import_portfolio GROUP BY origin_id, device_id, signature)"
        "   WHERE age = 1)")
        .run();
    Sql(connection_,
        "DELETE FROM temp.import_portfolio WHERE (device_id, signature) IN"
        " (SELECT t.device_id, t.signature FROM temp.import_portfolio AS t"
        "   GROUP BY t.device_id, t.signature"
        "  HAVING max(t.created_at) <="
        "   (SELECT max(p.created_at) FROM main.imported_portfolio AS p"
        "     JOIN main.candidates AS c ON c.id = p.candidate_id"
        "     WHERE p.device_id = t.device_id AND c.signature = t.signature))")
        .run();
  }

  void black_list() {
    Sql(connection_,
        "INSERT INTO main.imported_black_list (origin_id, device_id, candidate_id, reason,"
        " created_at)"
        " SELECT b.origin, d.ours, c.ours, cleaned_text(b.reason, 4096), b.created_at"
        " FROM (SELECT ? AS origin, device_id, candidate_id, reason, created_at"
        "        FROM theirs.black_list"
        "       UNION ALL"
        "       SELECT o.ours, device_id, candidate_id, reason, i.created_at"
        "        FROM theirs.imported_black_list AS i"
        "        JOIN temp.import_origins AS o ON o.theirs = i.origin_id) AS b"
        " JOIN temp.import_devices AS d ON d.theirs = b.device_id"
        " JOIN temp.import_candidates AS c ON c.theirs = b.candidate_id"
        " WHERE b.origin <> ?"
        " ON CONFLICT (origin_id, device_id, candidate_id) DO UPDATE SET reason = excluded.reason,"
        " created_at = excluded.created_at WHERE excluded.created_at > created_at")
        .bind_all(file_origin_, our_origin_)
        .run();
  }

  void log() {
    if (!brought_anything(report_)) return;
    Sql(connection_,
        "INSERT INTO main.import_log (origin_id, file, devices, calibrations, runs, samples,"
        " winners) VALUES (?, ?, ?, ?, ?, ?, ?)")
        .bind_all(file_origin_, cleaned_text(std::filesystem::path(file_).filename().string(), 256),
                  report_.devices, report_.calibrations, report_.runs, report_.samples,
                  report_.winners)
        .run();
  }

  std::int64_t changes() { return connection_.database().getChanges(); }

  Connection& connection_;
  const std::string& file_;
  RowId file_origin_ = 0;  // id in this database of the origin of the file's own rows
  RowId our_origin_ =
      0;  // id in this database of this machine's origin where the file holds rows of it; else 0
  ImportReport report_;
};

}  // namespace

ImportReport import_rows(Connection& connection, const std::string& file) {
  return Import(connection, file).run();
}

}  // namespace rooftile
