#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace rooftile {

/// The path of lavapipe's manifest, whose name has the machine's architecture in it on Debian 12
/// only.
inline std::string lavapipe_manifest() {
  for (const auto& entry : std::filesystem::directory_iterator("/usr/share/vulkan/icd.d"))
    if (entry.path().filename().string().starts_with("lvp_icd.")) return entry.path().string();
  throw std::runtime_error("there is no lvp_icd.*json in /usr/share/vulkan/icd.d");
}

}  // namespace rooftile
