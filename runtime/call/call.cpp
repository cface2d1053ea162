#include "runtime/call/call.h"

#include <array>

#include "core/enum_words.h"
#include "core/error.h"
#include "core/half.h"

namespace rooftile {
namespace {

constexpr EnumWords<Precision::kInt8> kPrecisions = {"relaxed", "standard", "high",
                                                     "exact64", "half",     "int8"};
constexpr EnumWords<TierChoice::kHost64> kTierChoices = {"auto", "device", "host", "host1",
                                                         "host64"};
constexpr std::array<std::string_view, 2> kDevices = {"one", "all"};

}  // namespace

std::span<const std::string_view> devices_names() { return kDevices; }

Devices parse_devices(std::string_view text) {
  if (text == kDevices[0]) return Devices::kOne;
  if (text == kDevices[1]) return Devices::kAll;
  fail(ErrorCode::kInvalidArgument, "unknown devices '{}'; known: one, all", text);
}

std::span<const std::string_view> tier_choice_names() { return kTierChoices.all; }
std::span<const std::string_view> precision_names() { return kPrecisions.all; }

TierChoice parse_tier_choice(std::string_view text) { return kTierChoices.parse("tier", text); }

Tier tier_of(TierChoice choice) {
  switch (choice) {
    case TierChoice::kDevice:
      return Tier::kDevice;
    case TierChoice::kHost1:
      return Tier::kHost1;
    case TierChoice::kHost64:
      return Tier::kHost64;
    default:
      return Tier::kHost;
  }
}

Precision parse_precision(std::string_view text) { return kPrecisions.parse("precision", text); }

EpilogueValues epilogue_values(const Problem& p, const EpilogueOperands& operands, std::int64_t i,
                               std::int64_t row, std::int64_t column) {
  const Epilogue& e = p.epilogue;
  const DataType type = epilogue_type(p.types);
  EpilogueValues values;
  if (e.row_scale) values.row_scale = element(type, operands.row_scale, row);
  if (e.column_scale) values.column_scale = element(type, operands.column_scale, column);
  if (e.bias != Bias::kNone)
    values.bias = element(type, operands.bias, e.bias == Bias::kRow ? row : column);
  if (e.residual)
    values.residual = element(type, operands.residual,
                              i * operands.stride_residual + row * operands.ld_residual + column);
  return values;
}

}  // namespace rooftile
