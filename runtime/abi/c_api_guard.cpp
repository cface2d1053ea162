#include "runtime/abi/c_api_guard.h"

namespace rooftile {

std::string& last_error() {
  static thread_local std::string message;
  return message;
}

rooftile_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return ROOFTILE_INVALID_ARGUMENT;
    case ErrorCode::kUnsupported:
      return ROOFTILE_UNSUPPORTED;
    case ErrorCode::kOutOfMemory:
      return ROOFTILE_OUT_OF_MEMORY;
    case ErrorCode::kDevice:
    case ErrorCode::kCompile:
      return ROOFTILE_DEVICE_ERROR;
    case ErrorCode::kTimeout:
      return ROOFTILE_TIMEOUT;
    case ErrorCode::kIo:
      return ROOFTILE_IO_ERROR;
    case ErrorCode::kDatabase:
      return ROOFTILE_DATABASE_ERROR;
    case ErrorCode::kInternal:
      break;
  }
  return ROOFTILE_INTERNAL_ERROR;
}

}  // namespace rooftile
