// What a worker whose driver has gone wild may send: the bytes of its pipe, which come in pieces of
// a length that the first byte says. The tuner gets answers of the right form, or the worker counts
// as crashed.
#include "tests/fuzz/fuzz.h"
#include "tuner/worker/candidate_requests.h"
#include "tuner/worker/worker_answer.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {
namespace {

void read_reply_of(const WorkerAnswer& answer) {
  require(answer.fate == WorkerFate::kCrashed || answer.reply.is_object(),
          "an answer is an object");
  require(answer.fate != WorkerFate::kRefused || name(answer.error) != "unknown",
          "a refusal has a reason that is known");
  for (const auto& read :
       {+[](CandidateOutcome& outcome) { read_reply(outcome, time_reply_from_json); },
        +[](CandidateOutcome& outcome) { read_reply(outcome, certificate_from_json); },
        +[](CandidateOutcome& outcome) { read_reply(outcome, counter_readings_from_json); }}) {
    CandidateOutcome outcome = outcome_of(answer);
    read(outcome);
    require(outcome.reply || outcome.failure || answer.fate != WorkerFate::kAnswered,
            "an answer that cannot be read is a failure");
  }
}

}  // namespace
}  // namespace rooftile

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  if (count == 0) return 0;
  std::string_view sent = text_of(bytes, count);
  AnswerReader answers;
  while (!sent.empty()) {
    const std::string_view piece = sent.substr(0, 1 + bytes[0]);
    sent.remove_prefix(piece.size());
    answers.add(piece);
    while (const std::optional<WorkerAnswer> answer = answers.next()) {
      read_reply_of(*answer);
      if (answer->fate == WorkerFate::kCrashed) return 0;  // The worker is killed.
    }
  }
  return 0;
}
