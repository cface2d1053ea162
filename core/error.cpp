#include "core/error.h"

namespace rooftile {

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kOutOfMemory:
      return "out of memory";
    case ErrorCode::kDevice:
      return "device";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kCompile:
      return "compile";
    case ErrorCode::kIo:
      return "input or output";
    case ErrorCode::kDatabase:
      return "database";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

}  // namespace rooftile
