#include "tuner/worker/counter_reader.h"

#include <fmt/format.h>

#include <exception>

namespace rooftile {

void CounterReader::give_up(const std::string& reason) {
  readable_ = false;
  if (message_) message_(fmt::format("counters are not read: {}", reason));
}

void CounterReader::read(RowId candidate, const CountRequest& request, CandidateRequests& requests,
                         double watchdog_s) {
  if (!readable_) return;
  try {
    // There is no journal entry: what counting does to the machine is not the kernel's fault.
    const WorkerAnswer answer = requests.ask_without_journal(
        {{"operation", "count"}, {"request", to_json(request)}}, watchdog_s);
    if (answer.fate == WorkerFate::kInterrupted) return;
    if (answer.fate != WorkerFate::kAnswered) return give_up(answer.message);
    const Json& counted = answer.reply.at("counted");
    if (counted.is_null()) {
      readable_ = false;
      return;
    }
    const CounterReadings readings = counter_readings_from_json(counted);
    if (readings.counters.empty()) return give_up("no counter has a value");
    store_.put_counters(device_, candidate, store_.problem_id(request.problem),
                        {.passes = readings.passes, .counters = readings.counters});
  } catch (const std::exception& error) {  // An invalid answer is also reported here.
    give_up(error.what());
  }
}

}  // namespace rooftile
