// Products of a header's kernels on a Vulkan device that the header alone uses, beside float64. One
// program, because the header takes seconds to make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>

#include "core/numbers/random.h"
#include "embedded_library.h"
#include "generator/compiler_work.h"
#include "planted_kernels.h"
#include "tests/support/first_device.h"
#include "tests/support/product.h"
#include "tests/support/scratch.h"
#include "tests/support/swiftshader.h"
#include "tests/support/vulkan_program.h"

namespace rooftile {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr int kProducts = 1000;
constexpr vk::BufferUsageFlags kUsage = vk::BufferUsageFlagBits::eStorageBuffer |
                                        vk::BufferUsageFlagBits::eUniformTexelBuffer |
                                        vk::BufferUsageFlagBits::eTransferDst;
// Every product and every workspace fits.
constexpr std::size_t kBufferBytes = 1 << 24;
constexpr char kByteBehind = 0x5a;

class HeaderOnDevice : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const ScratchFolder scratch;
    Store store(scratch / "kernels.db");
    const DeviceProfile profile = first_device();
    // Drivers take seconds to compile large kernels, and lavapipe minutes where a subgroup holds a
    // large block of a matrix. Kernels that pack are large: they are two more kernels each.
    plant_kernels(store, profile, planted_classes(), is_swiftshader(profile) ? 2 : 4,
                  [](const Variant& v, const Signature& s) {
                    if (v.family == Family::kMatrix && v.subgroup_m * v.subgroup_n > 256)
                      return false;
                    const double most = v.packed_a == Packed::kYes ? 300 : 150;
                    return v.optimization == Optimization::kZero && compiler_work(v, s) < most;
                  });
    const EmbedSource source = {&store, store.devices()};
    made_ = std::make_unique<Embedding>(make_embedding({&source, 1}, {}));
    library_ = std::make_unique<EmbeddedLibrary>(*made_);
    program_ = std::make_unique<VulkanProgram>();
    ASSERT_EQ(library_->get_limits(*program_->instance(), VulkanProgram::kApiVersion,
                                   *program_->physical(), &limits_),
              ROOFTILE_EMBED_OK);
    library_->get_requirements(&limits_, &requirements_);
    program_->make_device(
        {requirements_.extensions, requirements_.extensions + requirements_.extension_count},
        requirements_.features);
    ASSERT_EQ(library_->create(*program_->device(), &limits_, VK_NULL_HANDLE, &embed_),
              ROOFTILE_EMBED_OK);
    for (HostVisibleBuffer& buffer : buffers_) buffer = program_->buffer(kBufferBytes, kUsage);
  }
  static void TearDownTestSuite() {
    library_->destroy(embed_);
    for (HostVisibleBuffer& buffer : buffers_) buffer = {};
    // Debian 12's layer takes what matrix units need for errors.
    if ((limits_.features & ROOFTILE_EMBED_MATRIX) == 0) {
      EXPECT_THAT(program_->messages(), IsEmpty());
    }
    program_ = nullptr;
    library_ = nullptr;
    made_ = nullptr;
  }

  enum { kA, kB, kC, kScales, kZeroPoints, kVectors, kResidual, kWorkspace, kBuffers };

  static rooftile_embed_place place(int buffer, std::uint64_t offset = 0) {
    return {*buffers_[buffer].buffer, offset, kBufferBytes};
  }
  template <typename T>
  static void put(int buffer, std::uint64_t offset, const std::vector<T>& values) {
    ASSERT_LE(offset + values.size() * sizeof(T), kBufferBytes);
    if (!values.empty())
      std::memcpy(buffers_[buffer].mapped + offset, values.data(), values.size() * sizeof(T));
  }

  /// A product of a class, with padded rows, any scalars, and batches.
  static Product random_product(const Signature& s, Random& random) {
    const bool tiles = random.below(3) == 0;  // Of kernels for whole tiles.
    const auto size = [&] {
      return tiles ? std::int64_t{32} << random.below(4)
                   : 1 + static_cast<std::int64_t>(random.below(70));
    };
    const bool whole = s.types.c == DataType::kI32;
    // Nothing to compute, or nothing to multiply.
    const std::uint64_t odd = random.below(40);
    const std::int64_t k = odd == 0 ? 0 : size();
    const float alpha = odd == 1 ? 0.0f : whole || random.below(3) > 0 ? 1.0f : random.symmetric();
    Problem p =
        padded_problem(odd == 2 ? 0 : size(), odd == 3 ? 0 : size(), k, s.trans_a, s.trans_b, alpha,
                       random.below(2) == 0 ? 0.0f
                       : whole              ? 1.0f
                                            : random.symmetric(),
                       s.types);
    if (random.below(2) == 0) {  // Rows that begin at whole vectors.
      p.lda = (p.lda + 15) / 16 * 16;
      if (!quantized(p.types)) p.ldb = (p.ldb + 15) / 16 * 16;
    }
    if (random.below(4) == 0)
      p = padded_batch(p, 2 + static_cast<std::int64_t>(random.below(3)), random.below(2) == 0);
    if (p.batch > 1 && random.below(2) == 0) {
      p.stride_a = (p.stride_a + 15) / 16 * 16;
      if (!quantized(p.types)) p.stride_b = (p.stride_b + 15) / 16 * 16;
    }
    p.epilogue = s.epilogue;
    if (s.epilogue.clamp) {
      p.epilogue.low = -0.5f;
      p.epilogue.high = 1.5f;
    }
    return Product(p);
  }

  /// Uploads the operands, at any offsets.
  static rooftile_embed_operands upload(Product& x, Random& random) {
    const Problem& p = x.problem;
    const std::int64_t bytes_a = bytes_of(p.types.a), bytes_c = bytes_of(p.types.c);
    const auto offset = [&](std::int64_t bytes) {
      return static_cast<std::uint64_t>(bytes) *
             (random.below(2) == 0 ? random.below(9) : 16 * random.below(9));
    };
    rooftile_embed_operands at = {};
    at.a = place(kA, offset(bytes_a));
    at.b = place(kB, quantized(p.types) ? limits_.alignment_bytes : offset(bytes_a));
    at.c = place(kC, offset(bytes_c));
    at.scales = place(kScales, limits_.alignment_bytes);
    at.zero_points = place(kZeroPoints);
    at.workspace = place(kWorkspace, limits_.alignment_bytes);
    put(kA, at.a.offset, x.stored_a_elements);
    put(kB, at.b.offset, x.stored_b_elements);
    put(kScales, at.scales.offset, x.quantization.scales);
    put(kZeroPoints, 0, x.quantization.zero_points);
    if (p.types.c == DataType::kF32)
      put(kC, at.c.offset, x.c);
    else
      put(kC, at.c.offset, x.stored_c_elements);
    at.vectors = place(kVectors, 4 * random.below(20));
    at.row_scale = 1;
    at.column_scale = at.row_scale + static_cast<std::int64_t>(x.row_scale.size()) / 4;
    at.bias = at.column_scale + static_cast<std::int64_t>(x.column_scale.size()) / 4 + 3;
    const auto vector = [&](std::int64_t begin, const std::vector<char>& values) {
      put(kVectors, at.vectors.offset + 4 * static_cast<std::uint64_t>(begin), values);
    };
    vector(at.row_scale, x.row_scale);
    vector(at.column_scale, x.column_scale);
    vector(at.bias, x.bias);
    at.residual = place(kResidual, 4 * random.below(20));
    at.ld_residual = x.ld_residual();
    at.stride_residual = x.stride_residual();
    put(kResidual, at.residual.offset, x.residual);
    return at;
  }

  static void download(Product& x, const rooftile_embed_operands& at) {
    const char* const from = buffers_[kC].mapped + at.c.offset;
    if (x.problem.types.c == DataType::kF32)
      std::memcpy(x.c.data(), from, x.c.size() * sizeof(float));
    else
      std::memcpy(x.stored_c_elements.data(), from, x.stored_c_elements.size());
  }

  static void run(const rooftile_embed_choice& choice, const rooftile_embed_problem& problem,
                  const rooftile_embed_operands& at) {
    ASSERT_EQ(library_->prepare(embed_, &choice), ROOFTILE_EMBED_OK);
    const vk::raii::CommandBuffer commands = program_->commands();
    commands.begin(vk::CommandBufferBeginInfo());
    rooftile_embed_recording* recording = nullptr;
    const rooftile_embed_status status =
        library_->record(embed_, *commands, &choice, &problem, &at, &recording);
    ASSERT_EQ(status, ROOFTILE_EMBED_OK) << library_->status_name(status);
    VulkanProgram::barrier(commands);
    commands.end();
    program_->run(commands);
    library_->release(embed_, recording);
  }

  static inline std::unique_ptr<Embedding> made_;
  static inline std::unique_ptr<EmbeddedLibrary> library_;
  static inline std::unique_ptr<VulkanProgram> program_;
  static inline rooftile_embed_limits limits_ = {};
  static inline rooftile_embed_requirements requirements_ = {};
  static inline rooftile_embed* embed_ = nullptr;
  static inline HostVisibleBuffer buffers_[kBuffers];
};

TEST_F(HeaderOnDevice, KnowsTheDevice) {
  const DeviceProfile profile = first_device();
  const DeviceLimits& d = profile.limits;
  EXPECT_EQ(limits_.vendor_id, profile.vendor_id);
  EXPECT_EQ(limits_.product_id, profile.device_id);
  EXPECT_EQ(limits_.driver_id, profile.driver_id);
  EXPECT_EQ(limits_.driver_version, profile.driver_version);
  EXPECT_EQ(limits_.shared_memory_bytes, d.shared_memory_bytes);
  EXPECT_EQ(limits_.max_workgroup_invocations, d.max_workgroup_invocations);
  EXPECT_THAT(limits_.max_workgroup_size, ElementsAreArray(d.max_workgroup_size));
  EXPECT_THAT(limits_.max_workgroup_count, ElementsAreArray(d.max_workgroup_count));
  EXPECT_EQ(limits_.max_push_constants_bytes, d.max_push_constants_bytes);
  EXPECT_EQ(limits_.max_storage_range_bytes, d.max_storage_buffer_range_bytes);
  EXPECT_EQ(limits_.alignment_bytes,
            std::max({d.storage_buffer_alignment_bytes, d.texel_buffer_alignment_bytes, 16u}));
  EXPECT_GE(limits_.max_storage_bindings, 4u);
  EXPECT_GE(limits_.max_texel_bindings, 4u);
  EXPECT_EQ(limits_.reserved_shared_bytes, d.workgroup_matrix_shared_bytes);
  EXPECT_EQ(limits_.max_texel_elements, d.max_texel_buffer_elements);
  EXPECT_EQ(limits_.max_allocation_bytes, d.max_memory_allocation_bytes);
  EXPECT_EQ(limits_.max_loop_trips, d.max_loop_trips);
  EXPECT_EQ(limits_.subgroup_size, d.subgroup_size);
  EXPECT_EQ(limits_.min_subgroup_size, d.min_subgroup_size);
  EXPECT_EQ(limits_.max_subgroup_size, d.max_subgroup_size);
  EXPECT_EQ(limits_.max_workgroup_subgroups, d.max_workgroup_subgroups);
  const auto has = [&](std::uint32_t bit) { return (limits_.features & bit) != 0; };
  EXPECT_EQ(has(ROOFTILE_EMBED_FLOAT16), d.float16_arithmetic);
  EXPECT_EQ(has(ROOFTILE_EMBED_INT8), d.int8_arithmetic);
  EXPECT_EQ(has(ROOFTILE_EMBED_ATOMIC_ADD), d.float32_atomic_add);
  EXPECT_EQ(has(ROOFTILE_EMBED_DOT), d.integer_dot_product);
  EXPECT_EQ(has(ROOFTILE_EMBED_SUBGROUP_SIZE), d.subgroup_size_control);
  EXPECT_EQ(has(ROOFTILE_EMBED_BALLOT), d.subgroup_broadcast);
  EXPECT_EQ(has(ROOFTILE_EMBED_MATRIX), !d.matrix_shapes.empty());
  EXPECT_EQ(has(ROOFTILE_EMBED_MATRIX_NV2),
            !d.matrix_granularities.empty() || !d.workgroup_matrices.empty());
  EXPECT_EQ(has(ROOFTILE_EMBED_MATRIX_WORKGROUP), !d.workgroup_matrices.empty());
  EXPECT_EQ(has(ROOFTILE_EMBED_BFLOAT16_MATRIX),
            std::ranges::any_of(d.matrix_shapes, [](const MatrixShape& shape) {
              return shape.operand == DataType::kBf16;
            }));
  // Each kernel of the database is legal on the device, so that each shape is offered.
  for (std::size_t i = 0; i < made_->shapes.size(); ++i)
    EXPECT_EQ((limits_.matrix_shapes | limits_.multiple_shapes) >> i & 1, 1u) << i;
  // What is enabled is what kernels need of what is offered.
  for (const EmbeddedKernel& kernel : made_->kernels)
    EXPECT_EQ(features_of(kernel) & ~limits_.features, 0u) << short_name(kernel.candidate.variant);
}

TEST_F(HeaderOnDevice, ComputesRandomProducts) {
  Random random(5);
  std::set<int> used;
  for (int i = 0; i < kProducts; ++i) {
    const std::size_t of_class = static_cast<std::size_t>(i) % made_->classes.size();
    const EmbeddedClass& x = made_->classes[of_class];
    Product product = random_product(x.signature, random);
    rooftile_embed_operands at = upload(product, random);
    const rooftile_embed_problem problem = embedded_problem(of_class, product.problem);
    rooftile_embed_choice choice = {};
    const rooftile_embed_status status = library_->select(&limits_, &problem, &at, &choice);
    ASSERT_EQ(status, ROOFTILE_EMBED_OK)
        << to_string(product.problem) << ": " << library_->status_name(status);
    EXPECT_EQ(choice.is_same_driver, choice.is_tuned);
    // A workspace of the least size, behind which nothing is written.
    if (choice.workspace_bytes > 0) {
      at.workspace.bytes = at.workspace.offset + choice.workspace_bytes;
      std::memset(buffers_[kWorkspace].mapped + at.workspace.bytes, kByteBehind, 64);
    }
    // Long products are cut into several dispatches.
    if (i % 3 == 0) choice.expected_ns = 1e10f;
    // Every second product by a kernel that was not used yet.
    for (int other = x.facts.first_kernel; other < x.facts.first_kernel + x.facts.kernels; ++other)
      if (i % 2 == 1 && !used.contains(other) &&
          library_->fits(other, &limits_, &problem, &at) == ROOFTILE_EMBED_OK) {
        choice.kernel = other;
        at.workspace.bytes = kBufferBytes;
      }
    used.insert(choice.kernel);
    run(choice, problem, at);
    download(product, at);
    product.expect_right();
    if (at.workspace.bytes < kBufferBytes) {
      EXPECT_EQ(buffers_[kWorkspace].mapped[at.workspace.bytes], kByteBehind);
    }
    if (HasFatalFailure()) {
      FAIL() << library_->describe(choice.kernel)->product << " by "
             << library_->describe(choice.kernel)->name;
    }
  }
  EXPECT_GE(used.size(), made_->kernels.size() * 2 / 3) << "of " << made_->kernels.size();
}

TEST_F(HeaderOnDevice, RecordsNothingThatIsWrong) {
  Random random(6);
  const std::size_t of_class = 0;
  Product product = random_product(made_->classes[of_class].signature, random);
  const rooftile_embed_operands at = upload(product, random);
  const rooftile_embed_problem problem = embedded_problem(of_class, product.problem);
  rooftile_embed_choice choice = {};
  ASSERT_EQ(library_->select(&limits_, &problem, &at, &choice), ROOFTILE_EMBED_OK);
  ASSERT_EQ(library_->prepare(embed_, &choice), ROOFTILE_EMBED_OK);
  const vk::raii::CommandBuffer commands = program_->commands();
  commands.begin(vk::CommandBufferBeginInfo());
  rooftile_embed_recording* recording = nullptr;
  const auto status = [&](const rooftile_embed_choice& c, const rooftile_embed_problem& p,
                          const rooftile_embed_operands& o) {
    recording = reinterpret_cast<rooftile_embed_recording*>(1);
    const rooftile_embed_status failed =
        library_->record(embed_, *commands, &c, &p, &o, &recording);
    EXPECT_EQ(recording, nullptr);
    return std::string(library_->status_name(failed));
  };
  const auto with = [&](const std::function<void(rooftile_embed_operands&)>& change) {
    rooftile_embed_operands changed = at;
    change(changed);
    return status(choice, problem, changed);
  };
  using O = rooftile_embed_operands;
  EXPECT_EQ(with([](O& o) { o.c.buffer = VK_NULL_HANDLE; }), "NULL_ARGUMENT");
  EXPECT_EQ(with([](O& o) { o.a.buffer = VK_NULL_HANDLE; }), "NULL_ARGUMENT");
  EXPECT_EQ(with([](O& o) { o.a.bytes = o.a.offset + 4; }), "BUFFER_TOO_SMALL");
  EXPECT_EQ(with([](O& o) { o.c.bytes = o.c.offset; }), "BUFFER_TOO_SMALL");
  EXPECT_EQ(with([](O& o) {
              o.c.buffer = o.a.buffer;
              o.c.offset = o.a.offset;
              o.a.bytes = o.c.bytes = 1 << 30;
            }),
            "BAD_PROBLEM");
  EXPECT_EQ(with([](O& o) { o.c.offset = o.c.bytes + 4; }), "BUFFER_TOO_SMALL");
  rooftile_embed_choice wrong = choice;
  wrong.kernel = static_cast<int>(made_->kernels.size()) - 1;  // Of another class.
  EXPECT_EQ(status(wrong, problem, at), "WRONG_CHOICE");
  wrong.kernel = -1;
  EXPECT_EQ(status(wrong, problem, at), "WRONG_CHOICE");
  rooftile_embed* unprepared = nullptr;
  ASSERT_EQ(library_->create(*program_->device(), &limits_, VK_NULL_HANDLE, &unprepared),
            ROOFTILE_EMBED_OK);
  EXPECT_EQ(library_->record(unprepared, *commands, &choice, &problem, &at, &recording),
            ROOFTILE_EMBED_NOT_PREPARED);
  library_->destroy(unprepared);
  EXPECT_EQ(library_->record(nullptr, *commands, &choice, &problem, &at, &recording),
            ROOFTILE_EMBED_NULL_ARGUMENT);

  // A kernel that needs a workspace.
  bool found = false;
  for (std::size_t k = 0; k < made_->kernels.size(); ++k) {
    const EmbeddedKernel& kernel = made_->kernels[k];
    if (kernel.facts.a.packed == 0) continue;
    const auto class_of = static_cast<std::size_t>(kernel.facts.of_class);
    Problem p = packed_problem(64, 64, 64, made_->classes[class_of].signature.trans_a,
                               made_->classes[class_of].signature.trans_b, 1,
                               made_->classes[class_of].signature.types);
    const rooftile_embed_problem packed = embedded_problem(class_of, p);
    rooftile_embed_operands places = at;
    places.a.offset = places.b.offset = places.c.offset = places.vectors.offset = 0;
    places.residual.offset = 0;
    places.ld_residual = places.stride_residual = 64;
    if (library_->fits(static_cast<int>(k), &limits_, &packed, &places) != ROOFTILE_EMBED_OK)
      continue;
    rooftile_embed_choice packs = {.kernel = static_cast<int>(k)};
    ASSERT_EQ(library_->prepare(embed_, &packs), ROOFTILE_EMBED_OK);
    places.workspace.bytes = places.workspace.offset + 64;
    EXPECT_EQ(status(packs, packed, places), "WORKSPACE_TOO_SMALL");
    places.workspace = at.workspace;
    places.workspace.offset += 4;
    EXPECT_EQ(status(packs, packed, places), "WORKSPACE_TOO_SMALL");
    places.workspace = places.c;
    EXPECT_EQ(status(packs, packed, places), "WORKSPACE_TOO_SMALL");
    found = true;
    break;
  }
  EXPECT_TRUE(found);
  commands.end();
  EXPECT_EQ(recording, nullptr);
  program_->run(commands);  // Nothing.
  download(product, at);
  EXPECT_TRUE(product.c_is_untouched());
}

}  // namespace
}  // namespace rooftile
