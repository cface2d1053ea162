// Stated intervals and probabilities beside what came to pass.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rooftile {

/// How often held-out values lay in intervals that were stated from a sample of known ones: by
/// their order statistics, as in conformal prediction (Lei et al. 2018, section 2), but
/// interpolated, so that the share that is stated is expected and no minimum.
class CalibrationCurve {
 public:
  /// kMiddle: as much is expected below the interval as above it. kLow: the interval has no lower
  /// end, because the values are losses or gains.
  enum class Shape { kMiddle, kLow };
  static constexpr std::array<double, 6> kStated = {0.5, 0.6, 0.7, 0.8, 0.9, 0.95};

  void add(Shape shape, std::vector<double> known, double held);
  std::size_t count() const { return count_; }
  /// Share of held values inside of the intervals of kStated[i].
  double observed(std::size_t i) const;
  /// Median length of those intervals; of kLow their median upper end.
  double length(std::size_t i) const;

 private:
  std::size_t count_ = 0;
  std::array<std::size_t, kStated.size()> inside_ = {};
  std::array<std::vector<double>, kStated.size()> lengths_;
};
using Curves = std::map<std::string, CalibrationCurve>;

/// How often something happened that was stated to be this probable, by fifths.
class Probabilities {
 public:
  void add(double stated, bool happened);
  struct Fifth {
    int count = 0, happened = 0;
    double stated = 0;  ///< Sum.
  };
  const std::array<Fifth, 5>& fifths() const { return fifths_; }

 private:
  std::array<Fifth, 5> fifths_;
};

void print(const Curves& curves);
void print(const std::string& event, const Probabilities& probabilities);
/// Writes forecast,stated,observed,length,cases. Throws kIo.
void write_csv(const std::string& file, const Curves& curves, const std::string& event,
               const Probabilities& probabilities);

}  // namespace rooftile
