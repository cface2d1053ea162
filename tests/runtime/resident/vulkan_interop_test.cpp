// GEMMs in the command buffers of a Vulkan program, on the program's own device.
#include "tests/support/vulkan_program.h"
// This include must follow the macros that vulkan_program.h sets for Vulkan-Hpp.
#include <rooftile/vulkan.h>

#include <cstring>

#include "tests/support/resident_fixture.h"
#include "tests/support/resized.h"
#include "tests/support/with.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Usage = vk::BufferUsageFlagBits;
constexpr vk::BufferUsageFlags kAllUsage =
    Usage::eStorageBuffer | Usage::eUniformTexelBuffer | Usage::eTransferSrc | Usage::eTransferDst;

enum class Features { kNone, kAll };

class VulkanInterop : public ResidentTest {
 protected:
  void TearDown() override {
    rooftile_close(context_);
    context_ = nullptr;
    for (rooftile_recording* recording : recordings_) rooftile_recording_release(recording);
    rooftile_vulkan_requirements_free(&requirements_);
    if (program_ != nullptr) {
      // The program's device is still usable.
      EXPECT_NO_THROW(program_->device().waitIdle());
      held_.clear();
      EXPECT_THAT(program_->messages(), IsEmpty());
    }
  }

  rooftile_vulkan_device given() const {
    return {.struct_size = sizeof(rooftile_vulkan_device),
            .get_instance_proc_addr = VulkanProgram::loader(),
            .instance = *program_->instance(),
            .api_version = VulkanProgram::kApiVersion,
            .physical_device = *program_->physical(),
            .device = *program_->device(),
            .create_info = &static_cast<const VkDeviceCreateInfo&>(program_->info()),
            .queue_family = program_->queue_family()};
  }

  /// Starts a program with a device of these features, and writes a database with these kernels
  /// for it.
  void start(Features features, const std::vector<Variant>& ranked, const Epilogue& epilogue = {}) {
    program_ = std::make_unique<VulkanProgram>();
    rooftile_vulkan_device device = {.struct_size = sizeof device,
                                     .get_instance_proc_addr = VulkanProgram::loader(),
                                     .instance = *program_->instance(),
                                     .api_version = VulkanProgram::kApiVersion,
                                     .physical_device = *program_->physical()};
    requirements_ = {.struct_size = sizeof requirements_};
    ok(rooftile_vulkan_requirements_get(&device, &requirements_));
    if (features == Features::kAll)
      program_->make_device(
          {requirements_.extensions, requirements_.extensions + requirements_.extension_count},
          requirements_.features);
    else
      program_->make_device({}, nullptr);
    database_ = (folder_ / "vulkan.db").string();
    if (!ranked.empty()) write_test_database(database_, device_, ranked, epilogue);
  }
  void open_vulkan(const rooftile_vulkan_device& device) {
    const rooftile_options options = {.struct_size = sizeof options,
                                      .database_path = database_.c_str()};
    ok(rooftile_vulkan_open(&options, &device, &context_));
  }

  rooftile_vulkan_place put(const void* from, std::size_t bytes, std::int64_t offset,
                            vk::BufferUsageFlags usage = kAllUsage) {
    const auto begin = static_cast<std::size_t>(offset) * sizeof(float);
    held_.push_back(program_->buffer(begin + bytes, usage));
    if (from != nullptr) std::memcpy(held_.back().mapped + begin, from, bytes);
    return {*held_.back().buffer, held_.back().bytes, offset};
  }
  template <typename T>
  rooftile_vulkan_place put(const std::vector<T>& x, std::int64_t offset,
                            vk::BufferUsageFlags usage = kAllUsage) {
    return put(x.data(), x.size() * sizeof(T), offset, usage);
  }
  rooftile_vulkan_operands vulkan_operands(Product& product, std::int64_t offset,
                                           vk::BufferUsageFlags usage = kAllUsage) {
    const Epilogue& e = product.problem.epilogue;
    rooftile_vulkan_operands x = {.struct_size = sizeof x,
                                  .usage = static_cast<VkBufferUsageFlags>(usage)};
    x.a = put(product.a, offset, usage);
    x.b = put(product.b, offset, usage);
    x.c = put(product.c, offset, usage);
    if (e.row_scale) x.row_scale = put(product.row_scale, offset, usage);
    if (e.bias != Bias::kNone) x.bias = put(product.bias, offset, usage);
    return x;
  }
  void fetch_c(Product& product, const rooftile_vulkan_operands& operands) {
    for (const HostVisibleBuffer& held : held_)
      if (*held.buffer == vk::Buffer(operands.c.buffer))
        std::memcpy(product.c.data(),
                    held.mapped + static_cast<std::size_t>(operands.c.offset) * sizeof(float),
                    product.c.size() * sizeof(float));
  }
  rooftile_prepared prepared(const Product& product, const rooftile_vulkan_operands& operands) {
    const ProblemArgs problem(product);
    rooftile_prepared result = {.struct_size = sizeof result};
    ok(rooftile_vulkan_prepare(context_, &problem.args, &operands, &result));
    return result;
  }
  void record(const Product& product, const rooftile_vulkan_operands& operands,
              const vk::raii::CommandBuffer& commands, rooftile_packed* packed = nullptr) {
    ProblemArgs problem(product);
    problem.args.packed = packed;
    rooftile_recording* recording = nullptr;
    ok(rooftile_vulkan_record(context_, &problem.args, &operands, *commands, &recording));
    recordings_.push_back(recording);
  }

  std::unique_ptr<VulkanProgram> program_;
  rooftile_vulkan_requirements requirements_ = {};
  std::vector<HostVisibleBuffer> held_;
  std::vector<rooftile_recording*> recordings_;
  std::string database_;
};

const char* const kSplit =
    "family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 split_k=3";

TEST_F(VulkanInterop, DependentProductsInOneCommandBuffer) {
  const Epilogue epilogue = parse_epilogue("row_scale+bias_column+relu");
  start(Features::kAll, {parse_variant(kSplit), fallback_variant()}, epilogue);
  open_vulkan(given());
  Problem p = padded_problem(13, 21, 65, Transpose::kNo, Transpose::kYes, 1.0f, 0.5f);
  p.epilogue = epilogue;
  Product first(p);
  rooftile_vulkan_operands x = vulkan_operands(first, 3);
  Problem q = padded_problem(13, 9, 21, Transpose::kNo, Transpose::kNo);
  q.lda = p.ldc;  // A of the second GEMM is C of the first.
  q.epilogue = epilogue;
  Product second(q);
  rooftile_vulkan_operands y = vulkan_operands(second, 1);
  y.a = x.c;
  const std::size_t bytes =
      std::max(prepared(first, x).workspace_bytes, prepared(second, y).workspace_bytes);
  ASSERT_GT(bytes, 0u);
  x.workspace = y.workspace = put(nullptr, bytes, 0);

  const vk::raii::CommandBuffer commands = program_->commands();
  commands.begin(vk::CommandBufferBeginInfo());
  record(first, x, commands);
  VulkanProgram::barrier(commands);
  record(second, y, commands);
  VulkanProgram::barrier(commands);
  commands.end();
  program_->run(commands);

  fetch_c(first, x);
  first.expect_right();
  second.a = first.c;
  second.stored_a_elements.assign(reinterpret_cast<const char*>(first.c.data()),
                                  reinterpret_cast<const char*>(first.c.data() + first.c.size()));
  fetch_c(second, y);
  second.expect_right();
  // The commands run again after their results are overwritten.
  for (HostVisibleBuffer& held : held_)
    if (*held.buffer == vk::Buffer(y.c.buffer))
      std::memcpy(held.mapped + sizeof(float), second.c_before.data(),
                  second.c.size() * sizeof(float));
  (*program_).run(commands);
  fetch_c(second, y);
}

TEST_F(VulkanInterop, WithoutFeaturesAndWithoutATunedDevice) {
  start(Features::kNone, {});
  open_vulkan(given());
  Product product(padded_problem(33, 17, 65, Transpose::kYes, Transpose::kNo, 2.0f, 0.5f));
  const rooftile_vulkan_operands operands = vulkan_operands(product, 5, Usage::eStorageBuffer);
  // Certified on demand, for this device without features. It needs a workspace, which the operands
  // below do not have: they are recorded with the fallback.
  EXPECT_NE(prepared(product, operands).kernel, short_name(fallback_variant()));
  const vk::raii::CommandBuffer commands = program_->commands();
  commands.begin(vk::CommandBufferBeginInfo());
  record(product, operands, commands);
  VulkanProgram::barrier(commands);
  commands.end();
  program_->run(commands);
  fetch_c(product, operands);
  product.expect_right();
}

TEST_F(VulkanInterop, StructuresOfNewerHeaders) {
  start(Features::kNone, {fallback_variant()});
  for (const std::size_t size : sizes_of_headers<rooftile_vulkan_device>()) {
    SCOPED_TRACE(size);
    rooftile_close(context_);
    open_vulkan(*Resized(given(), size).get());
  }
  const Resized newer(rooftile_vulkan_requirements{}, sizeof(rooftile_vulkan_requirements) + 16);
  std::memset(newer.bytes() + sizeof(rooftile_vulkan_requirements), 0xa5, 16);
  const rooftile_vulkan_device device = given();
  ok(rooftile_vulkan_requirements_get(&device, newer.get()));
  EXPECT_EQ(newer.get()->extension_count, requirements_.extension_count);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(newer.bytes()[sizeof(rooftile_vulkan_requirements) + static_cast<std::size_t>(i)],
              std::byte{0});
  rooftile_vulkan_requirements_free(newer.get());

  Product product(packed_problem(3, 4, 5));
  const ProblemArgs problem(product);
  const rooftile_vulkan_operands operands = vulkan_operands(product, 0);
  for (const std::size_t size : sizes_of_headers<rooftile_vulkan_operands>()) {
    SCOPED_TRACE(size);
    rooftile_prepared result = {.struct_size = sizeof result};
    ok(rooftile_vulkan_prepare(context_, &problem.args, Resized(operands, size).get(), &result));
    EXPECT_EQ(result.kernel, short_name(fallback_variant()));
  }
}

TEST_F(VulkanInterop, StructSizesOfNoHeaderAreRefused) {
  start(Features::kNone, {fallback_variant()});
  const auto expect_refused = [](rooftile_status status, const char* argument, std::size_t size) {
    EXPECT_EQ(status, ROOFTILE_INVALID_ARGUMENT) << size;
    EXPECT_THAT(rooftile_last_error(),
                HasSubstr(fmt::format("{}->struct_size is {}", argument, size)));
  };
  rooftile_vulkan_requirements requirements = {.struct_size = sizeof requirements};
  for (const std::size_t size : sizes_of_no_header<rooftile_vulkan_device>()) {
    rooftile_vulkan_device device = given();
    device.struct_size = size;
    expect_refused(rooftile_vulkan_requirements_get(&device, &requirements), "device", size);
  }
  const rooftile_vulkan_device device = given();
  for (const std::size_t size : sizes_of_no_header<rooftile_vulkan_requirements>()) {
    requirements.struct_size = size;
    expect_refused(rooftile_vulkan_requirements_get(&device, &requirements), "requirements", size);
  }
  open_vulkan(device);
  Product product(packed_problem(3, 4, 5));
  const ProblemArgs problem(product);
  rooftile_vulkan_operands operands = vulkan_operands(product, 0);
  for (const std::size_t size : sizes_of_no_header<rooftile_vulkan_operands>()) {
    operands.struct_size = size;
    rooftile_prepared result = {.struct_size = sizeof result};
    expect_refused(rooftile_vulkan_prepare(context_, &problem.args, &operands, &result), "operands",
                   size);
  }
}

TEST_F(VulkanInterop, KernelsThatNeedWhatIsNotEnabledAreNotChosen) {
  const Variant atomic = parse_variant(std::string(kSplit) + " reduction=atomic");
  if (!device_.limits.float32_atomic_add) GTEST_SKIP() << "the device has no atomic addition";
  for (const Features features : {Features::kNone, Features::kAll}) {
    start(features, {atomic, fallback_variant()});
    open_vulkan(given());
    Product product(packed_problem(16, 32, 64));
    EXPECT_EQ(prepared(product, vulkan_operands(product, 0)).kernel,
              short_name(features == Features::kAll ? atomic : fallback_variant()));
    TearDown();
    held_.clear();
    recordings_.clear();
    program_ = nullptr;
    std::filesystem::remove(database_);
  }
}

TEST_F(VulkanInterop, BuffersWithoutTexelsAreReadByOtherKernels) {
  const Variant texels =
      parse_variant(std::string(kSplit) + " load_path_a=texel load_path_b=texel");
  start(Features::kAll, {texels, fallback_variant()});
  open_vulkan(given());
  Product product(packed_problem(16, 32, 64));
  EXPECT_EQ(prepared(product, vulkan_operands(product, 0)).kernel, short_name(texels));
  EXPECT_EQ(prepared(product, vulkan_operands(product, 0, Usage::eStorageBuffer)).kernel,
            short_name(fallback_variant()));
}

TEST_F(VulkanInterop, BuffersThatCannotBeCopiedFromKeepTheirVectorsTogether) {
  const Epilogue epilogue = parse_epilogue("row_scale+bias_column");
  start(Features::kNone, {fallback_variant()}, epilogue);
  open_vulkan(given());
  Problem p = packed_problem(16, 32, 64);
  p.epilogue = epilogue;
  Product product(p);
  rooftile_vulkan_operands operands = vulkan_operands(product, 0, Usage::eStorageBuffer);
  const ProblemArgs problem(product);
  EXPECT_EQ(rooftile_vulkan_prepare(context_, &problem.args, &operands, nullptr),
            ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("TRANSFER_SRC"));
  operands.bias = operands.row_scale;
  EXPECT_EQ(prepared(product, operands).kernel, short_name(fallback_variant()));
}

TEST_F(VulkanInterop, ResidentCallsRunOnTheProgramsQueue) {
  start(Features::kAll, {parse_variant(kSplit), fallback_variant()});
  struct Lock {
    int depth = 0, uses = 0;
  } lock;
  rooftile_vulkan_device device = given();
  device.queue = *program_->queue();
  device.lock_queue = [](void* user) { ++static_cast<Lock*>(user)->depth; };
  device.unlock_queue = [](void* user) {
    auto* const mine = static_cast<Lock*>(user);
    --mine->depth;
    ++mine->uses;
  };
  device.user = &lock;
  open_vulkan(device);
  Product product(padded_problem(33, 17, 65, Transpose::kYes, Transpose::kNo, 2.0f, 0.5f));
  expect_right(product, 1);
  EXPECT_EQ(lock.depth, 0);
  EXPECT_GT(lock.uses, 0);
}

TEST_F(VulkanInterop, ARecordingKeepsItsPackedOperandAlive) {
  start(Features::kAll, {parse_variant("family=register tile_m=16 tile_n=32 reg_m=4 reg_n=4 "
                                       "unroll_k=4 vector_width_b=4 packed_b=yes")});
  rooftile_vulkan_device device = given();
  device.queue = *program_->queue();
  open_vulkan(device);
  Product product(padded_problem(33, 37, 66, Transpose::kNo, Transpose::kYes, 2.0f, 0.5f));
  const ProblemArgs problem(product);
  rooftile_packed* packed = nullptr;
  {
    const rooftile_resident_operands stored = operands_of(product);
    const rooftile_pack_args args = {
        .struct_size = sizeof args, .operand = ROOFTILE_OPERAND_B, .call = &problem.args};
    ok(rooftile_resident_pack(context_, &args, &stored, &packed));
    release_buffers();
  }
  rooftile_packed_info info = {.struct_size = sizeof info};
  ok(rooftile_packed_query(packed, &info));
  EXPECT_EQ(info.plain_copy, 0);
  rooftile_vulkan_operands operands = vulkan_operands(product, 3);
  operands.b = {};
  const vk::raii::CommandBuffer commands = program_->commands();
  commands.begin(vk::CommandBufferBeginInfo());
  record(product, operands, commands, packed);
  VulkanProgram::barrier(commands);
  commands.end();
  ok(rooftile_packed_release(packed));
  program_->run(commands);
  fetch_c(product, operands);
  product.expect_right();
}

TEST_F(VulkanInterop, AnOperandPackedForTheLibrarysDeviceIsNotRecorded) {
  start(Features::kAll, {fallback_variant()});
  open_vulkan(given());
  Product product(packed_problem(33, 37, 66));
  rooftile_gemm_args call = problem_args(product.problem);
  call.a = product.a.data();
  call.b = product.b.data();
  call.c = product.c.data();
  const rooftile_pack_args args = {
      .struct_size = sizeof args, .operand = ROOFTILE_OPERAND_B, .call = &call};
  rooftile_packed* packed = nullptr;
  ok(rooftile_pack(context_, &args, &packed));
  call.packed = packed;
  ok(rooftile_gemm(context_, &call));
  product.expect_right();

  const rooftile_vulkan_operands operands = vulkan_operands(product, 0);
  ProblemArgs problem(product);
  problem.args.packed = packed;
  const vk::raii::CommandBuffer commands = program_->commands();
  rooftile_recording* recording = nullptr;
  EXPECT_EQ(rooftile_vulkan_record(context_, &problem.args, &operands, *commands, &recording),
            ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(recording, nullptr);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("packed for another device"));
  // Packing a buffer needs the program's queue, which the context was not given.
  rooftile_pack_args of_buffer = args;
  of_buffer.call = &problem.args;
  problem.args.packed = nullptr;
  const rooftile_resident_operands nowhere = {.struct_size = sizeof nowhere};
  rooftile_packed* second = nullptr;
  EXPECT_NE(rooftile_resident_pack(context_, &of_buffer, &nowhere, &second), ROOFTILE_OK);
  EXPECT_EQ(second, nullptr);
  ok(rooftile_packed_release(packed));
}

TEST_F(VulkanInterop, WithoutAQueueNothingIsSubmitted) {
  start(Features::kNone, {fallback_variant()});
  open_vulkan(given());
  Product product(packed_problem(3, 4, 5));
  const rooftile_resident_operands operands = operands_of(product);
  const ProblemArgs problem(product);
  EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr),
            ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("without a queue"));
  release_buffers();
}

TEST_F(VulkanInterop, RefusesInvalidDevices) {
  start(Features::kNone, {});
  const auto refused = [&](const rooftile_vulkan_device& device, rooftile_status status,
                           const char* message) {
    rooftile_context* context = nullptr;
    EXPECT_EQ(rooftile_vulkan_open(nullptr, &device, &context), status) << message;
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
    EXPECT_EQ(context, nullptr);
  };
  refused(with(given(), [&](auto& x) { x.api_version = VK_API_VERSION_1_0; }), ROOFTILE_UNSUPPORTED,
          "1.1 or later");
  rooftile_vulkan_device device = given();
  device.device = VK_NULL_HANDLE;
  refused(device, ROOFTILE_INVALID_ARGUMENT, "device is null");
  refused(with(given(), [&](auto& x) { x.create_info = nullptr; }), ROOFTILE_INVALID_ARGUMENT,
          "create_info is null");
  refused(with(given(), [&](auto& x) { x.queue_family = 1000; }), ROOFTILE_INVALID_ARGUMENT,
          "queue family 1000");
  refused(with(given(), [&](auto& x) { x.struct_size = 4; }), ROOFTILE_INVALID_ARGUMENT,
          "struct_size");
}

TEST_F(VulkanInterop, RefusesAPrecisionThatNeedsTheHost) {
  const ScopedEnvironment exact("ROOFTILE_PRECISION", "exact64");
  start(Features::kNone, {fallback_variant()});
  open_vulkan(given());
  Product product(packed_problem(3, 4, 5));
  const rooftile_vulkan_operands operands = vulkan_operands(product, 0);
  const ProblemArgs problem(product);
  EXPECT_EQ(rooftile_vulkan_prepare(context_, &problem.args, &operands, nullptr),
            ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("the precision is exact64"));
  rooftile_gemm_args args = problem.args;
  const rooftile_guard standard = {.struct_size = sizeof standard,
                                   .precision = ROOFTILE_PRECISION_STANDARD};
  args.guard = &standard;
  ok(rooftile_vulkan_prepare(context_, &args, &operands, nullptr));
}

TEST_F(VulkanInterop, RefusesInvalidOperands) {
  start(Features::kNone, {fallback_variant()});
  open_vulkan(given());
  Product product(packed_problem(3, 4, 5));
  const rooftile_vulkan_operands good = vulkan_operands(product, 0);
  const ProblemArgs problem(product);
  const auto refused = [&](const rooftile_vulkan_operands& operands, const char* message) {
    EXPECT_EQ(rooftile_vulkan_prepare(context_, &problem.args, &operands, nullptr),
              ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
  };
  refused(with(good, [&](auto& x) { x.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT; }),
          "STORAGE_BUFFER_BIT");
  refused(with(good, [&](auto& x) { x.b = x.c; }), "c overlaps b");
  refused(with(good, [&](auto& x) { x.b = x.a, x.b.bytes -= 4; }), "given with two sizes");
  refused(with(good, [&](auto& x) { x.a.bytes = 8; }), "a takes ");
  // Kernels read 32-bit words. The word that holds the third element of A extends beyond the
  // buffer.
  Product halves(packed_problem(1, 1, 3, Transpose::kNo, Transpose::kNo, 1, parse_types("f16")));
  const ProblemArgs half_problem(halves);
  rooftile_vulkan_operands x = good;
  x.a.bytes = 6;
  EXPECT_EQ(rooftile_vulkan_prepare(context_, &half_problem.args, &x, nullptr),
            ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("make the buffer 2 bytes larger"));
  EXPECT_EQ(rooftile_vulkan_record(context_, &problem.args, &good, VK_NULL_HANDLE, nullptr),
            ROOFTILE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace rooftile
