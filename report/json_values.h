// Reports as JSON values. Internal to report/.
#pragma once

#include <nlohmann/json.hpp>

#include "report/report.h"

namespace rooftile {

using Json = nlohmann::json;

enum class JsonDetail : std::uint8_t {
  kFull,
  kPage,  // without the parameters of kernels and the host's grid of GEMMs
};

/// The number, or null where it is 0, which stands for an unknown value.
Json json_known(double x);
/// An object with m, n, k, batch, epilogue, trans_a, trans_b and type.
Json json_of(const Problem& p);
Json json_of(const ProblemReport& p, JsonDetail detail);
Json json_of(const DeviceReport& d, JsonDetail detail);
/// An object with name, uuid, kind and driver.
Json json_identity(const DeviceProfile& profile);
/// The text of a value. Numbers that are not finite become null, as JSON has none, and bytes that
/// are no UTF-8 U+FFFD. An indent of -1 writes one line.
std::string json_text(const Json& value, int indent);

}  // namespace rooftile
