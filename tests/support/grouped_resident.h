// Grouped calls on device buffers, for tests of the runtime: a session, and the operands of a call
// on the device.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <rooftile/rooftile.hpp>
#include <string>
#include <vector>

#include "tests/support/grouped_product.h"
#include "tests/support/scratch.h"

namespace rooftile {

inline const std::vector<Group> kResidentGroups = {{2, 5}, {0, 0}, {3, 1}, {0, 19}, {3, 2}};
inline constexpr std::int64_t kResidentExperts = 5;

class GroupedResident : public ::testing::Test {
 protected:
  GroupedResident() { open(); }
  /// On the database of the folder, which a test may write before it opens a session once more.
  void open() {
    const std::string file = database().string();
    session_ = std::make_unique<Session>(rooftile_options{.database_path = file.c_str()});
  }
  std::filesystem::path database() const { return folder_ / "tuned.db"; }
  /// Copies the operands of a product to the device, and its pointers become places.
  void upload(GroupedProduct& x) {
    const Problem& p = x.test.problem;
    operands_ = {};
    const auto place = [&](const auto& content, std::int64_t offset) {
      const std::size_t bytes = content.size() * sizeof content[0];
      buffers_.emplace_back(*session_, std::max<std::size_t>(bytes, 16));
      if (bytes > 0) buffers_.back().upload(content.data(), bytes);
      return buffers_.back().at(offset);
    };
    const Placement& at = x.x.placement;
    operands_.a = place(x.x.a, at.offset_a);
    operands_.b = place(x.x.b, quantized(p.types) ? bytes_of_b(p.types, at.offset_b) : at.offset_b);
    operands_.c = place(x.x.c, at.offset_c);
    if (has_separate_scales(p.types)) operands_.scales = place(x.x.scales, 0);
    if (p.types.b.zero_point != ZeroPoint::kMiddle)
      operands_.zero_points = place(x.x.zero_points, 0);
    if (x.args.quantization != nullptr) {
      quantization_ = *x.args.quantization;
      quantization_.scales = quantization_.zero_points = nullptr;
      x.args.quantization = &quantization_;
    }
    if (x.args.epilogue != nullptr) {
      const Epilogue& e = p.epilogue;
      const rooftile_place vectors = place(x.x.vectors, 0);
      const auto in_vectors = [&](bool used, std::int64_t offset) {
        return used ? rooftile_place{vectors.buffer, offset} : rooftile_place{};
      };
      operands_.row_scale = in_vectors(e.row_scale, at.offset_row_scale);
      operands_.column_scale = in_vectors(e.column_scale, at.offset_column_scale);
      operands_.bias = in_vectors(e.bias != Bias::kNone, at.offset_bias);
      if (e.residual) operands_.residual = place(x.x.residual, 0);
      epilogue_ = *x.args.epilogue;
      epilogue_.row_scale = epilogue_.column_scale = epilogue_.bias = epilogue_.residual = nullptr;
      x.args.epilogue = &epilogue_;
    }
    x.args.a = x.args.b = nullptr;
    x.args.c = nullptr;
  }
  void download(GroupedProduct& x) {
    ASSERT_EQ(rooftile_buffer_download(operands_.c.buffer, 0, x.after().data(), x.after().size()),
              ROOFTILE_OK);
  }
  /// The sizes and experts of a call as the device has them.
  rooftile_grouped_operands on_device(GroupedProduct& x) {
    const std::vector<std::int32_t> sizes(x.rows.begin(), x.rows.end()),
        experts(x.experts.begin(), x.experts.end());
    sizes_ = DeviceBuffer(*session_, 256), experts_ = DeviceBuffer(*session_, 256);
    status_ = DeviceBuffer(*session_, 16);
    sizes_.upload(sizes.data(), sizes.size() * sizeof sizes[0]);
    experts_.upload(experts.data(), experts.size() * sizeof experts[0]);
    const std::int32_t unset = -1;
    status_.upload(&unset, sizeof unset);
    x.groups.rows = x.groups.experts_of_groups = nullptr;
    return {.rows = sizes_, .experts_of_groups = experts_, .status = status_};
  }
  std::int32_t status() const {
    std::int32_t status = -1;
    status_.download(&status, sizeof status);
    return status;
  }

  ScratchFolder folder_;
  ScopedEnvironment cache_{"ROOFTILE_CACHE", (folder_ / "cache").string()};
  std::unique_ptr<Session> session_;
  std::vector<DeviceBuffer> buffers_;
  DeviceBuffer sizes_, experts_, status_;
  rooftile_resident_operands operands_ = {};
  rooftile_epilogue epilogue_ = {};
  rooftile_quantization quantization_ = {};
};

}  // namespace rooftile
