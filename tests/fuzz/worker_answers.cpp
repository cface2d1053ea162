// What a worker whose driver has gone wild may send. The input is what it writes to its pipe, from
// its first answer on. The tuner gets an answer of the right form, or the worker counts as crashed.
#include "tests/db/file_bytes.h"
#include "tests/db/store_fixture.h"
#include "tests/fuzz/fuzz.h"
#include "tuner/worker/candidate_requests.h"
#include "tuner/worker/worker_process.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {
namespace {

/// A program that answers with the bytes of a file, whatever it is asked.
std::filesystem::path program_that_sends(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "worker";
  write_file(file, "#!/bin/sh\nexec cat '" + (folder / "answers").string() + "'\n");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file;
}

void read_reply_of(const WorkerAnswer& answer) {
  require(answer.fate != WorkerFate::kAnswered || answer.reply.is_object(),
          "an answer is an object");
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
  static const ScratchFolder folder;
  static const std::filesystem::path program = program_that_sends(folder.path());
  constexpr double kDeadlineS = 20;
  const std::atomic<bool> stop = false;
  write_file(folder / "answers", "{\"name\":\"fake\"}\n" + std::string(text_of(bytes, count)));
  WorkerProcess worker(program, {{"operation", "open"}});
  for (int request = 0; request < 2; ++request)
    read_or_refuse([&] { read_reply_of(worker.ask({{"operation", "time"}}, kDeadlineS, stop)); });
  return 0;
}
