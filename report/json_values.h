// Reports as JSON values. Inside report/ only.
#pragma once

#include <nlohmann/json.hpp>

#include "report/report.h"

namespace rooftile {

using Json = nlohmann::json;

enum class JsonDetail : std::uint8_t {
  kFull,
  kPage,  // without kernels' parameters and the host's grid of products
};

/// null for what is not finite: JSON has neither infinity nor NaN.
Json json_number(double x);
/// null for 0 as well: not known.
Json json_known(double x);
/// m, n, k, batch, epilogue, trans_a, trans_b, type.
Json json_of(const Problem& p);
Json json_of(const ProblemReport& p, JsonDetail detail);
Json json_of(const DeviceReport& d, JsonDetail detail);
/// name, uuid, kind and driver.
Json json_identity(const DeviceProfile& profile);
/// Bytes that are no UTF-8 become U+FFFD. indent -1: on one line.
std::string json_text(const Json& value, int indent);

}  // namespace rooftile
