// The kernels of tuning databases as data that another program can carry: which kernels, for which
// devices and products, and how they are chosen. Reads databases and compiles; opens no device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "db/store.h"
#include "embed/embedded_shader.h"
#include "embed/header/tables.h"
#include "generator/signature.h"
#include "runtime/model/selector.h"

namespace rooftile {

/// What is taken of a database. Empty lists: everything.
struct EmbedFilter {
  std::vector<Problem> problems;  ///< Tuned problems of these sizes, in these classes.
  std::vector<Types> types;
};

struct EmbeddedKernel {
  CandidateRecord candidate;
  rte_kernel facts = {};
  std::vector<std::string> certificates;  ///< "DEVICE (DRIVER): TIME".
  bool needs_multiples = false;           ///< Of its matrix shape: no device has that itself.
};

/// ROOFTILE_EMBED_... that the kernel needs of a program's device.
std::uint32_t features_of(const EmbeddedKernel& kernel);

/// A class of products, whose kernels are consecutive.
struct EmbeddedClass {
  Signature signature;
  std::string enumerator;  ///< "F32_NT", of the class's text "f32.nt".
  rte_class facts = {};
};

struct EmbeddedTuned {
  std::size_t kernel;
  Problem problem;
  int rank;
  bool is_last_resort;
  double ns;  ///< Packing included.
};

/// The kernels of a class on a device.
struct EmbeddedList {
  std::size_t device, of_class;
  std::vector<EmbeddedTuned> tuned;     ///< In the order of the ranking.
  std::vector<std::size_t> portfolio;   ///< Kernels in the selector's order.
  Selector::Coefficients coefficients;  ///< Of the portfolio.
};

/// Lists of a database that were left out, for a reason that its owner can do something about.
struct LeftOut {
  std::string device, reason;
  std::size_t kernels = 0;
};

struct Embedding {
  std::vector<DeviceProfile> devices;
  std::vector<EmbeddedClass> classes;
  std::vector<EmbeddedKernel> kernels;
  std::vector<EmbeddedShader> shaders;
  std::vector<rte_shape> shapes;
  std::vector<EmbeddedList> lists;
  std::uint32_t features = 0;  ///< ROOFTILE_EMBED_..., of all kernels.
  std::vector<LeftOut> left_out;
  std::size_t missing = 0;  ///< Problems of the filter that no device has tuned.
  std::size_t grouped = 0;  ///< Problems of the filter, or lists without one, that are for groups.

  std::size_t spirv_bytes() const;
  /// Bytes of a kernel's modules, which others may share.
  std::size_t spirv_bytes(const EmbeddedKernel& kernel) const;
};

/// A database with the devices that are taken of it.
struct EmbedSource {
  const Store* store;
  std::vector<DeviceRecord> devices;
};

/// Certifies the plain kernel of a class now, where no database has: returns by which device and
/// when ("DEVICE (DRIVER): TIME"), or nothing where it could not. Empty: nobody can.
using CertifyPlain = std::function<std::optional<std::string>(const CandidateRecord& candidate)>;

/// Takes the kernels that may be dispatched: certified, not black-listed, and of this version of
/// the generator. A database without any certificate of a device is an export, whose lists hold
/// what was certified on the machine that measured them. Groups are left out. Of a ranked list come
/// as many kernels as it takes to find one for any sizes, alignment and buffers that a binding can
/// hold, and the last resort. Of a class on two equal devices (vendor, product, driver, version)
/// the list of the first one is taken. Throws
/// kUnsupported where nothing is left, kDatabase, kCompile.
Embedding make_embedding(std::span<const EmbedSource> sources, const EmbedFilter& filter,
                         const CertifyPlain& certify_plain = {});

/// The header's text for `rooftile embed -o`; command is how it was made.
std::string c_header(const Embedding& embedding, const std::string& command);

/// The same for programs in other languages: each module as HASH.spv, and kernels.json, which
/// describes what the header knows.
struct SpirvFile {
  std::string name, bytes;
};
std::vector<SpirvFile> spirv_files(const Embedding& embedding, const std::string& command);

}  // namespace rooftile
