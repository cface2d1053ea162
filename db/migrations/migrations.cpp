#include "db/migrations/migrations.h"

#include "core/embedded_text.h"

namespace rooftile {

std::span<const EmbeddedText>
embedded_migrations();  // in the order of their numbers: db/CMakeLists.txt sees to it

const std::vector<Migration>& migrations() {
  static const std::vector<Migration> all = [] {
    std::vector<Migration> result;
    for (const EmbeddedText& file : embedded_migrations())
      result.push_back(
          {static_cast<int>(result.size()) + 1, std::string(file.name), std::string(file.text)});
    return result;
  }();
  return all;
}

}  // namespace rooftile
