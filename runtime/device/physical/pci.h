// GPUs of this machine as the kernel lists them, for whoever must not start a driver to know.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace rooftile {

/// A display controller or processing accelerator, by DeviceProfile's vendor_id and device_id.
struct PciGpu {
  std::uint32_t vendor_id = 0, device_id = 0;
  bool operator==(const PciGpu&) const = default;
};

/// Takes some microseconds for each device of the bus. Empty where there is no such folder.
std::vector<PciGpu> pci_gpus(const std::filesystem::path& devices = "/sys/bus/pci/devices");

}  // namespace rooftile
