#include "formats/stored_rows.h"

#include <unordered_map>

#include "core/error.h"

namespace rooftile {
namespace {

/// Same sizes, types, transposes, strides and epilogue.
bool same_product(Problem x, const Problem& y) {
  x.alpha = y.alpha;
  x.beta = y.beta;
  return x == y;
}

/// Empty where this version cannot parse it.
std::optional<Variant> readable(const std::string& variant) try {
  return parse_variant(variant);
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace

std::size_t for_each_row(const Store& store, const RowFilter& filter,
                         const std::function<void(const StoredRow&)>& each) {
  std::unordered_map<RowId, std::optional<Variant>> variants;
  std::size_t rows = 0;
  for (std::size_t device = 0; device < filter.devices.size(); ++device) {
    std::optional<Problem> problem;
    RowId problem_id = 0;
    store.for_each_sample(filter.devices[device], [&](const StoredSample& stored) {
      if (stored.sample.problem != problem_id) {
        problem_id = stored.sample.problem;
        problem = store.problem(problem_id);
      }
      if (!problem || (filter.problem && !same_product(*problem, *filter.problem))) return;
      const auto [known, is_new] = variants.try_emplace(stored.sample.candidate);
      if (is_new) known->second = readable(stored.variant);
      if (!known->second) return;
      each({stored, *known->second, *problem, device});
      ++rows;
    });
  }
  return rows;
}

void Buffered::add(std::string_view text) {
  constexpr std::size_t kPieceBytes = 1 << 16;
  text_ += text;
  if (text_.size() >= kPieceBytes) flush();
}

void Buffered::flush() {
  write_(text_);
  text_.clear();
}

}  // namespace rooftile
