// Samples as T4, the JSON format of auto-tuning results that Kernel Tuner writes (its schema is
// kernel_tuner/schema/T4/1.0.0/results-schema.json; docs/sharing.md describes what is added).
#pragma once

#include <string_view>

#include "formats/stored_rows.h"

namespace rooftile {

/// Hands the file's text to `write` piece by piece and returns the number of results. version: of
/// this program.
std::size_t export_t4(const Store& store, const RowFilter& filter, std::string_view version,
                      const Buffered::Write& write);

}  // namespace rooftile
