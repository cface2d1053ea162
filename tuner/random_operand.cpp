#include "tuner/random_operand.h"

#include <algorithm>

#include "core/half.h"

namespace rooftile {

std::vector<char> random_operand(DataType type, std::int64_t elements, Random& random) {
  std::vector<float> values(static_cast<std::size_t>(elements));
  std::generate(values.begin(), values.end(), [&] { return random.symmetric(); });
  std::vector<char> stored(static_cast<std::size_t>(elements * bytes_of(type)));
  narrow(type, values.data(), stored.data(), elements);
  return stored;
}

}  // namespace rooftile
