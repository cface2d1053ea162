// A value that differs from another in one respect.
#pragma once

namespace rooftile {

/// Returns a copy after the change, as in with(right, [&](auto& x) { x.m = -1; }).
template <typename Value, typename Change>
Value with(Value value, const Change& change) {
  change(value);
  return value;
}

}  // namespace rooftile
