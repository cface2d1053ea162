#include "db/store_impl.h"

namespace rooftile {
namespace {

/// Calibrations of this machine come before imported ones, and newer ones before older ones.
std::optional<RowId> latest_set(Connection& connection, RowId device, Provenance provenance) {
  Sql sql(connection,
          "SELECT id FROM calibrations WHERE device_id = ? AND (origin_id IS NULL OR ?)"
          " ORDER BY origin_id IS NOT NULL, id DESC LIMIT 1");
  if (sql.bind_all(device, provenance == Provenance::kAny).step()) return sql.integer();
  return std::nullopt;
}

std::vector<Figure> figures_of(Connection& connection, const std::optional<RowId>& set) {
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

std::vector<Figure> Store::latest_calibration(RowId device, Provenance provenance) const {
  return impl_->guarded("reading the calibration", [&] {
    return figures_of(*impl_->connection, latest_set(*impl_->connection, device, provenance));
  });
}

std::string Store::latest_calibration_time(RowId device) const {
  return impl_->guarded("reading the calibration's time", [&]() -> std::string {
    Sql sql(*impl_->connection, "SELECT created_at FROM calibrations WHERE id = ?");
    sql.bind(latest_set(*impl_->connection, device, Provenance::kAny));
    return sql.step() ? sql.text() : "";
  });
}

std::optional<CalibrationRecord> Store::calibration_before_latest(RowId device) const {
  return impl_->guarded(
      "reading the calibration before", [&]() -> std::optional<CalibrationRecord> {
        Connection& connection = *impl_->connection;
        Sql sql(connection,
                "SELECT b.id, b.created_at FROM calibrations AS b"
                " JOIN calibrations AS latest ON latest.id = ?"
                " WHERE b.device_id = latest.device_id AND b.id < latest.id"
                " AND b.origin_id IS latest.origin_id ORDER BY b.id DESC LIMIT 1");
        sql.bind(latest_set(connection, device, Provenance::kAny));
        if (!sql.step()) return std::nullopt;
        const RowId set = sql.integer();
        return CalibrationRecord{.at = sql.text(), .figures = figures_of(connection, set)};
      });
}

}  // namespace rooftile
