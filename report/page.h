// The report as one HTML page that holds its styles, scripts and data.
#pragma once

#include <string>

#include "report/charts.h"

namespace rooftile {

/// The page as HTML. Text from the database is always data in it, never markup.
std::string report_page(const Charts& charts);
/// The data that the page reads: the form `page` of docs/report.schema.json.
std::string page_data(const Charts& charts);

}  // namespace rooftile
