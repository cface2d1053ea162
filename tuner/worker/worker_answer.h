// What comes of a request, and how the bytes that a worker writes are cut into answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {

enum class WorkerFate : std::uint8_t {
  kAnswered,     ///< reply is valid.
  kRefused,      ///< The worker reports an error: error and message are valid.
  kTimedOut,     ///< Killed by the watchdog.
  kOutOfMemory,  ///< Killed because it exceeded its memory limit.
  kCrashed,      ///< Died by itself, or sent what is no answer; message gives the cause.
  kInterrupted,  ///< Killed because stop became true.
};

struct WorkerAnswer {
  WorkerFate fate = WorkerFate::kCrashed;
  Json reply;
  ErrorCode error = ErrorCode::kInternal;
  std::string message;
  /// Wall time of starting a new worker before the request was sent, and of attempts during which
  /// the tuner was stopped.
  double opening_s = 0;
  /// Another process killed the worker, or the worker died or held too much memory after it had
  /// served other requests, which may have caused that.
  bool doubtful = false;
};

/// Cuts the bytes that a worker writes into answers, whatever they are. Not thread-safe.
class AnswerReader {
 public:
  void add(std::string_view bytes) { buffered_ += bytes; }
  /// Returns the next answer, or nothing before the end of its line has come. What is no answer, or
  /// is longer than any (64 MiB), is kCrashed; no bytes may be added behind it before clear().
  std::optional<WorkerAnswer> next();
  void clear();

 private:
  std::string buffered_;
  std::size_t searched_ = 0;  ///< Bytes without an end of the line.
};

}  // namespace rooftile
