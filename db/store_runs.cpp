#include <algorithm>
#include <map>
#include <utility>

#include "db/store_impl.h"

namespace rooftile {
namespace {

/// Reads run, candidate, problem, status, measurements, kernel_ns, its mad, low and high, pack_ns,
/// compile_ns, detail, retaken, noisy, level and purpose.
SampleRecord read_sample(Sql& sql) {
  SampleRecord sample;
  sample.run = sql.integer();
  sample.candidate = sql.integer();
  sample.problem = sql.integer();
  sample.status = parse_sample_status(sql.text());
  sample.kernel.count = static_cast<std::size_t>(sql.integer());
  sample.kernel.median_ns = sql.real();
  sample.kernel.mad_ns = sql.real();
  sample.kernel.low_ns = sql.real();
  sample.kernel.high_ns = sql.real();
  sample.pack_ns = sql.real();
  sample.compile_ns = sql.real();
  sample.detail = sql.text();
  sample.retaken = static_cast<int>(sql.integer());
  sample.noisy = static_cast<int>(sql.integer());
  sample.level = sql.real();
  sample.purpose = parse_sample_purpose(sql.text());
  return sample;
}

}  // namespace

RowId Store::begin_run(RowId device, std::string_view generator_version,
                       std::string_view settings_json) {
  return impl_->guarded("beginning a run", [&] {
    Connection& connection = *impl_->connection;
    Sql(connection,
        "INSERT INTO runs (device_id, generator_version, settings, key)"
        " VALUES (?, ?, ?, lower(hex(randomblob(16))))")
        .bind_all(device, generator_version, settings_json)
        .run();
    return connection.database().getLastInsertRowid();
  });
}

void Store::end_run(RowId run, std::string_view outcome, const RunConditions& conditions) {
  impl_->guarded("ending a run", [&] {
    Sql(*impl_->connection,
        "UPDATE runs SET outcome = ?, ended_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), "
        "highest_c = ?, throttle_events = ?, "
        "settings = iif(? = '', settings, json_set(settings, '$.seconds', json(nullif(?, '')))) "
        "WHERE id = ?")
        .bind_all(outcome, conditions.highest_c, conditions.throttle_events, conditions.seconds,
                  conditions.seconds, run)
        .run();
  });
}

std::pair<std::string, std::string> Store::latest_run_seconds(RowId device) const {
  return impl_->guarded("reading a run", [&] {
    Sql sql(*impl_->connection,
            "SELECT created_at, json_extract(settings, '$.seconds') FROM runs WHERE device_id = ? "
            "AND origin_id IS NULL AND json_type(settings, '$.seconds') = 'object' "
            "ORDER BY id DESC LIMIT 1");
    sql.bind_all(device);
    std::pair<std::string, std::string> latest;
    if (sql.step()) latest = {sql.text(), sql.text()};
    return latest;
  });
}

void Store::add_reference_sample(RowId run, const Summary& kernel) {
  impl_->guarded("storing a reference sample", [&] {
    Sql(*impl_->connection,
        "INSERT INTO reference_samples (run_id, kernel_ns, kernel_mad_ns, measurements) VALUES (?, "
        "?, ?, ?)")
        .bind_all(run, kernel.median_ns, kernel.mad_ns, kernel.count)
        .run();
  });
}

void Store::add_sample(const SampleRecord& sample) {
  impl_->guarded("storing a sample", [&] {
    Sql(*impl_->connection,
        "INSERT INTO samples (run_id, candidate_id, problem_id, status, measurements, kernel_ns, "
        "kernel_mad_ns,"
        " kernel_low_ns, kernel_high_ns, pack_ns, compile_ns, detail, retaken, noisy, level,"
        " purpose) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind_all(sample.run, sample.candidate, sample.problem, name(sample.status),
                  sample.kernel.count, sample.kernel.median_ns, sample.kernel.mad_ns,
                  sample.kernel.low_ns, sample.kernel.high_ns, sample.pack_ns, sample.compile_ns,
                  sample.detail, sample.retaken, sample.noisy, sample.level, name(sample.purpose))
        .run();
  });
}

std::vector<SampleRecord> Store::samples(RowId device, RowId problem) const {
  return impl_->guarded("reading samples", [&] {
    std::vector<SampleRecord> samples;
    Sql sql(*impl_->connection,
            "SELECT s.run_id, s.candidate_id, s.problem_id, s.status, s.measurements, s.kernel_ns, "
            "s.kernel_mad_ns,"
            " s.kernel_low_ns, s.kernel_high_ns, s.pack_ns, s.compile_ns, s.detail, s.retaken, "
            "s.noisy, s.level, s.purpose"
            " FROM samples AS s JOIN runs AS r ON r.id = s.run_id"
            " WHERE s.problem_id = ? AND r.device_id = ? AND r.origin_id IS NULL ORDER BY s.id");
    sql.bind_all(problem, device);
    while (sql.next_row()) samples.push_back(read_sample(sql));
    return samples;
  });
}

void Store::for_each_sample(RowId device,
                            const std::function<void(const StoredSample&)>& each) const {
  impl_->guarded("reading samples", [&] {
    Sql sql(*impl_->connection,
            "SELECT s.run_id, s.candidate_id, s.problem_id, s.status, s.measurements, s.kernel_ns, "
            "s.kernel_mad_ns,"
            " s.kernel_low_ns, s.kernel_high_ns, s.pack_ns, s.compile_ns, s.detail, s.retaken, "
            "s.noisy, s.level, s.purpose, s.created_at, r.key, coalesce(o.key, ''), c.hash, "
            "c.variant"
            " FROM runs AS r JOIN samples AS s ON s.run_id = r.id"
            " JOIN candidates AS c ON c.id = s.candidate_id"
            " LEFT JOIN origins AS o ON o.id = r.origin_id"
            " WHERE r.device_id = ? ORDER BY s.problem_id, s.id");
    sql.bind(device);
    while (sql.next_row()) {
      StoredSample stored{.sample = read_sample(sql)};
      stored.at = sql.text();
      stored.run_key = sql.text();
      stored.origin = sql.text();
      stored.hash = sql.text();
      stored.variant = sql.text();
      each(stored);
    }
  });
}

std::vector<SearchCurve> Store::search_curves(RowId device) const {
  return impl_->guarded("reading how searches went", [&] {
    constexpr double kSecondsOfDay = 86400;
    std::map<std::pair<RowId, RowId>, SearchCurve> curves;  // by problem and run
    // Reads in the order of the table, because any other order would look up each row separately.
    Sql sql(
        *impl_->connection,
        "SELECT s.problem_id, s.run_id, s.status = 'measured', s.kernel_ns + s.pack_ns,"
        " julianday(s.created_at), s.created_at"
        " FROM samples AS s JOIN runs AS r ON r.id = s.run_id"
        " WHERE r.device_id = ? AND r.origin_id IS NULL AND s.purpose = 'search' ORDER BY s.id");
    sql.bind(device);
    std::map<std::pair<RowId, RowId>, double> first_days;
    while (sql.next_row()) {
      const RowId problem = sql.integer(), run = sql.integer();
      const bool measured = sql.integer() != 0;
      const double ns = sql.real(), day = sql.real();
      const auto [first_day, is_first] = first_days.try_emplace({problem, run}, day);
      SearchCurve& curve = curves[{problem, run}];
      if (is_first) {
        curve.run = run;
        curve.problem = problem;
        curve.began = sql.text();
      }
      ++curve.samples;
      curve.seconds = std::max(curve.seconds, (day - first_day->second) * kSecondsOfDay);
      if (!measured)
        ++curve.failed;
      else if (curve.steps.empty() || ns < curve.steps.back().ns)
        curve.steps.push_back({.sample = curve.samples, .s = curve.seconds, .ns = ns});
    }
    std::vector<SearchCurve> list;
    for (auto& [key, curve] : curves) list.push_back(std::move(curve));
    return list;
  });
}

}  // namespace rooftile
