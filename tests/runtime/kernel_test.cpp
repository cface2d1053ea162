// The shaders of a kernel are compiled on two threads. A failure on either thread is a failure of
// the kernel.
#include "runtime/kernel/kernel.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/hash.h"
#include "generator/compile.h"
#include "runtime/device/device.h"
#include "tests/support/first_device.h"
#include "tests/support/gate.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = Device::open(first_device());
    ASSERT_EQ(illegal_reason(packed_, device_->profile().limits, Signature{}), std::nullopt);
  }
  std::shared_ptr<const Kernel> build() const {
    return std::make_shared<const Kernel>(device_, packed_, Signature{},
                                          ShaderCache(folder_.path()));
  }
  std::filesystem::path file_of(const Shader& shader) const {
    return folder_ / ("spirv/" + shader.hash + ".spv");
  }
  /// Stores half of the module, which no driver accepts, with a valid checksum.
  void damage(const Shader& shader) const {
    std::vector<std::uint32_t> words = compile(shader);
    words.resize(words.size() / 2);
    std::filesystem::create_directories(file_of(shader).parent_path());
    std::ofstream(file_of(shader), std::ios::binary)
        << hash_hex(words)
        << std::string(reinterpret_cast<const char*>(words.data()),
                       words.size() * sizeof(std::uint32_t));
  }

  ScratchFolder folder_;
  std::shared_ptr<Device> device_;
  const Variant packed_ = parse_variant(
      "family=register tile_m=16 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
      "vector_width_b=4 packed_a=yes packed_b=yes");
};

TEST_F(KernelTest, PackAndGemmKernelsCompileInParallel) {
  Gate gate(folder_.path(), packed_);
  auto kernel = std::async(std::launch::async, [&] { return build(); });
  gate.meet();
  const std::filesystem::path packing = file_of(emit_pack(packed_, {}, Operand::kB));
  for (int attempt = 0; attempt < 6000 && !std::filesystem::exists(packing); ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(std::filesystem::exists(packing));
  EXPECT_TRUE(gate.open());
  EXPECT_NE(kernel.get(), nullptr);
}

TEST_F(KernelTest, AShaderThatFailsOnEitherThreadFailsTheKernel) {
  for (const Shader& shader : {emit_gemm(packed_, {}), emit_pack(packed_, {}, Operand::kA),
                               emit_pack(packed_, {}, Operand::kB)}) {
    damage(shader);
    EXPECT_THROW(build(), Error);
    std::filesystem::remove(file_of(shader));
    EXPECT_NE(build(), nullptr);
  }
}

}  // namespace
}  // namespace rooftile
