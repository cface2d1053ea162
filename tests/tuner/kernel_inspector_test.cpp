// A shell script is the fake worker, whose compiler crashes, hangs, refuses, or answers.
#include "tuner/worker/kernel_inspector.h"

#include <gmock/gmock.h>

#include <fstream>

#include "generator/space.h"
#include "tests/support/scratch.h"
#include "tests/tuner/scripted_worker.h"
#include "tuner/worker/executables_json.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kRadv = 3;

class KernelInspectorTest : public ::testing::Test {
 protected:
  std::filesystem::path worker(const std::string& body) {
    const std::filesystem::path file = folder_ / "worker";
    WorkerScript(file) << body << "\n";
    return file;
  }
  InspectedKernel inspect(const std::string& body, double time_limit_s = 30,
                          const Variant& variant = fallback_variant()) {
    KernelInspector inspector({.name = "fake", .driver_id = kRadv}, time_limit_s, worker(body));
    return inspector.inspect(variant, {}, stop_);
  }
  ScratchFolder folder_;
  std::atomic<bool> stop_ = false;
};

TEST_F(KernelInspectorTest, ACompilerThatCrashesHangsOrRefusesIsTold) {
  KernelInspection kernel = inspect("read a; kill -SEGV $$").inspection;
  EXPECT_EQ(kernel.compilation, Compilation::kCrashed);
  EXPECT_THAT(kernel.message, HasSubstr("signal 11"));
  EXPECT_EQ(kernel.kernel, to_string(fallback_variant()));
  EXPECT_EQ(kernel.signature, "f32.nn");

  kernel = inspect("read a; exec sleep 1000", 0.2).inspection;
  EXPECT_EQ(kernel.compilation, Compilation::kTimedOut);

  kernel =
      inspect("read a; echo '{\"error\":3,\"message\":\"no such opcode\"}'; read b").inspection;
  EXPECT_EQ(kernel.compilation, Compilation::kRefused);
  EXPECT_EQ(kernel.message, "no such opcode");
}

TEST_F(KernelInspectorTest, AfterACrashTheNextKernelIsCompiled) {
  const std::string started = "'" + (folder_ / "started").string() + "'";
  const std::filesystem::path file =
      worker("read a; if [ ! -e " + started + " ]; then : > " + started +
             "; kill -SEGV $$; fi; echo '{\"executables\":[]}'; read b");
  KernelInspector inspector({.name = "fake", .driver_id = kRadv}, 30, file);
  EXPECT_EQ(inspector.inspect(fallback_variant(), {}, stop_).inspection.compilation,
            Compilation::kCrashed);
  const KernelInspection next = inspector.inspect(fallback_variant(), {}, stop_).inspection;
  EXPECT_EQ(next.compilation, Compilation::kCompiled) << next.message;
}

TEST_F(KernelInspectorTest, AnIllegalKernelIsNotCompiled) {
  Variant matrix = fallback_variant();
  matrix.family = Family::kMatrix;
  const KernelInspection kernel = inspect("read a; kill -SEGV $$", 30, matrix).inspection;
  EXPECT_EQ(kernel.compilation, Compilation::kIllegal);
  EXPECT_NE(kernel.message, "");
}

TEST_F(KernelInspectorTest, TheAnswerIsRead) {
  const std::vector<CompiledExecutable> executables = {
      {.name = "compute",
       .description = "",
       .subgroup_size = 64,
       .statistics = {{"compute", "VGPRs", "", std::uint64_t{24}}},
       .texts = {{"Assembly", "",
                  "BB0:\n\tv_nop ; 0\nBB1:\n\tv_fmac_f32_e32 v0, v1, v2 ; 0\n"
                  "\ts_cbranch_scc1 BB1 ; 0\n\ts_endpgm ; 0\n"}}}};
  const std::string reply = JsonValue{{"executables", to_json(executables)}}.dump();
  std::ofstream(folder_ / "reply") << reply << "\n";
  const InspectedKernel inspected =
      inspect("read a; cat '" + (folder_ / "reply").string() + "'; read b");
  ASSERT_EQ(inspected.inspection.compilation, Compilation::kCompiled)
      << inspected.inspection.message;
  EXPECT_EQ(inspected.inspection.facts.registers, 24);
  ASSERT_TRUE(inspected.inspection.main_loop);
  EXPECT_EQ(inspected.inspection.main_loop->counts.multiply_adds, 64);
  EXPECT_EQ(inspected.assembly, executables[0].texts[0].text);
}

TEST_F(KernelInspectorTest, AKeptKernelIsCompiledAgainOnlyByAnotherDriverOrFromADamagedFile) {
  const std::filesystem::path kept = folder_ / "kept", counted = folder_ / "counted";
  const std::filesystem::path file =
      worker("while read a; do echo >> '" + counted.string() +
             "'; echo '{\"executables\":[{\"name\":\"x\",\"description\":\"\",\"subgroup_size\":8,"
             "\"statistics\":\"[]\",\"texts\":[{\"name\":\"Assembly\",\"description\":\"\","
             "\"text\":\"v_nop\"},{\"name\":\"NIR\",\"description\":\"\",\"text\":\"long\"}]}]}'; "
             "done");
  const auto compiled = [&](const DeviceProfile& device, const Variant& variant) {
    std::filesystem::remove(counted);
    KernelInspector inspector(device, 30, file, kept);
    const InspectedKernel inspected = inspector.inspect(variant, {}, stop_);
    EXPECT_EQ(inspected.inspection.compilation, Compilation::kCompiled);
    EXPECT_EQ(inspected.inspection.subgroup_size, 8u);
    EXPECT_EQ(inspected.assembly, "v_nop");
    return std::filesystem::exists(counted);
  };
  const DeviceProfile device = {.name = "fake", .driver_id = kRadv, .driver_info = "1"};
  const Variant variant = fallback_variant();
  EXPECT_TRUE(compiled(device, variant));
  EXPECT_FALSE(compiled(device, variant));
  Variant other = variant;
  other.tile_n *= 2;
  EXPECT_TRUE(compiled(device, other));
  for (auto change : {+[](DeviceProfile& d) { d.driver_info = "2"; },
                      +[](DeviceProfile& d) { d.pipeline_cache_uuid = "2"; },
                      +[](DeviceProfile& d) { d.device_uuid = "2"; }}) {
    DeviceProfile changed = device;
    change(changed);
    EXPECT_TRUE(compiled(changed, variant));
  }
  EXPECT_FALSE(compiled(device, variant));
  for (const auto& entry : std::filesystem::directory_iterator(kept))
    std::filesystem::resize_file(entry, std::filesystem::file_size(entry) / 2);
  EXPECT_TRUE(compiled(device, variant));
  EXPECT_FALSE(compiled(device, variant));
}

TEST(ExecutablesJsonTest, ComesBackWhole) {
  const std::vector<CompiledExecutable> executables = {
      {.name = "a", .description = "b", .subgroup_size = 8, .statistics = {}, .texts = {}},
      {.name = "c",
       .description = "",
       .subgroup_size = 16,
       .statistics = {{"c", "Spills", "what", std::uint64_t{3}}, {"c", "Yes", "", true}},
       .texts = {{"NIR", "x", "line\n\"quoted\"\n"}}}};
  EXPECT_EQ(executables_from_json(to_json(executables)), executables);
}

}  // namespace
}  // namespace rooftile
