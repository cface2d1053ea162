#include "db/store_impl.h"

namespace rooftile {
namespace {

std::vector<Figure> figures_of(Connection& connection, RowId set) {
  std::vector<Figure> figures;
  Sql sql(connection,
          "SELECT name, unit, value, mad, measurements FROM calibration_figures WHERE "
          "calibration_id = ? ORDER BY position");
  sql.bind(set);
  while (sql.next_row()) {
    Figure& figure = figures.emplace_back();
    figure.name = sql.text();
    figure.unit = sql.text();
    figure.value = sql.real();
    figure.mad = sql.real();
    figure.count = static_cast<std::size_t>(sql.integer());
  }
  return figures;
}

}  // namespace

RowId Store::add_calibration(RowId device, std::span<const Figure> figures) {
  return impl_->guarded("storing a calibration", [&] {
    Connection& connection = *impl_->connection;
    Atomically atomically(connection);
    Sql(connection,
        "INSERT INTO calibrations (device_id, key) VALUES (?, lower(hex(randomblob(16))))")
        .bind(device)
        .run();
    const RowId calibration = connection.database().getLastInsertRowid();
    std::int64_t position = 0;
    for (const Figure& figure : figures)
      Sql(connection,
          "INSERT INTO calibration_figures (calibration_id, position, name, unit, value, mad, "
          "measurements)"
          " VALUES (?, ?, ?, ?, ?, ?, ?)")
          .bind_all(calibration, position++, figure.name, figure.unit, figure.value, figure.mad,
                    figure.count)
          .run();
    atomically.commit();
    return calibration;
  });
}

std::vector<CalibrationRecord> Store::calibrations(RowId device, Provenance provenance,
                                                   std::size_t most) const {
  return impl_->guarded("reading the calibrations", [&] {
    Connection& connection = *impl_->connection;
    std::vector<CalibrationRecord> records;
    // A subquery without rows is NULL, this machine's origin.
    Sql sql(connection,
            "SELECT id, created_at FROM calibrations WHERE device_id = ?1 AND origin_id IS"
            " (SELECT origin_id FROM calibrations WHERE device_id = ?1"
            "   AND (origin_id IS NULL OR ?2) ORDER BY origin_id IS NOT NULL, id DESC LIMIT 1)"
            " ORDER BY id DESC LIMIT ?3");
    sql.bind_all(device, provenance == Provenance::kAny, most);
    while (sql.next_row()) {
      const RowId set = sql.integer();
      records.push_back({.at = sql.text(), .figures = figures_of(connection, set)});
    }
    return records;
  });
}

std::vector<Figure> Store::latest_calibration(RowId device, Provenance provenance) const {
  std::vector<CalibrationRecord> latest = calibrations(device, provenance, 1);
  return latest.empty() ? std::vector<Figure>() : std::move(latest.front().figures);
}

}  // namespace rooftile
