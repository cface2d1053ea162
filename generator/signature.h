#pragma once

#include "core/problem.h"

namespace rooftile {

/// The properties of a problem that are compiled into a kernel beside its Variant. Sizes, ld,
/// offsets, alpha, beta and the limits of the clamp are push constants.
struct Signature {
  Types types = {};
  Transpose trans_a = Transpose::kNo, trans_b = Transpose::kNo;
  Epilogue epilogue = {};  // compiled_part
  bool grouped = false;    // Problem::grouping

  bool operator==(const Signature&) const = default;
};
inline Signature signature_of(const Problem& p) {
  return {p.types, p.trans_a, p.trans_b, compiled_part(p.epilogue), is_grouped(p)};
}
/// The signature as text, as in the database: "f32.nt", "f16_f16.nt.bias_column+relu",
/// "f32.nt.grouped".
std::string to_string(const Signature& s);
/// Reads such a text. Throws kInvalidArgument.
Signature parse_signature(const std::string& text);

}  // namespace rooftile
