#include "formats/t4_read.h"

#include <fstream>
#include <tuple>

#include "core/byte_order_mark.h"
#include "core/error.h"
#include "formats/t4_builder.h"

namespace rooftile {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;
constexpr std::size_t kMostResults = 1'000'000;
// Values that a result, or the metadata, may have in all: far above what any tuner writes.
constexpr std::size_t kMostValues = 200'000;
constexpr int kMostNested = 16;

/// The callback of the parser: hands over each result when it is complete and keeps none of them,
/// so that a file of any length takes the memory of one.
class Parts {
 public:
  explicit Parts(T4Builder& builder) : builder_(builder) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMostNested) refuse("it is nested more than {} deep", kMostNested);
    if (event == Json::parse_event_t::key && depth == 1) {
      key_ = parsed.get<std::string>();
      values_ = 0;
    }
    if (++values_ > kMostValues)
      refuse("{} has more than {} values", in_results() ? where() : "'" + printable(key_) + "'",
             kMostValues);
    const bool ends = event == Json::parse_event_t::object_end ||
                      event == Json::parse_event_t::array_end ||
                      event == Json::parse_event_t::value;
    if (!ends) return true;
    if (depth == 0 && event != Json::parse_event_t::object_end) refuse("it is no JSON object");
    if (depth == 2 && in_results()) {
      one_result(parsed);
      return false;
    }
    if (depth != 1) return true;
    if (key_ == "metadata") builder_.metadata(parsed);
    if (key_ == "schema_version") builder_.version(parsed);
    if (key_ == "results" && event != Json::parse_event_t::array_end)
      refuse("'results' is no list");
    key_.clear();
    return false;
  }

  bool in_results() const { return key_ == "results"; }
  std::string where() const { return fmt::format("result {}", results_ + 1); }

 private:
  void one_result(const Json& parsed) {
    if (results_ == kMostResults)
      refuse("it holds more than {} results; split it into several files", kMostResults);
    try {
      builder_.result(parsed);
    } catch (const Error& error) {
      refuse("{}: {}", where(), error.what());
    }
    ++results_;
    values_ = 0;
  }

  T4Builder& builder_;
  std::string key_;
  std::size_t results_ = 0, values_ = 0;
};

/// Reads the top-level keys of a file up to the first one that tells what it is, or to damage.
class Detector : public nlohmann::json_sax<Json> {
 public:
  bool is_t4 = false;

  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    is_t4 = name == "results" || name == "schema_version";
    return !is_t4 && name != "format";
  }
  bool start_object(std::size_t) override { return ++depth_ < kMostNested; }
  bool end_object() override { return --depth_ > 0; }
  bool start_array(std::size_t) override { return ++depth_ > 1 && depth_ < kMostNested; }
  bool end_array() override { return --depth_ > 0; }
  bool null() override { return depth_ > 0; }
  bool boolean(bool) override { return depth_ > 0; }
  bool number_integer(number_integer_t) override { return depth_ > 0; }
  bool number_unsigned(number_unsigned_t) override { return depth_ > 0; }
  bool number_float(number_float_t, const string_t&) override { return depth_ > 0; }
  bool string(string_t&) override { return depth_ > 0; }
  bool binary(binary_t&) override { return false; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    is_t4 = true;  // Its reader tells what is wrong.
    return false;
  }

 private:
  int depth_ = 0;
};

}  // namespace

bool is_t4_file(const std::filesystem::path& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown))
    return false;  // A pipe would be waited for.
  std::ifstream stream(file, std::ios::binary);
  skip_byte_order_mark(stream);
  char first = 0;
  if (!(stream >> first) || first != '{') return false;
  stream.unget();
  Detector detector;
  std::ignore = Json::sax_parse(stream, &detector);
  return detector.is_t4;
}

T4Results parse_t4(std::istream& text, const std::string& name, const T4Defaults& defaults) {
  T4Builder builder(defaults);
  Parts parts(builder);
  try {
    std::ignore = Json::parse(text, std::ref(parts));
    return builder.finished();
  } catch (const Json::exception& error) {
    fail(ErrorCode::kInvalidArgument, "{} cannot be imported: {}{}; nothing of it was imported",
         name, parts.in_results() ? parts.where() + ": " : "", json_damage(error));
  } catch (const Error& error) {
    fail(error.code(), "{} cannot be imported: {}; nothing of it was imported", name, error.what());
  }
}

T4Results read_t4(const std::filesystem::path& file, const T4Defaults& defaults) {
  std::error_code unknown;
  if (const auto bytes = std::filesystem::file_size(file, unknown); !unknown && bytes > kMostBytes)
    fail(ErrorCode::kInvalidArgument,
         "{} cannot be imported: it has {} bytes, more than {}; split it into several files",
         file.string(), bytes, kMostBytes);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(ErrorCode::kIo, "cannot read {}", file.string());
  return parse_t4(stream, file.string(), defaults);
}

}  // namespace rooftile
