// Random weights as Q4_K blocks, for transformer_block.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <rooftile/rooftile.hpp>
#include <vector>

constexpr std::int64_t kBlock = 256, kBlockBytes = 144;  // of Q4_K

class Numbers {
 public:
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  float symmetric() { return static_cast<float>(next() % 20001) / 10000 - 1; }

 private:
  std::uint64_t state_ = 1;
};

inline std::vector<char> random_floats(std::int64_t count, Numbers& numbers) {
  std::vector<char> bytes(static_cast<std::size_t>(count) * sizeof(float));
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = numbers.symmetric();
    std::memcpy(bytes.data() + i * std::int64_t{sizeof value}, &value, sizeof value);
  }
  return bytes;
}

/// Rows of random Q4_K blocks that stand for weights of about 1 / sqrt(k).
inline std::vector<char> random_weights(std::int64_t n, std::int64_t k, Numbers& numbers) {
  std::vector<char> bytes(static_cast<std::size_t>(n * k / kBlock * kBlockBytes));
  for (char& byte : bytes) byte = static_cast<char>(numbers.next());
  // Powers of two as half precision. Values average 236 scales, minima 31.5, so that 7.5 times the
  // scale as the unit of the minima makes the mean 0.
  const int exponent = std::min(14, static_cast<int>(std::ceil(std::log2(250 * std::sqrt(k)))));
  const auto scale = static_cast<std::uint16_t>((15 - exponent) << 10),
             minimum = static_cast<std::uint16_t>((17 - exponent) << 10 | 0x380);
  for (std::size_t i = 0; i < bytes.size(); i += kBlockBytes) {
    std::memcpy(bytes.data() + i, &scale, sizeof scale);
    std::memcpy(bytes.data() + i + 2, &minimum, sizeof minimum);
  }
  return bytes;
}

/// Weights of n x k on the device, of each expert where there are experts.
struct Weights {
  Weights(const rooftile::Session& session, std::int64_t rows, std::int64_t columns,
          std::vector<char>& file, Numbers& numbers, std::int64_t experts = 1)
      : n(rows), k(columns) {
    file = random_weights(experts * n, k, numbers);
    buffer = rooftile::DeviceBuffer(session, file.size());
    buffer.upload(file.data(), file.size());
  }
  std::int64_t n, k;
  rooftile::DeviceBuffer buffer;
};
