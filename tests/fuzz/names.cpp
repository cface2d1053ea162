// Names of variants, types, epilogues and settings, as they stand in commands, databases and CSV
// files. What is read is written again and read as the same.
#include "core/epilogue.h"
#include "core/types.h"
#include "core/variant.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  const std::string_view text = text_of(bytes, count);
  read_or_refuse([&] {
    const Variant variant = parse_variant(text);
    require(parse_variant(to_string(variant)) == variant, "a variant that was written is read");
  });
  read_or_refuse([&] {
    const Types types = parse_types(text);
    require(parse_types(to_string(types)) == types, "types that were written are read");
  });
  read_or_refuse([&] {
    const Epilogue epilogue = parse_epilogue(text);
    require(parse_epilogue(to_string(epilogue)) == epilogue,
            "an epilogue that was written is read");
  });
  read_or_refuse([&] { parse_settings(text); });
  return 0;
}
