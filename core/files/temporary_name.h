// Names of temporary files, which are removed also when a signal ends the program.
#pragma once

#include <atomic>
#include <string>

namespace rooftile {

/// The name of a temporary file or of an empty temporary folder. What bears it is removed with the
/// object, as are the files that SQLite keeps beside a database (-journal, -wal, -shm), and by
/// remove_temporary_files(). Objects may be used by several threads, each by one at a time.
class TemporaryName {
 public:
  TemporaryName();
  ~TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  /// Makes a file of this pattern, which ends in XXXXXX, that only its owner may read and write.
  /// Returns its descriptor, which exec closes; -1 where there is none, and errno says why.
  int make_file(const std::string& pattern);
  /// Makes a folder that only its owner may enter. Returns false where there is none, and errno
  /// says why. Its files need names of their own.
  bool make_folder(const std::string& pattern);
  /// The name of a file that others make, in a folder of make_folder().
  void take(const std::string& name);

  /// "" before one of the functions above has succeeded, and after release().
  const std::string& path() const { return path_; }
  /// Forgets the name, because nothing bears it any more, as after a rename.
  void release();

  struct Slot;  ///< A place in the table that remove_temporary_files() reads.

 private:
  char* begin(const std::string& pattern);
  void end(const char* name, bool made);

  Slot* slot_;  ///< Null where all are taken: such a name is removed with the object only.
  std::string path_;
};

/// Removes what all TemporaryName objects of this process stand for. May be called by a signal
/// handler, after which the process must end: the objects still believe that their files are there.
void remove_temporary_files() noexcept;

}  // namespace rooftile
