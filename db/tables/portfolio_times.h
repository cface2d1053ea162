// The times of a portfolio's kernel as the tables hold them: [[m, n, k, batch, ns], ...], with the
// times of both halves of the measurements behind ns where there are any. Internal to db/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/measured_time.h"

namespace rooftile {

std::string times_json(std::span<const MeasuredTime> times);

/// Reads such a text. Entries that are no time of a problem are left out, because the file may have
/// been edited by hand.
std::vector<MeasuredTime> parse_times(std::string_view json);

/// Whether times_json() could have written the text: at most 4096 times, sizes from 1 to 2^40,
/// times above 0 and below 1e18 ns or null. Text of other machines must pass this check before
/// parse_times() reads it.
bool is_times_json(std::string_view json);

}  // namespace rooftile
