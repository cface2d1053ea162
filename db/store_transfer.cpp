// Selects samples of other devices that are informative about a problem on this one.
#include <algorithm>
#include <map>
#include <tuple>

#include "core/error.h"
#include "db/store_impl.h"
#include "db/tables/problem_row.h"

namespace rooftile {
namespace {

// Sizes that far apart say little, and each costs a look into every run: 32 problems in 1,000 runs
// are 32,000 of them, some 50 ms.
constexpr std::size_t kMostProblems = 32;

struct NearProblem {
  RowId id = 0;
  Problem problem;
  double distance = 0;
};

std::vector<NearProblem> near_problems(Connection& connection, const Problem& wanted) {
  std::vector<NearProblem> near;
  Sql sql(
      connection,
      "SELECT id, " ROOFTILE_PROBLEM_COLUMNS
      " FROM problems WHERE type = ? AND trans_a = ? AND trans_b = ? AND epilogue = ? ORDER BY id");
  sql.bind_all(to_string(wanted.types), std::string(1, letter(wanted.trans_a)),
               std::string(1, letter(wanted.trans_b)), to_string(wanted.epilogue));
  while (sql.next_row()) {
    NearProblem& problem = near.emplace_back();
    problem.id = sql.integer();
    problem.problem = read_problem(sql);
    problem.distance = size_distance(problem.problem, wanted);
  }
  std::ranges::stable_sort(near, {}, &NearProblem::distance);
  near.resize(std::min(near.size(), kMostProblems));
  return near;
}

/// Best time of each kernel that one device ran on one problem, fastest first.
class KernelTimes {
 public:
  KernelTimes(Connection& connection, RowId device) : connection_(connection), device_(device) {}

  bool add(RowId run, RowId problem) {
    Sql sql(connection_,
            "SELECT candidate_id, min((kernel_ns + pack_ns) / level) FROM samples"
            " WHERE problem_id = ? AND run_id = ? AND status = 'measured' AND kernel_ns > 0"
            " GROUP BY candidate_id");
    sql.bind_all(problem, run);
    bool any = false;
    while (sql.next_row()) {
      const RowId candidate = sql.integer();
      const double ns = sql.real();
      const auto [entry, fresh] = ns_.try_emplace(candidate, ns);
      if (!fresh) entry->second = std::min(entry->second, ns);
      any = true;
    }
    return any;
  }

  /// here: the device whose black list counts in addition to that of the device that the times are
  /// from.
  void append_to(std::vector<TransferSample>& samples, TransferSample sample, RowId here,
                 std::size_t limit) const {
    std::vector<std::pair<double, Variant>> order;
    for (const auto& [candidate, ns] : ns_)
      if (const auto variant = usable(candidate, here)) order.emplace_back(ns, *variant);
    std::ranges::stable_sort(order, {}, &std::pair<double, Variant>::first);
    for (const auto& [ns, variant] : order) {
      if (samples.size() >= limit) return;
      sample.variant = variant;
      sample.ns = ns;
      samples.push_back(sample);
    }
  }

 private:
  std::optional<Variant> usable(RowId candidate, RowId here) const {
    Sql sql(connection_,
            "SELECT variant FROM candidates AS c WHERE id = ?1"
            " AND NOT EXISTS (SELECT 1 FROM black_list AS b"
            "                  WHERE b.device_id IN (?2, ?3) AND b.candidate_id = c.id)"
            " AND NOT EXISTS (SELECT 1 FROM imported_black_list AS b"
            "                  WHERE b.device_id IN (?2, ?3) AND b.candidate_id = c.id)");
    if (!sql.bind_all(candidate, device_, here).step()) return std::nullopt;
    try {
      return parse_variant(sql.text());
    } catch (const Error&) {
      return std::nullopt;  // a newer version's
    }
  }

  Connection& connection_;
  RowId device_;
  std::map<RowId, double> ns_;
};

}  // namespace

std::vector<NearDevice> Store::nearest_devices(RowId device) const {
  return impl_->guarded("looking for near devices", [&] {
    std::vector<NearDevice> near;
    // Compares the identity of the first row with those of all others.
    Sql sql(*impl_->connection,
            "SELECT d.id, d.id = w.id, d.device_uuid = w.device_uuid, d.vendor_id = w.vendor_id,"
            " d.product_id = w.product_id, d.driver_id = w.driver_id, d.kind = w.kind"
            " FROM devices AS w CROSS JOIN devices AS d WHERE w.id = ?"
            " AND (d.id <> w.id OR EXISTS (SELECT 1 FROM runs WHERE device_id = w.id AND origin_id "
            "IS NOT NULL))"
            " ORDER BY d.id DESC");
    sql.bind(device);
    while (sql.next_row()) {
      const RowId id = sql.integer();
      const bool itself = sql.integer() != 0, uuid = sql.integer() != 0;
      const bool vendor = sql.integer() != 0, product = sql.integer() != 0;
      const bool driver = sql.integer() != 0, kind = sql.integer() != 0;
      const auto add = [&](Nearness nearness) { near.push_back({id, nearness, driver}); };
      if (itself)
        add(Nearness::kSame);
      else if (uuid && vendor && product)
        add(Nearness::kSameDevice);
      else if (vendor && product)
        add(Nearness::kSameProduct);
      else if (vendor && driver)
        add(Nearness::kSameDriver);
      else if (kind)
        add(Nearness::kSameKind);
    }
    std::ranges::stable_sort(near, {}, &NearDevice::nearness);
    return near;
  });
}

std::vector<ImportedTime> Store::imported_times(RowId device) const {
  return impl_->guarded("reading imported samples", [&] {
    std::vector<ImportedTime> times;
    // SQLite takes the columns beside min() from the row that has the minimum.
    Sql sql(*impl_->connection,
            "SELECT " ROOFTILE_PROBLEM_COLUMNS
            ", s.candidate_id, s.kernel_ns, s.pack_ns, count(DISTINCT s.candidate_id), "
            "min(s.kernel_ns + s.pack_ns)"
            " FROM samples AS s JOIN runs AS r ON r.id = s.run_id"
            " JOIN problems AS p ON p.id = s.problem_id"
            " WHERE r.device_id = ? AND r.origin_id IS NOT NULL AND s.status = 'measured'"
            " GROUP BY s.problem_id ORDER BY 1.0 * p.m * p.n * p.k * p.batch, s.problem_id");
    sql.bind_all(device);
    while (sql.next_row()) {
      ImportedTime& time = times.emplace_back();
      time.problem = read_problem(sql);
      time.candidate = sql.integer();
      time.kernel_ns = sql.real();
      time.pack_ns = sql.real();
      time.tried = sql.integer();
    }
    return times;
  });
}

std::vector<TransferSample> Store::transfer_samples(RowId device, const Problem& problem,
                                                    std::size_t limit) const {
  const std::vector<NearDevice> near = nearest_devices(device);
  return impl_->guarded("reading other devices' samples", [&] {
    Connection& connection = *impl_->connection;
    std::map<RowId, std::vector<RowId>> runs;  // of each device; its own only from elsewhere
    Sql all(connection,
            "SELECT device_id, id FROM runs WHERE device_id <> ? OR origin_id IS NOT NULL");
    all.bind(device);
    while (all.next_row()) {
      const RowId of_device = all.integer();
      runs[of_device].push_back(all.integer());
    }
    const std::vector<NearProblem> problems = near_problems(connection, problem);
    std::vector<TransferSample> samples;
    for (auto begin = near.begin(); begin != near.end() && samples.size() < limit;) {
      const auto end = std::find_if(begin, near.end(), [&](const NearDevice& other) {
        return other.nearness != begin->nearness;
      });
      for (const NearProblem& other : problems) {
        for (auto from = begin; from != end && samples.size() < limit; ++from) {
          KernelTimes times(connection, from->device);
          bool any = false;
          for (const RowId run : runs[from->device]) any |= times.add(run, other.id);
          if (any)
            times.append_to(samples, {.from = *from, .problem = other.problem}, device, limit);
        }
      }
      begin = end;
    }
    return samples;
  });
}

}  // namespace rooftile
