// Shaders that measure a device: bandwidths, rates and latencies (templates/calibrate/).
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
/// Number of arrays that the kernel reads or writes.
constexpr int arrays_moved(Stream kernel) {
  return kernel == Stream::kCopy || kernel == Stream::kScale ? 2 : 3;
}
struct StreamPushConstants {
  std::uint32_t elements;  // vec4 in each array
  std::uint32_t passes;
  float scale;
};
/// Arrays of vec4. Bindings: 0 is a, 1 is b (storage or RGBA32 texel buffers), 2 is c. Any number
/// of workgroups.
Shader emit_stream(Stream kernel, LoadPath load_path, int local_size);

struct ReadPushConstants {
  std::uint32_t elements;  // vec4
  std::uint32_t passes;
};
/// Order of the reads of a buffer: neighbouring invocations read neighbouring vectors, which suits
/// GPUs; or each invocation reads a contiguous piece of its own, so that a core of a CPU reads
/// several streams at once.
enum class ReadOrder : std::uint8_t { kSideBySide, kPieces };
/// Sums a buffer of vec4. Bindings: 0 is the source (storage or RGBA32 texel buffer), 1 takes one
/// vec4 per invocation.
Shader emit_read(LoadPath load_path, int local_size, ReadOrder order = ReadOrder::kSideBySide);

/// trips, here and below, is the number of iterations of a shader's loop.
struct FmaPushConstants {
  std::uint32_t trips;
  float multiplier, addend;
};
inline constexpr int kFmaSteps = 16;
/// Whether an iteration of the loop begins with a workgroup barrier.
enum class Trip : std::uint8_t { kFree, kSynchronised };
/// Multiply-adds of float32, float16 or float64, or packed dot products of 8-bit integers (type
/// kI32): 8 * chains * kFmaSteps flops per invocation and iteration, four times as many for
/// integers. Binding 0 takes one float per invocation.
Shader emit_fma(DataType type, int local_size, int chains, Trip trip = Trip::kFree);

struct MatrixPeakPushConstants {
  std::uint32_t trips;
  std::uint32_t word;  // 32 bits of operand elements, repeated
};
inline constexpr int kMatrixPeakSteps = 4;
/// 2 * m * n * k * chains * kMatrixPeakSteps flops per subgroup and iteration. The device must have
/// the shape. Binding 0 takes one float per invocation.
Shader emit_matrix_peak(const MatrixShape& shape, int subgroup_size, int local_size, int chains);

struct SharedPushConstants {
  std::uint32_t trips;
};
inline constexpr int kSharedUnroll = 8;
/// Reads 16 * kSharedUnroll bytes per invocation and iteration. Binding 0 takes one float per
/// invocation.
Shader emit_shared(int local_size);

struct LoadsPushConstants {
  std::uint32_t trips;
  // Elements of the width; a power of two, at least local_size * kLoadsUnroll.
  std::uint32_t window;
};
inline constexpr int kLoadsUnroll = 8;
/// kLoadsUnroll loads of 1 or 4 floats per invocation and iteration. Bindings: 0 is the source, 1
/// takes one float per invocation.
Shader emit_loads(LoadPath load_path, int width, int local_size);

struct StoresPushConstants {
  std::uint32_t trips;
  std::uint32_t window;  // as in LoadsPushConstants, for each workgroup
};
inline constexpr int kStoresUnroll = 8;
/// kStoresUnroll stores of 1 or 4 floats per invocation and iteration. Binding 0 has one window per
/// workgroup.
Shader emit_stores(int width, int local_size);

struct CStoresPushConstants {
  std::uint32_t trips;
  std::uint32_t window;  // as in StoresPushConstants
  // Whole vectors are stored where n is at least window * width and ldc is a multiple of width.
  std::uint32_t n, ldc;
  float alpha, beta;
};
/// The stores of emit_stores() as GEMM kernels do them: of whole vectors or of elements, with beta.
Shader emit_c_stores(int width, int local_size);

struct ChasePushConstants {
  std::uint32_t trips;
  std::uint32_t window;  // words, a power of two
};
inline constexpr int kChaseUnroll = 8;
/// A single invocation does kChaseUnroll loads per iteration, each of which depends on the one
/// before. Bindings: 0 is the source, all zeros, 1 takes one word.
Shader emit_chase();

struct LanesPushConstants {
  std::uint32_t trips;
};
inline constexpr int kLanesUnroll = 4;
/// kLanesUnroll broadcasts of vec4 per invocation and iteration, in subgroups of at least four.
/// Binding 0 takes one float per invocation.
Shader emit_lanes(int local_size);

struct BarriersPushConstants {
  std::uint32_t trips;
};
/// One workgroup barrier per iteration. Binding 0 takes one float per invocation.
Shader emit_barriers(int local_size);

}  // namespace rooftile
