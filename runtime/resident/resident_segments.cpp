#include "runtime/resident/resident_segments.h"

#include <algorithm>

#include "runtime/kernel/step_time.h"

namespace rooftile {
namespace {

bool meet(const std::vector<Access>& x, const std::vector<Access>& y) {
  return std::ranges::any_of(x, [&](const Access& i) {
    return std::ranges::any_of(y, [&](const Access& j) {
      return i.buffer == j.buffer && i.begin < j.end && j.begin < i.end;
    });
  });
}

}  // namespace

void Segments::separate(const std::vector<Access>& reads, const std::vector<Access>& writes) {
  if (!meet(writes, reads_) && !meet(writes, writes_) && !meet(reads, writes_)) return;
  lists_.back().emplace_back(BarrierStep{});
  reads_.clear();
  writes_.clear();
}

void Segments::append(Step step, double ns) {
  if (list_ns_ > 0 && ns > 0 && list_ns_ + ns > kStepNs) {
    lists_.emplace_back();
    list_ns_ = 0;
    // At the start of a list all earlier writes are visible.
    reads_.clear();
    writes_.clear();
  }
  lists_.back().push_back(std::move(step));
  list_ns_ += ns;
}

void Segments::add(ProductSteps product, double expected_ns) {
  separate(product.reads, product.writes);
  const double ns = expected_ns / static_cast<double>(std::max<std::size_t>(product.gemms, 1));
  for (std::size_t i = 0; i < product.steps.size(); ++i) {
    const bool gemm = i >= product.first_gemm && i < product.first_gemm + product.gemms;
    append(std::move(product.steps[i]), gemm ? ns : 0);
  }
  expected_ns_ += expected_ns;
  std::ranges::move(product.reads, std::back_inserter(reads_));
  std::ranges::move(product.writes, std::back_inserter(writes_));
  views_.push_back(std::move(product.views));
}

void Segments::add(const CopyStep& copy, const Access& read, const Access& written) {
  separate({read}, {written});
  append(copy, 0);
  reads_.push_back(read);
  writes_.push_back(written);
}

}  // namespace rooftile
