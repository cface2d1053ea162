// A fuzz target is a program whose LLVMFuzzerTestOneInput() reads any bytes as one kind of input.
// Findings are what sanitizers report, exceptions other than Error, and conditions of require()
// that do not hold. libFuzzer makes the inputs (scripts/fuzz); replay.cpp runs those that are
// stored in corpus/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count);

namespace rooftile {

/// Ends the program, as a sanitizer does, where a condition does not hold.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "this must hold: %s\n", what);
  std::abort();
}

/// Calls read(), which may refuse its input with an Error.
template <typename Read>
void read_or_refuse(Read&& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t count) {
  return {reinterpret_cast<const char*>(bytes), count};
}

}  // namespace rooftile
