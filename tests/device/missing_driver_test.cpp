#include <cstdlib>
#include <fstream>

#include "tests/support/scratch.h"
#include "tests/support/test_device.h"

namespace rooftile {
namespace {

/// Returns 0 when no device is found and a note explains it. The note is printed for the test's
/// log.
int enumerate_nothing() {
  const Enumeration enumeration = enumerate_devices();
  std::fprintf(stderr, "note: %s\n", enumeration.note.c_str());
  if (!enumeration.devices.empty() || enumeration.note.empty()) return 1;
  if (!enumerate_devices().devices.empty()) return 2;  // A second attempt has the same result.
  return code_of([] { Device::open(DeviceProfile{}); }) == ErrorCode::kDevice ? 0 : 3;
}

/// Each case runs in a process of its own, because the loader reads its environment once, when the
/// first instance is created.
class MissingDriverDeathTest : public testing::Test {
 protected:
  MissingDriverDeathTest() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  void expect_nothing(const std::filesystem::path& manifest) {
    for (const char* variable : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) {
      SCOPED_TRACE(variable);
      EXPECT_EXIT(
          {
            ::unsetenv("VK_DRIVER_FILES");
            ::unsetenv("VK_ICD_FILENAMES");
            ::setenv(variable, manifest.c_str(), 1);
            std::_Exit(enumerate_nothing());
          },
          testing::ExitedWithCode(0), "note: .*driver");
    }
  }

  std::filesystem::path write(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path;
  }
  std::filesystem::path write_manifest(const std::string& library) {
    return write(
        "icd.json",
        R"({"file_format_version": "1.0.0", "ICD": {"api_version": "1.3.0", "library_path": ")" +
            library + R"("}})");
  }

  ScratchFolder folder_;
};

TEST_F(MissingDriverDeathTest, ManifestIsNotThere) { expect_nothing("/nonexistent/icd.json"); }
TEST_F(MissingDriverDeathTest, ManifestIsText) {
  expect_nothing(write("icd.json", "this is no JSON"));
}
TEST_F(MissingDriverDeathTest, LibraryIsNotThere) {
  expect_nothing(write_manifest("/nonexistent/libdriver.so"));
}
TEST_F(MissingDriverDeathTest, LibraryIsText) {
  expect_nothing(write_manifest(write("libdriver.so", "text").string()));
}
TEST_F(MissingDriverDeathTest, LibraryIsNoDriver) { expect_nothing(write_manifest("libm.so.6")); }

TEST_F(MissingDriverDeathTest, LoaderIsNotThere) {
  // When the child starts, the dynamic linker finds these text files before the real libraries.
  write("libvulkan.so.1", "text");
  write("libvulkan.so", "text");
  ::setenv("LD_LIBRARY_PATH", folder_.path().c_str(), 1);
  EXPECT_EXIT(std::_Exit(enumerate_nothing()), testing::ExitedWithCode(0),
              "note: .*loader.*libvulkan");
  ::unsetenv("LD_LIBRARY_PATH");
}

}  // namespace
}  // namespace rooftile
