#include "db/store_impl.h"

namespace rooftile {

void Store::put_counters(RowId device, RowId candidate, RowId problem,
                         const CounterSetRecord& record) {
  impl_->guarded("storing counters", [&] {
    Connection& connection = *impl_->connection;
    Atomically atomically(connection);
    Sql(connection,
        "DELETE FROM counters WHERE counter_set_id IN (SELECT id FROM counter_sets"
        " WHERE device_id = ? AND candidate_id = ? AND problem_id = ?)")
        .bind_all(device, candidate, problem)
        .run();
    Sql(connection,
        "INSERT OR REPLACE INTO counter_sets (device_id, candidate_id, problem_id, passes)"
        " VALUES (?, ?, ?, ?)")
        .bind_all(device, candidate, problem, record.passes)
        .run();
    const RowId set = connection.database().getLastInsertRowid();
    std::int64_t position = 0;
    for (const PerformanceCounter& counter : record.counters)
      Sql(connection,
          "INSERT INTO counters (counter_set_id, position, name, category, description, unit,"
          " scope, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
          .bind_all(set, position++, counter.name, counter.category, counter.description,
                    counter.unit, counter.scope, counter.value)
          .run();
    atomically.commit();
  });
}

std::optional<CounterSetRecord> Store::counters(RowId device, RowId candidate,
                                                RowId problem) const {
  return impl_->guarded("reading counters", [&]() -> std::optional<CounterSetRecord> {
    Connection& connection = *impl_->connection;
    Sql set(connection,
            "SELECT id, passes, created_at FROM counter_sets WHERE device_id = ?"
            " AND candidate_id = ? AND problem_id = ? AND origin_id IS NULL");
    if (!set.bind_all(device, candidate, problem).step()) return std::nullopt;
    const RowId id = set.integer();
    CounterSetRecord record{.passes = set.integer(), .at = set.text()};
    Sql sql(connection,
            "SELECT name, category, description, unit, scope, value FROM counters"
            " WHERE counter_set_id = ? ORDER BY position");
    sql.bind(id);
    while (sql.next_row()) {
      PerformanceCounter& counter = record.counters.emplace_back();
      for (std::string* text :
           {&counter.name, &counter.category, &counter.description, &counter.unit, &counter.scope})
        *text = sql.text();
      counter.value = sql.real();
    }
    return record;
  });
}

}  // namespace rooftile
