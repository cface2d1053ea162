// The dialect of the templates that can be translated to WGSL: what WGSL cannot say is replaced,
// and the rest of a kernel's text is that for Vulkan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rooftile {

/// What the text of a kernel is for: Vulkan, or WebGPU after translation to WGSL.
enum class Dialect : std::uint8_t { kVulkan, kWeb };

/// How the text says how many steps of k a workgroup adds up. WGSL allows barriers only where it is
/// evident that all invocations of a workgroup arrive, which it is not where a loop ends at the
/// value of a variable outside of functions.
enum class WebSteps : std::uint8_t {
  kAll,      // the problem's k, from the uniform buffer: k is not split
  kOfSplit,  // computed from the uniform buffer and the position in the grid
  kOwn       // in a variable, as for Vulkan: for kernels without barriers in the loop over k
};

/// The expanded text with its push constants in a uniform buffer at this binding, with the number
/// of steps as described above, and with constant ends of the loops that multiply. Throws kInternal
/// where the text has no push constants.
std::string web_text(std::string glsl, std::size_t parameters_binding, WebSteps steps);

}  // namespace rooftile
