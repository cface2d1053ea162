// Makes the report of a tuning database, and writes it as text or JSON. It reads the database and
// the model, and never opens a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "db/store.h"
#include "report/report_data.h"
#include "report/runtime_view.h"

namespace rooftile {

Report make_report(const Store& store, const RuntimeView& runtime);
/// The report of one device, whose record is of this store.
DeviceReport device_report(const Store& store, const DeviceRecord& record,
                           const RuntimeView& runtime);
/// How much of a calibration is printed: its date, or every figure with spread and drift.
enum class CalibrationDetail : std::uint8_t { kDate, kFigures };
/// terminal: columns of the terminal that tables are to fit; 0: a line a row.
std::string report_text(const Report& report, CalibrationDetail detail = CalibrationDetail::kDate,
                        std::size_t terminal = 0);
/// The report as JSON. docs/report.schema.json describes the fields.
std::string report_json(const Report& report);

/// The value as text: whole numbers in full, others with six digits.
std::string counter_value(const PerformanceCounter& counter);

/// The description of a limiter: "arithmetic", "the bandwidth of device memory", ...
std::string_view limiter_text(std::string_view limiter);

}  // namespace rooftile
