// Messages between tuner and worker, in both directions. Both ends catch every exception, so that a
// finding is what a sanitizer reports.
#include <exception>

#include "tests/fuzz/fuzz.h"
#include "tuner/worker/executables_json.h"
#include "tuner/worker/worker_protocol.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  const std::optional<Json> json = Json::parse(text_of(bytes, count));
  if (!json) return 0;
  // What is read is written again and read as the same.
  const auto read = [&](auto from_json) {
    try {
      const Json written = to_json(from_json(*json));
      require(to_json(from_json(written)) == written, "a message that was written is read");
    } catch (const std::exception&) {
    }
  };
  read(problem_from_json);
  read(signature_from_json);
  read(time_request_from_json);
  read(time_reply_from_json);
  read(count_request_from_json);
  read(counter_readings_from_json);
  read(certificate_from_json);
  read(figures_from_json);
  read(parts_from_json);
  read(executables_from_json);
  return 0;
}
