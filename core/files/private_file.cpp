#include "core/files/private_file.h"

#include <cerrno>
#include <cstdio>

#include "core/file_size_signal.h"
#include "core/files/file_descriptor.h"
#include "core/files/temporary_name.h"

namespace rooftile {

int replace_private_file(const std::filesystem::path& file,
                         std::initializer_list<std::string_view> pieces) {
  const NoFileSizeSignal no_signal;
  TemporaryName temporary;
  FileDescriptor written(temporary.make_file(file.string() + ".XXXXXX"));  // with mode 0600
  if (!written) return errno;
  for (const std::string_view piece : pieces)
    if (!write_all(written.get(), piece)) return errno;
  if (written.close() != 0) return errno;
  if (std::rename(temporary.path().c_str(), file.c_str()) != 0) return errno;
  temporary.release();
  return 0;
}

}  // namespace rooftile
