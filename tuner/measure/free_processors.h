// Measuring on the processors that other programs leave. A software device that shares a processor
// with a busy program waits for that program's time slices, some kernels longer than others. On
// fewer processors of its own its times are steady, and tell what they are on all of them.
#pragma once

#include <functional>
#include <map>
#include <vector>

namespace rooftile {

/// The processors that the calling thread may use, ascending; none where the system tells none.
std::vector<int> own_processors();

/// Counters since some moment; only differences are meaningful.
struct ProcessorUse {
  double wall_s = 0;
  double own_s = 0;              ///< Processor time of this process.
  std::map<int, double> busy_s;  ///< By processor: time that it was not idle, whoever used it.
};
ProcessorUse processor_use_now();
ProcessorUse operator-(const ProcessorUse& later, const ProcessorUse& earlier);

/// The processors among these whole ones that others used in a pause of this process, the busiest
/// first. At least one is always left out.
std::vector<int> held_processors(const ProcessorUse& pause);

/// Restricts all threads of this process to the processors that other programs leave, and lifts the
/// restriction once they leave more. Not thread-safe. Does nothing on one processor.
class FreeProcessors {
 public:
  /// What it asks of the system; tests replace it.
  struct System {
    std::vector<int> all;  ///< Processors that the process may use.
    std::function<ProcessorUse()> use;
    std::function<void(double seconds)> pause;
    std::function<void(const std::vector<int>&)> bind;  ///< Restricts all threads to these.
  };
  static System this_process();

  explicit FreeProcessors(System system = this_process());
  ~FreeProcessors();  ///< Lifts the restriction.
  FreeProcessors(const FreeProcessors&) = delete;
  FreeProcessors& operator=(const FreeProcessors&) = delete;

  /// Enclose measurements, in which this process uses all processors that it may use. begin() may
  /// pause for a tenth of a second.
  void begin();
  void end();

  std::size_t all() const { return system_.all.size(); }
  std::size_t free() const { return free_.size(); }
  /// What the time of so many workgroups on the free processors is to be multiplied with for their
  /// time on all of them.
  double to_all(double workgroups) const;

 private:
  void restrict_to_free();
  ProcessorUse use() const;  ///< Of the processors that the process may use.

  System system_;
  std::vector<int> free_;
  ProcessorUse began_, measured_;  ///< measured_: since the last decision.
  bool suspected_ = false;         ///< Others seem to use processors that it uses.
  double next_pause_s_ = 0;        ///< Not before this time of processor_use_now().
};

}  // namespace rooftile
