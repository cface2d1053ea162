// Frozen measurements from tests/model/data: '#' starts a comment line, and the first other line
// names the columns.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace rooftile {

using CsvRow = std::map<std::string, std::string>;

inline std::vector<CsvRow> read_csv(const std::string& name) {
  std::ifstream file(std::string(ROOFTILE_SOURCE_DIR "/tests/model/data/") + name);
  EXPECT_TRUE(file) << name;
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    CsvRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < columns.size(); ++i) row[columns[i]] = cells.at(i);
  }
  return rows;
}

inline double number(const CsvRow& row, const std::string& column) {
  return std::strtod(row.at(column).c_str(), nullptr);
}

}  // namespace rooftile
