// Shaders that measure a device instead of multiplying: bandwidth, multiply-add rate, shared
// memory.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/device_profile.h"
#include "core/variant.h"
#include "generator/emit.h"

namespace rooftile {

/// c = a, scale * a, a + b, a + scale * b.
enum class Stream : std::uint8_t { kCopy, kScale, kAdd, kTriad };
inline constexpr std::array kStreams = {Stream::kCopy, Stream::kScale, Stream::kAdd,
                                        Stream::kTriad};
std::string_view name(Stream kernel);  // "copy"
/// Arrays that are read or written.
constexpr int arrays_moved(Stream kernel) {
  return kernel == Stream::kCopy || kernel == Stream::kScale ? 2 : 3;
}
struct StreamPushConstants {
  std::uint32_t elements;  // vec4
  std::uint32_t passes;
  float scale;
};
/// Over vec4. Bindings: 0 a, 1 b (storage or RGBA32 texel buffers), 2 c. Any number of workgroups.
Shader emit_stream(Stream kernel, LoadPath load_path, int local_size);

struct ReadPushConstants {
  std::uint32_t elements;  // vec4
  std::uint32_t passes;
};
/// Of a buffer's reads: invocations side by side, as a GPU's memory wants them; or each in a piece
/// of its own, so that a processor's core reads several streams at once.
enum class ReadOrder : std::uint8_t { kSideBySide, kPieces };
/// Sums a buffer of vec4. Bindings: 0 source (storage or RGBA32 texel buffer), 1 one vec4 an
/// invocation.
Shader emit_read(LoadPath load_path, int local_size, ReadOrder order = ReadOrder::kSideBySide);

struct FmaPushConstants {
  std::uint32_t trips;
  float multiplier, addend;
};
inline constexpr int kFmaSteps = 16;
/// What a trip begins with.
enum class Trip : std::uint8_t { kFree, kSynchronised };  // nothing; a workgroup barrier
/// Multiply-adds of float32, of float16, or packed dot products of 8-bit integers (type kI32):
/// 8 * chains * kFmaSteps flops an invocation and trip, four times as many for integers. Binding 0:
/// one float an invocation.
Shader emit_fma(DataType type, int local_size, int chains, Trip trip = Trip::kFree);

struct MatrixPeakPushConstants {
  std::uint32_t trips;
  std::uint32_t word;  // of the operands: 32 bits of elements
};
inline constexpr int kMatrixPeakSteps = 4;
/// 2 * m * n * k * chains * kMatrixPeakSteps flops a subgroup and trip, the shape one that the
/// device has. Binding 0: one float an invocation.
Shader emit_matrix_peak(const MatrixShape& shape, int subgroup_size, int local_size, int chains);

struct SharedPushConstants {
  std::uint32_t trips;
};
inline constexpr int kSharedUnroll = 8;
/// 16 * kSharedUnroll bytes an invocation and trip. Binding 0: one float an invocation.
Shader emit_shared(int local_size);

struct LoadsPushConstants {
  std::uint32_t trips;
  std::uint32_t
      window;  // elements of the width; a power of two, at least local_size * kLoadsUnroll
};
inline constexpr int kLoadsUnroll = 8;
/// kLoadsUnroll loads of 1 or 4 floats an invocation and trip. Bindings: 0 source, 1 one float an
/// invocation.
Shader emit_loads(LoadPath load_path, int width, int local_size);

struct StoresPushConstants {
  std::uint32_t trips;
  std::uint32_t window;  // of a workgroup; else as LoadsPushConstants
};
inline constexpr int kStoresUnroll = 8;
/// kStoresUnroll stores of 1 or 4 floats an invocation and trip. Binding 0: a window a workgroup.
Shader emit_stores(int width, int local_size);

struct CStoresPushConstants {
  std::uint32_t trips;
  std::uint32_t window;  // as StoresPushConstants
  std::uint32_t n, ldc;  // at least window * width; ldc a multiple of width: whole vectors
  float alpha, beta;
};
/// The same stores as kernels do them: of whole vectors or of elements, and with beta.
Shader emit_c_stores(int width, int local_size);

struct ChasePushConstants {
  std::uint32_t trips;
  std::uint32_t window;  // words, a power of two
};
inline constexpr int kChaseUnroll = 8;
/// kChaseUnroll loads a trip, each after the one before, by a single invocation. Bindings: 0
/// source, all zeros, 1 one word.
Shader emit_chase();

struct LanesPushConstants {
  std::uint32_t trips;
};
inline constexpr int kLanesUnroll = 4;
/// kLanesUnroll broadcasts of vec4 an invocation and trip; subgroups of four at least. Binding 0:
/// one float an invocation.
Shader emit_lanes(int local_size);

struct BarriersPushConstants {
  std::uint32_t trips;
};
/// One workgroup barrier a trip. Binding 0: one float an invocation.
Shader emit_barriers(int local_size);

}  // namespace rooftile
