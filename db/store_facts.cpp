#include "db/store_impl.h"

namespace rooftile {
namespace {

std::optional<std::int64_t> read_count(Sql& sql) {
  if (!sql.null()) return sql.integer();
  sql.skip();
  return std::nullopt;
}

}  // namespace

void Store::put_compiler_facts(RowId device, RowId candidate, const CompilerFactsRecord& record) {
  const CompilerFacts& facts = record.facts;
  impl_->guarded("storing compiler facts", [&] {
    Sql(*impl_->connection,
        "INSERT OR REPLACE INTO compiler_facts (device_id, candidate_id, registers, "
        "scalar_registers, spilled_registers, spilled_scalar_registers, spill_stores, "
        "scratch_bytes, shared_bytes, subgroups_per_unit, statistics, dropped_reason)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind_all(device, candidate, facts.registers, facts.scalar_registers,
                  facts.spilled_registers, facts.spilled_scalar_registers, facts.spill_stores,
                  facts.scratch_bytes, facts.shared_bytes, facts.subgroups_per_unit,
                  statistics_json(facts.statistics), record.dropped_reason)
        .run();
  });
}

std::optional<CompilerFactsRecord> Store::compiler_facts(RowId device, RowId candidate) const {
  return impl_->guarded("reading compiler facts", [&]() -> std::optional<CompilerFactsRecord> {
    Sql sql(*impl_->connection,
            "SELECT registers, scalar_registers, spilled_registers, spilled_scalar_registers, "
            "spill_stores, scratch_bytes, shared_bytes, subgroups_per_unit, statistics, "
            "dropped_reason FROM compiler_facts WHERE device_id = ? AND candidate_id = ?"
            " AND origin_id IS NULL");
    if (!sql.bind_all(device, candidate).step()) return std::nullopt;
    CompilerFactsRecord record;
    CompilerFacts& facts = record.facts;
    for (auto* fact : {&facts.registers, &facts.scalar_registers, &facts.spilled_registers,
                       &facts.spilled_scalar_registers, &facts.spill_stores, &facts.scratch_bytes,
                       &facts.shared_bytes, &facts.subgroups_per_unit})
      *fact = read_count(sql);
    facts.statistics = parse_statistics(sql.text());
    if (!sql.null()) record.dropped_reason = sql.text();
    return record;
  });
}

}  // namespace rooftile
