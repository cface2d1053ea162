#include "core/error.h"
#include "db/store_impl.h"
#include "db/tables/portfolio_times.h"

namespace rooftile {
namespace {

/// Reads c.id, c.hash, c.signature, c.variant, p.place, p.times. Returns false when this version
/// cannot parse the variant.
bool read_kernel(Sql& sql, PortfolioKernel& kernel) {
  kernel.candidate.id = sql.integer();
  kernel.candidate.hash = sql.text();
  kernel.candidate.signature = sql.text();
  try {
    kernel.candidate.variant = parse_variant(sql.text());
  } catch (const Error&) {
    return false;
  }
  if (sql.null())
    sql.skip();
  else
    kernel.place = static_cast<int>(sql.integer());
  kernel.times = parse_times(sql.text());
  return true;
}

std::vector<PortfolioKernel> read_kernels(Sql& sql) {
  std::vector<PortfolioKernel> kernels;
  while (sql.next_row()) {
    PortfolioKernel kernel;
    if (read_kernel(sql, kernel)) kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace

void Store::put_portfolio(RowId device, std::string_view signature,
                          std::span<const PortfolioRecord> kernels,
                          const std::optional<RegretRecord>& regret) {
  impl_->guarded("storing a portfolio", [&] {
    Connection& connection = *impl_->connection;
    Atomically atomically(connection);
    Sql(connection,
        "DELETE FROM portfolio WHERE device_id = ?"
        " AND candidate_id IN (SELECT id FROM candidates WHERE signature = ?)")
        .bind_all(device, signature)
        .run();
    for (const PortfolioRecord& kernel : kernels)
      Sql(connection,
          "INSERT INTO portfolio (device_id, candidate_id, place, times) VALUES (?, ?, ?, ?)")
          .bind_all(device, kernel.candidate, kernel.place, times_json(kernel.times))
          .run();
    Sql(connection, "DELETE FROM selector_regrets WHERE device_id = ? AND signature = ?")
        .bind_all(device, signature)
        .run();
    if (regret)
      Sql(connection,
          "INSERT INTO selector_regrets (device_id, signature, problems, median, median_low, "
          "median_high, mean, worst_decile, worst, nearest_median, nearest_mean, "
          "nearest_worst_decile) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
          .bind_all(device, signature, regret->problems, regret->median, regret->median_low,
                    regret->median_high, regret->mean, regret->worst_decile, regret->worst,
                    regret->nearest_median, regret->nearest_mean, regret->nearest_worst_decile)
          .run();
    atomically.commit();
  });
}

std::vector<PortfolioKernel> Store::portfolio(RowId device,
                                              std::string_view generator_version) const {
  return impl_->guarded("reading the portfolio", [&] {
    Sql sql(*impl_->connection,
            "SELECT c.id, c.hash, c.signature, c.variant, p.place, p.times"
            " FROM portfolio AS p JOIN candidates AS c ON c.id = p.candidate_id"
            " WHERE p.device_id = ? AND p.place IS NOT NULL"
            " AND (SELECT f.verdict FROM certificates AS f WHERE f.device_id = p.device_id"
            "       AND f.candidate_id = p.candidate_id AND f.generator_version = ?"
            "       ORDER BY f.id DESC LIMIT 1) = 'passed'"
            " AND NOT EXISTS (SELECT 1 FROM black_list AS b WHERE b.device_id = p.device_id"
            "                  AND b.candidate_id = p.candidate_id)"
            " ORDER BY c.signature, p.place");
    sql.bind_all(device, generator_version);
    return read_kernels(sql);
  });
}

std::vector<PortfolioKernel> Store::measured_portfolio(RowId device,
                                                       std::string_view signature) const {
  return impl_->guarded("reading the portfolio's times", [&] {
    Sql sql(*impl_->connection,
            "SELECT c.id, c.hash, c.signature, c.variant, p.place, p.times"
            " FROM portfolio AS p JOIN candidates AS c ON c.id = p.candidate_id"
            " WHERE p.device_id = ? AND c.signature = ?"
            " ORDER BY p.place IS NULL, p.place, c.id");
    sql.bind_all(device, signature);
    return read_kernels(sql);
  });
}

std::vector<PortfolioKernel> Store::imported_portfolio(RowId device, RowId here) const {
  return impl_->guarded("reading imported portfolios", [&] {
    Sql sql(*impl_->connection,
            "SELECT c.id, c.hash, c.signature, c.variant, p.place, p.times"
            " FROM imported_portfolio AS p JOIN candidates AS c ON c.id = p.candidate_id"
            " WHERE p.device_id = ?1"
            " AND NOT EXISTS (SELECT 1 FROM imported_black_list AS b"
            "                  WHERE b.device_id IN (?1, ?2) AND b.candidate_id = p.candidate_id)"
            " ORDER BY c.signature, p.place");
    sql.bind_all(device, here);
    return read_kernels(sql);
  });
}

}  // namespace rooftile
