// Assembly, read as that of each of four compilers.
#include "inspect/assembly.h"

#include "inspect/main_loop.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  for (int syntax = 0; syntax < 4; ++syntax)
    read_or_refuse([&] {
      main_loop(parse_assembly(static_cast<AssemblySyntax>(syntax), text_of(bytes, count),
                               {.subgroup_size = 32}));
    });
  return 0;
}
