// Assembly of four compilers; the first byte says which.
#include "inspect/assembly.h"

#include "inspect/main_loop.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  if (count == 0) return 0;
  const auto syntax = static_cast<AssemblySyntax>(bytes[0] % 4);
  read_or_refuse([&] {
    main_loop(parse_assembly(syntax, text_of(bytes + 1, count - 1), {.subgroup_size = 32}));
  });
  return 0;
}
