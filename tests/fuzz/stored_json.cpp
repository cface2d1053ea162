// JSON in the columns of a database, which may be edited by hand or by a stranger. What is read is
// written again and read as the same; what is not of the right form is left out.
#include "db/tables/portfolio_times.h"
#include "db/tables/records.h"
#include "db/tables/records_json.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  const std::string text(text_of(bytes, count));
  const std::string limits = limits_json(parse_limits(text));
  require(limits_json(parse_limits(limits)) == limits, "limits that were written are read");
  const std::string statistics = statistics_json(parse_statistics(text));
  require(statistics_json(parse_statistics(statistics)) == statistics,
          "statistics that were written are read");
  const std::vector<MeasuredTime> times = parse_times(text);
  require(times_json(parse_times(times_json(times))) == times_json(times),
          "times that were written are read");
  // What an import lets in is read wholly.
  require(!is_times_json(text) || is_times_json(times_json(times)), "times are times");
  return 0;
}
