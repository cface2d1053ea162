#include "tuner/worker/worker_answer.h"

namespace rooftile {
namespace {

// Far longer than what any compiler says of a kernel.
constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 20;

bool is_error_code(const Json& json) {
  return json.is_number_unsigned() &&
         json.get<std::uint64_t>() <= static_cast<std::uint64_t>(ErrorCode::kInternal);
}

/// Whether a reply has the form of one: an object, with a code and a message where it is an error.
bool is_answer(const Json& reply) {
  if (!reply.is_object()) return false;
  const Json *const error = reply.find("error"), *const message = reply.find("message");
  return error == nullptr ||
         (is_error_code(*error) && message != nullptr && message->is_string());
}

}  // namespace

std::optional<WorkerAnswer> AnswerReader::next() {
  WorkerAnswer answer;
  const std::size_t line_end = buffered_.find('\n', searched_);
  if (line_end == std::string::npos) {
    searched_ = buffered_.size();
    if (buffered_.size() <= kMostAnswerBytes) return std::nullopt;
    answer.message =
        fmt::format("the worker's answer is longer than {} MiB", kMostAnswerBytes >> 20);
    return answer;
  }
  std::optional<Json> reply = Json::parse(std::string_view(buffered_).substr(0, line_end));
  buffered_.erase(0, line_end + 1);
  searched_ = 0;
  if (reply) answer.reply = std::move(*reply);
  if (!is_answer(answer.reply)) {
    answer.message = reply ? "the worker's answer has not the form of one"
                           : "the worker's answer is not JSON";
  } else if (answer.reply.contains("error")) {
    answer.fate = WorkerFate::kRefused;
    answer.error = static_cast<ErrorCode>(answer.reply.at("error").get<int>());
    answer.message = answer.reply.at("message");
  } else {
    answer.fate = WorkerFate::kAnswered;
  }
  return answer;
}

void AnswerReader::clear() {
  buffered_.clear();
  searched_ = 0;
}

}  // namespace rooftile
