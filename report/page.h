// The report as one page that needs nothing else: styles, scripts and data are in it.
#pragma once

#include <string>

#include "report/charts.h"

namespace rooftile {

/// HTML. Whatever the database holds is data there, never markup.
std::string report_page(const Charts& charts);
/// What the page reads: the fields of report_json and those that docs/report.md lists for the page.
std::string page_data(const Charts& charts);

}  // namespace rooftile
