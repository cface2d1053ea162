// Results that the page of `rooftile web` exports, of strangers. What is read is imported, and the
// database stays sound.
#include "tests/db/file_bytes.h"
#include "tests/db/filled_store.h"
#include "tests/fuzz/fuzz.h"
#include "web/exchange/import_results.h"
#include "web/exchange/results.h"

namespace rooftile {
namespace {

/// The bytes of a database, for each input anew.
const std::string& own_database() {
  static const std::string bytes = [] {
    const ScratchFolder folder;
    Store(folder / "own.db").vacuum();
    return bytes_of_file(folder / "own.db");
  }();
  return bytes;
}

}  // namespace
}  // namespace rooftile

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  read_or_refuse([&] {
    const web::Results results =
        web::parse_results(std::string(text_of(bytes, count)), "results.json");
    const ScratchFolder folder;
    write_file(folder / "own.db", own_database());
    Store store(folder / "own.db");
    read_or_refuse([&] { web::import_results(store, results); });
    require(store.check().empty(), "a database is sound after an import");
  });
  return 0;
}
