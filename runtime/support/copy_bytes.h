#pragma once

#include <cstdint>

namespace rooftile {

/// memcpy on several threads where it is long: one thread moved 6 GB/s of the 48 of an H100's link
/// in a virtual machine, eight moved 36 to 43. The ranges must not overlap.
void copy_bytes(const void* from, void* to, std::uint64_t bytes) noexcept;

/// Copies a range of items: copy(context, begin, end).
struct CopyRange {
  void (*copy)(const void* context, std::int64_t begin, std::int64_t end);
  const void* context;
};

/// Copies consecutive ranges of [0, count), of which one item has item_bytes, on this thread and on
/// up to 7 others. Threads that the system starts late get no range, so a busy machine costs
/// little. Returns when all ranges are copied. Never throws: without memory this thread copies
/// alone.
void share_copies(std::int64_t count, std::int64_t item_bytes, CopyRange range) noexcept;

/// The same for body(begin, end), which must not throw.
template <typename Body>
void share_copies(std::int64_t count, std::int64_t item_bytes, const Body& body) noexcept {
  share_copies(count, item_bytes,
               CopyRange{[](const void* context, std::int64_t begin, std::int64_t end) {
                           (*static_cast<const Body*>(context))(begin, end);
                         },
                         &body});
}

}  // namespace rooftile
