#include "runtime/kernel/shader_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "generator/compile.h"
#include "generator/space.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

class ShaderCacheTest : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_ / "spirv/" / (shader_.hash + ".spv"); }
  ScratchFolder folder_;
  Shader shader_ = emit_gemm(fallback_variant(), {});
  ShaderCache cache_{folder_.path()};
};

TEST_F(ShaderCacheTest, KeepsWhatItCompiledPrivately) {
  const std::vector<std::uint32_t> words = cache_.spirv(shader_);
  EXPECT_EQ(words, compile(shader_));
  struct stat status = {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  // The cache returns the file's contents: a shader with other text and the same hash is not
  // compiled.
  Shader other = shader_;
  other.glsl = "this does not compile";
  EXPECT_EQ(cache_.spirv(other), words);
}

TEST_F(ShaderCacheTest, RecompilesDamagedEntries) {
  const std::vector<std::uint32_t> words = cache_.spirv(shader_);
  for (const char* damage :
       {"", "short", "00000000000000000000000000000000\x03\x02\x23\x07 some more words.."}) {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << damage;
    EXPECT_EQ(cache_.spirv(shader_), words);
  }
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) - 4);
  EXPECT_EQ(cache_.spirv(shader_), words);
}

TEST_F(ShaderCacheTest, TrustsNoEntryThatOthersCanHaveWritten) {
  const std::vector<std::uint32_t> words = cache_.spirv(shader_);
  // What a stranger would like to be run: valid, and not what was compiled.
  Shader foreign = shader_;
  foreign.glsl = emit_gemm(fallback_variant(), {.trans_a = Transpose::kYes}).glsl;
  const ScratchFolder theirs;
  ShaderCache(theirs.path()).spirv(foreign);
  const std::filesystem::path planted = theirs.path() / "spirv" / file().filename();
  std::filesystem::copy_file(planted, file(), std::filesystem::copy_options::overwrite_existing);
  ASSERT_EQ(cache_.spirv(shader_), compile(foreign)) << "this user's own file is taken as it is";

  ASSERT_EQ(::chmod(file().c_str(), 0666), 0);
  EXPECT_EQ(cache_.spirv(shader_), words) << "anyone could write it";
  std::filesystem::remove(file());
  std::filesystem::create_symlink(planted, file());
  EXPECT_EQ(cache_.spirv(shader_), words) << "a link";
  std::filesystem::remove(file());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_EQ(cache_.spirv(shader_), words) << "a pipe, which is not waited for";
  if (::geteuid() != 0) return;  // Only root can give files away.
  std::filesystem::remove(file());
  std::filesystem::copy_file(planted, file());
  ASSERT_EQ(::chown(file().c_str(), 65534, 65534), 0);
  EXPECT_EQ(cache_.spirv(shader_), words) << "another user's";
}

TEST(ShaderCacheFolder, AnUnwritableOneIsNoError) {
  const ShaderCache cache("/proc/nowhere");
  EXPECT_FALSE(cache.spirv(emit_gemm(fallback_variant(), {})).empty());
}

TEST(ShaderCacheFolder, TheWarningNamesTheFolderAndWhyItCannotBeMade) {
  const ShaderCache cache("/sys/rooftile/cache");  // Where root makes no folders either.
  testing::internal::CaptureStderr();
  cache.spirv(emit_gemm(fallback_variant(), {}));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::HasSubstr("the folder /sys/rooftile/cache/spirv cannot be made: "));
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("No such file or directory")));
}

}  // namespace
}  // namespace rooftile
