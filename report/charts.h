// The data of the page's charts that the report itself does not hold: the course of searches, and
// the runtime's choices on grids of problems.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "report/report.h"
#include "runtime/model/dispatch.h"

namespace rooftile {

struct SearchReport {
  std::size_t problem = 0;  // index into the device's problems
  SearchCurve curve;
};

/// The runtime's choices on a grid of sizes. Cells are ordered by k, then n, then m.
struct KernelMap {
  struct Cell {
    int kernel = -1;   // index into kernels; -1: none is legal
    double ns = 0;     // expected, packing included
    double score = 0;  // predicted host time over device time, operands in host memory; 0: vetoed
  };
  std::vector<std::int64_t> sizes;  // of m and of n
  std::vector<std::int64_t> depths;
  std::vector<std::string> kernels;  // the kernels that are chosen anywhere, most frequent first
  std::vector<Cell> cells;
};

/// Predictions on the line m = n. Points are ordered by depth, then by size.
struct Boundary {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> depths;  // of k; 0: k = m
  std::vector<Decision> points;
};

/// A class of problems: equal types, transposes and epilogue.
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

/// The charts of a page: devices with tuned problems first, and the largest problems of all devices
/// together. Problems that do not fit are counted, so that the page can say so.
struct Charts {
  std::string database;
  std::vector<DeviceCharts> devices;
  std::size_t devices_left_out = 0;
};

Charts make_charts(const Store& store, const RuntimeView& runtime, Report report);

}  // namespace rooftile
