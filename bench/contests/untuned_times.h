// Stored times of kernels on the problems of a class (bench/results/lavapipe-untuned.csv).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/model/portfolio.h"

namespace rooftile {

/// Cells of the lines behind the header; empty lines and those with # in front are left out. Throws
/// kIo.
std::vector<std::vector<std::string>> csv_rows(const std::string& name);

/// Kernels with their times, by class: "f32.nn" or "f32.nt". Files: class, m, n, k, batch, kernel,
/// ns; and id, parameters. Throws kIo.
std::map<std::string, std::vector<MeasuredKernel>> measured_kernels(const std::string& times,
                                                                    const std::string& kernels);
/// A problem of such a class, of no size.
Problem problem_of_class(const std::string& name);

/// The kernels with their times on these problems only.
std::vector<MeasuredKernel> only(std::vector<MeasuredKernel> kernels,
                                 std::span<const MeasuredTime> problems);

/// Results of the kernels chosen for held-out problems, where portfolio and selector know the
/// others.
struct HeldOut {
  std::vector<double> errors;   ///< Logarithm of measured over predicted time of the kernel chosen.
  std::vector<double> regrets;  ///< Its time over the fastest kernel's, minus 1.
};
HeldOut held_out(const Problem& of_class, const DeviceRates& rates,
                 const std::vector<MeasuredKernel>& kernels, std::span<const MeasuredTime> known,
                 std::span<const MeasuredTime> held);

}  // namespace rooftile
