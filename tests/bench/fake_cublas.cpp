// libcublas.so.12 on the host: column-major GEMMs in float64, with the refusals that cublasGemmEx
// documents. fake_cublas_spoil injects an error.
#include <cstdint>
#include <cstdlib>

#include "core/half.h"

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

using rooftile::DataType;
using Address = unsigned long long;

constexpr int kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7, kNotSupported = 15;
constexpr int kSumF16 = 64, kSumF32 = 68, kSumF64 = 70, kSumI32 = 72, kSumTf32 = 77;
double spoilt_by = 0;  // added to the last element

struct Handle {
  void* stream = nullptr;
  int math_mode = -1;
};

struct Matrix {
  Address address;
  int type, ld;
  long long stride;
};

bool known_type(int type, DataType& known) {
  switch (type) {
    case 0:
      known = DataType::kF32;
      return true;
    case 1:
      known = DataType::kF64;
      return true;
    case 2:
      known = DataType::kF16;
      return true;
    case 3:
      known = DataType::kI8;
      return true;
    case 10:
      known = DataType::kI32;
      return true;
    case 14:
      known = DataType::kBf16;
      return true;
    default:
      return false;
  }
}

bool goes_together(int compute, int type, int type_c) {
  const bool f16 = type == 2, bf16 = type == 14, f32 = type == 0;
  if (compute == kSumF16) return f16 && type_c == 2;
  if (compute == kSumF32) return (f16 || bf16 || f32) && (type_c == 0 || type_c == type);
  if (compute == kSumF64) return type == 1 && type_c == 1;
  if (compute == kSumTf32) return f32 && type_c == 0;
  return compute == kSumI32 && type == 3 && type_c == 10;
}

double scalar(int compute, const void* value) {
  if (compute == kSumF16)
    return static_cast<double>(rooftile::from_f16(*static_cast<const std::uint16_t*>(value)));
  if (compute == kSumI32) return *static_cast<const std::int32_t*>(value);
  if (compute == kSumF64) return *static_cast<const double*>(value);
  return static_cast<double>(*static_cast<const float*>(value));
}

void store(DataType type, void* c, std::int64_t index, double value) {
  if (type == DataType::kI32) {
    static_cast<std::int32_t*>(c)[index] = static_cast<std::int32_t>(value);
    return;
  }
  rooftile::narrow(type, &value, static_cast<char*>(c) + index * rooftile::bytes_of(type), 1);
}

int multiply(const Handle* handle, int trans_a, int trans_b, int m, int n, int k, const void* alpha,
             const Matrix& a, const Matrix& b, const void* beta, const Matrix& c, int batch,
             int compute) {
  if (handle == nullptr || handle->stream == nullptr) return kNotInitialized;
  // Refuses TF32 and a missing math mode, because neither is what the caller asks for.
  if ((handle->math_mode & 15) != 0) return kInvalidValue;
  DataType type, type_b, type_c;
  if (!known_type(a.type, type) || !known_type(b.type, type_b) || !known_type(c.type, type_c) ||
      a.type != b.type || !goes_together(compute, a.type, c.type))
    return kNotSupported;
  if (compute == kSumI32 && (a.ld % 4 != 0 || b.ld % 4 != 0)) return kNotSupported;
  if (a.ld < (trans_a != 0 ? k : m) || b.ld < (trans_b != 0 ? n : k) || c.ld < m)
    return kInvalidValue;
  if (scalar(compute, beta) != 0) return kInvalidValue;  // C is left unwritten.
  for (int i = 0; i < batch; ++i)
    for (int column = 0; column < n; ++column)
      for (int row = 0; row < m; ++row) {
        double sum = 0;
        for (int l = 0; l < k; ++l)
          sum += rooftile::element(type, reinterpret_cast<const void*>(a.address),
                                   i * a.stride + (trans_a != 0 ? row * std::int64_t{a.ld} + l
                                                                : l * std::int64_t{a.ld} + row)) *
                 rooftile::element(type, reinterpret_cast<const void*>(b.address),
                                   i * b.stride + (trans_b != 0 ? l * std::int64_t{b.ld} + column
                                                                : column * std::int64_t{b.ld} + l));
        const bool is_last = i == batch - 1 && row == m - 1 && column == n - 1;
        store(type_c, reinterpret_cast<void*>(c.address),
              i * c.stride + column * std::int64_t{c.ld} + row,
              scalar(compute, alpha) * sum + (is_last ? spoilt_by : 0));
      }
  return kSuccess;
}

}  // namespace

FAKE void fake_cublas_spoil(double by) { spoilt_by = by; }

FAKE int cublasCreate_v2(Handle** handle) {
  const char* tf32 = std::getenv("NVIDIA_TF32_OVERRIDE");
  if (tf32 == nullptr || tf32[0] != '0') return kNotInitialized;
  *handle = new Handle;
  return kSuccess;
}
FAKE int cublasDestroy_v2(Handle* handle) {
  delete handle;
  return kSuccess;
}
FAKE int cublasGetVersion_v2(Handle*, int* version) {
  *version = 120304;
  return kSuccess;
}
FAKE int cublasSetStream_v2(Handle* handle, void* stream) {
  handle->stream = stream;
  return kSuccess;
}
FAKE int cublasSetMathMode(Handle* handle, int mode) {
  handle->math_mode = mode;
  return kSuccess;
}
FAKE int cublasGemmEx(Handle* handle, int trans_a, int trans_b, int m, int n, int k,
                      const void* alpha, Address a, int type_a, int lda, Address b, int type_b,
                      int ldb, const void* beta, Address c, int type_c, int ldc, int compute, int) {
  return multiply(handle, trans_a, trans_b, m, n, k, alpha, {a, type_a, lda, 0},
                  {b, type_b, ldb, 0}, beta, {c, type_c, ldc, 0}, 1, compute);
}
FAKE int cublasGemmStridedBatchedEx(Handle* handle, int trans_a, int trans_b, int m, int n, int k,
                                    const void* alpha, Address a, int type_a, int lda,
                                    long long stride_a, Address b, int type_b, int ldb,
                                    long long stride_b, const void* beta, Address c, int type_c,
                                    int ldc, long long stride_c, int batch, int compute, int) {
  return multiply(handle, trans_a, trans_b, m, n, k, alpha, {a, type_a, lda, stride_a},
                  {b, type_b, ldb, stride_b}, beta, {c, type_c, ldc, stride_c}, batch, compute);
}
