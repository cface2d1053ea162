// What the page draws besides the report: how searches went, and what the runtime would do on grids
// of problems.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "report/report.h"
#include "runtime/model/dispatch.h"

namespace rooftile {

struct SearchReport {
  std::size_t problem = 0;  // place in the device's problems
  SearchCurve curve;
};

/// The runtime's choice on a grid. Cells: for each k, for each n, for each m.
struct KernelMap {
  struct Cell {
    int kernel = -1;   // place in kernels; -1: none is legal
    double ns = 0;     // expected, packing included
    double score = 0;  // predicted host time over device time, operands in host memory; 0: vetoed
  };
  std::vector<std::int64_t> sizes;  // of m and of n
  std::vector<std::int64_t> depths;
  std::vector<std::string> kernels;  // that are chosen anywhere, the most frequent first
  std::vector<Cell> cells;
};

/// Predictions on the line m = n. Points: for each depth, for each size.
struct Boundary {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> depths;  // of k; 0: k = m
  std::vector<Decision> points;
};

/// A class of problems: types, transposes, epilogue.
struct ClassReport {
  std::string signature;  // "f32.nt"
  Problem example;
  std::size_t tuned = 0;  // problems
  KernelMap map;
  Boundary boundary;
};

struct DeviceCharts {
  DeviceReport device;
  std::size_t problems_left_out = 0, classes_left_out = 0;
  std::size_t samples = 0, failed = 0;  // of this file's own runs
  std::vector<SearchReport> searches;
  std::vector<ClassReport> classes;  // most tuned problems first
};

/// A page's worth: devices with tuned problems first, and of all devices together the largest
/// problems. What does not fit is counted, so that the page can say so.
struct Charts {
  std::string database;
  std::vector<DeviceCharts> devices;
  std::size_t devices_left_out = 0;
};

Charts make_charts(const Store& store, const RuntimeView& runtime, Report report);

}  // namespace rooftile
