// Reads the driver's hardware counters of winning kernels in the worker and stores them.
#pragma once

#include <functional>
#include <string>

#include "db/store.h"
#include "tuner/worker/candidate_requests.h"
#include "tuner/worker/measure.h"

namespace rooftile {

class CounterReader {
 public:
  /// `message` may be empty.
  CounterReader(Store& store, RowId device, std::function<void(const std::string&)> message)
      : store_(store), device_(device), message_(std::move(message)) {}

  /// Stores the counters, once for each pass. If they cannot be read, this is reported once and
  /// nothing is read after that; nothing is reported where the driver has none.
  void read(RowId candidate, const CountRequest& request, CandidateRequests& requests,
            double watchdog_s);

 private:
  void give_up(const std::string& reason);

  Store& store_;
  RowId device_;
  std::function<void(const std::string&)> message_;
  bool readable_ = true;  ///< False once counters turned out to be unreadable.
};

}  // namespace rooftile
