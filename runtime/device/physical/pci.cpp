#include "runtime/device/physical/pci.h"

#include <fstream>

#include "core/files/folder.h"

namespace rooftile {
namespace {

/// 0 where it cannot be read.
std::uint32_t number_in(const std::filesystem::path& file) {
  std::uint32_t number = 0;
  std::ifstream(file) >> std::hex >> number;
  return number;
}

bool is_gpu(std::uint32_t class_code) {
  constexpr std::uint32_t kDisplay = 0x03, kAccelerator = 0x12;
  const std::uint32_t base = class_code >> 16;
  return base == kDisplay || base == kAccelerator;
}

}  // namespace

std::vector<PciGpu> pci_gpus(const std::filesystem::path& devices) {
  std::vector<PciGpu> gpus;
  for (const std::string& slot : names_in(devices)) {
    const std::filesystem::path device = devices / slot;
    if (is_gpu(number_in(device / "class")))
      gpus.push_back({number_in(device / "vendor"), number_in(device / "device")});
  }
  return gpus;
}

}  // namespace rooftile
