// Times of a portfolio's kernel as the tables hold them: [[m, n, k, batch, ns], ...], with the
// times of both halves of the measurements behind ns where there are any. Inside db/ only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/measured_time.h"

namespace rooftile {

std::string times_json(std::span<const MeasuredTime> times);

/// What is no time of a problem is left out: edited by hand, or written by something else.
std::vector<MeasuredTime> parse_times(std::string_view json);

/// Whether times_json could have written it: at most 4096 times, sizes from 1 to 2^40, times above
/// 0 and below 1e18 ns or null. For text from other machines, which parse_times must not be given
/// before.
bool is_times_json(std::string_view json);

}  // namespace rooftile
