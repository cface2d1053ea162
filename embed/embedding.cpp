#include "embed/embedding.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/count_text.h"
#include "core/error.h"
#include "core/spirv_words.h"
#include "embed/header/features.h"
#include "embed/kernel_facts.h"
#include "generator/compile.h"
#include "generator/layout.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/model/calibration.h"
#include "runtime/model/gpu/gpu_generation.h"

namespace rooftile {
namespace {

/// Whether the kernel fits any sizes, leading dimensions, offsets and buffers, as far as bindings
/// can hold them, without features that a program may leave out.
bool takes_any_problem(const Variant& v, const Signature& s) {
  const rte_kernel facts = kernel_facts(v, s);
  const auto takes = [](const rte_operand& x, bool has_blocks) {
    return x.packed == 0 && x.from_texels == 0 && x.scale_texels == 0 &&
           (has_blocks || x.width == 1);
  };
  return facts.exact == 0 && facts.split_k == 1 && facts.tile_batch == 1 && facts.dot == 1 &&
         facts.least_k == 0 && v.family != Family::kMatrix && takes(facts.a, false) &&
         takes(facts.b, quantized(s.types));
}

/// Whether the device has the shape of a matrix kernel only as a multiple of another one.
bool has_only_multiple(const Variant& v, const Signature& s, const DeviceLimits& limits) {
  return v.family == Family::kMatrix && !has_workgroup_scope(v) &&
         std::ranges::none_of(limits.matrix_shapes, [&](const MatrixShape& shape) {
           return has_shape(v, shape) && shape.operand == unit_type(s.types) &&
                  shape.sum == sum_type(s.types);
         });
}

bool is_same(const DeviceProfile& x, const DeviceProfile& y) {
  return x.vendor_id == y.vendor_id && x.device_id == y.device_id && x.driver_id == y.driver_id &&
         x.driver_version == y.driver_version;
}

std::string enumerator_of(const std::string& signature) {
  std::string name;
  for (const char c : signature)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0
                ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                : '_';
  return name;
}

/// The numbers of VkComponentTypeKHR.
int component_type(DataType type) {
  switch (type) {
    case DataType::kF16:
      return 0;
    case DataType::kF32:
      return 1;
    case DataType::kI8:
      return 3;
    case DataType::kI32:
      return 5;
    case DataType::kU8:
      return 7;
    case DataType::kBf16:
      return 1000141000;
    case DataType::kF64:
      break;
  }
  return -1;
}

/// What of a device's rows may be carried.
class Rows {
 public:
  Rows(const Store& store, const DeviceRecord& device, std::vector<LeftOut>& left_out)
      : store_(store), device_(device), left_out_(left_out) {
    is_export_ = count("SELECT count(*) FROM certificates WHERE device_id = {}") == 0;
    for (const BlackListRecord& row : store.black_listed(device.id))
      black_listed_.insert(row.candidate);
  }

  /// The number of kernels that were imported for this device.
  std::size_t imported() const {
    return static_cast<std::size_t>(
        count("SELECT count(DISTINCT candidate_id) FROM imported_winners WHERE device_id = {}"));
  }

  /// When the kernel was certified; nothing where it may not be carried.
  std::optional<std::string> certified_at(const CandidateRecord& candidate) {
    const auto [known, is_new] = known_.try_emplace(candidate.id);
    if (is_new) known->second = look_up(candidate);
    return known->second;
  }

 private:
  std::int64_t count(std::string_view sql) const {
    return std::stoll(store_.query(fmt::format(fmt::runtime(sql), device_.id)).rows.at(0).at(0));
  }

  std::optional<std::string> look_up(const CandidateRecord& candidate) {
    if (black_listed_.contains(candidate.id)) return leave_out("black-listed");
    const Signature signature = parse_signature(candidate.signature);
    if (is_float64(signature.types)) return leave_out("for float64, which no embedded kernel has");
    if (illegal_reason(candidate.variant, device_.profile.limits, signature))
      return leave_out("illegal on it by its limits");
    if (emit_gemm(candidate.variant, signature).hash != candidate.hash)
      return leave_out(
          "of another version of Rooftile's generator (`rooftile tune` on that device renews "
          "them)");
    if (!is_export_ &&
        store_.certificate(device_.id, candidate.id, kGeneratorVersion) != std::optional(true))
      return leave_out("not certified (`rooftile tune` on that device certifies them)");
    const auto newest_in = [&](const char* table) {
      return fmt::format("SELECT created_at FROM {} WHERE device_id = {} AND candidate_id = {}",
                         table, device_.id, candidate.id);
    };
    const auto newest = store_.query(
        fmt::format("SELECT max(created_at) FROM ({})",
                    is_export_ ? newest_in("winners") + " UNION ALL " + newest_in("portfolio")
                               : newest_in("certificates")));
    const std::string at = newest.rows.at(0).at(0).substr(0, sizeof "2026-01-01" - 1);
    return is_export_ ? at + ", by the machine that exported it" : at;
  }

  std::optional<std::string> leave_out(const std::string& reason) {
    const auto same = std::ranges::find_if(left_out_, [&](const LeftOut& x) {
      return x.device == device_.profile.name && x.reason == reason;
    });
    LeftOut& entry = same != left_out_.end()
                         ? *same
                         : left_out_.emplace_back(LeftOut{device_.profile.name, reason});
    ++entry.kernels;
    return std::nullopt;
  }

  const Store& store_;
  const DeviceRecord& device_;
  std::vector<LeftOut>& left_out_;
  bool is_export_ = false;
  std::set<RowId> black_listed_;
  std::map<RowId, std::optional<std::string>> known_;
};

class Builder {
 public:
  Builder(const EmbedFilter& filter, const CertifyPlain& certify_plain)
      : filter_(filter), certify_plain_(certify_plain) {
    for (const Problem& p : filter.problems)
      if (!is_grouped(p)) wanted_.insert(to_string(signature_of(p)));
  }

  void add(const Store& store, const DeviceRecord& device) {
    Rows rows(store, device, made_.left_out);
    if (const std::size_t kernels = rows.imported())
      imported_.push_back({device.profile.name,
                           "imported, which have no certificates; name the exports that they came "
                           "from by --with",
                           kernels});
    const auto known = std::ranges::find_if(
        made_.devices, [&](const DeviceProfile& x) { return is_same(x, device.profile); });
    const auto place = static_cast<std::size_t>(known - made_.devices.begin());
    std::vector<TunedKernel> tuned;
    for (RankedKernel& entry : store.winners(device.id)) {
      tuned_classes_.insert(entry.kernel.candidate.signature);
      if (is_grouped(entry.kernel.problem)) {
        made_.grouped += filter_.problems.empty() && entry.kernel.rank == 0 ? 1 : 0;
        continue;
      }
      if (takes(entry.kernel.problem)) tuned.push_back(std::move(entry.kernel));
    }
    std::set<std::string> seen;
    bool any = false;
    for (const TunedKernel& kernel : tuned)
      if (seen.insert(kernel.candidate.signature).second)
        any = add_list(store, device, rows, tuned, kernel, place) || any;
    if (any && place == made_.devices.size()) made_.devices.push_back(device.profile);
  }

  Embedding finish() {
    for (const LeftOut& x : imported_)
      if (std::ranges::find(made_.devices, x.device, &DeviceProfile::name) == made_.devices.end())
        made_.left_out.push_back(x);
    if (made_.lists.empty()) fail(ErrorCode::kUnsupported, "{}", why_empty());
    for (std::size_t i = 0; i < made_.classes.size(); ++i) add_plain(i);
    sort_by_class();
    for (const Problem& p : filter_.problems) {
      if (is_grouped(p))
        ++made_.grouped;
      else if (takes(p) && !is_tuned(p))
        ++made_.missing;
    }
    for (EmbeddedKernel& kernel : made_.kernels) compile_kernel(kernel);
    return std::move(made_);
  }

 private:
  bool takes(const Problem& p) const {
    const bool type =
        filter_.types.empty() || std::ranges::find(filter_.types, p.types) != filter_.types.end();
    return type && (filter_.problems.empty() || wanted_.contains(to_string(signature_of(p))));
  }
  bool is_wanted(const Problem& p) const {
    return filter_.problems.empty() || std::ranges::any_of(filter_.problems, [&](const Problem& x) {
             return signature_of(x) == signature_of(p) && size_distance(x, p) == 0;
           });
  }
  bool is_tuned(const Problem& p) const {
    return std::ranges::any_of(made_.lists, [&](const EmbeddedList& list) {
      return std::ranges::any_of(list.tuned, [&](const EmbeddedTuned& x) {
        return signature_of(x.problem) == signature_of(p) && size_distance(x.problem, p) == 0;
      });
    });
  }

  std::string why_empty() const {
    if (!filter_.types.empty() &&
        std::ranges::all_of(filter_.types, [](const Types& x) { return is_float64(x); }))
      return "no embedded kernel computes float64";
    if (made_.left_out.empty() && !tuned_classes_.empty()) {
      std::string known;
      for (const std::string& x : tuned_classes_) known += (known.empty() ? "" : ", ") + x;
      return fmt::format(
          "none of the wanted types and problems is tuned, but {}; `rooftile tune` "
          "takes --type, --set and --shapes, too",
          known);
    }
    std::string text = "no tuned kernels to embed";
    for (const LeftOut& x : made_.left_out)
      text += fmt::format("; {} of {} {}", count_text(x.kernels, "kernel"), x.device, x.reason);
    return made_.left_out.empty() ? text + "; run `rooftile tune`" : text;
  }

  /// Adds the class of `like` on a device, if any of its kernels may be carried.
  bool add_list(const Store& store, const DeviceRecord& device, Rows& rows,
                std::span<const TunedKernel> tuned, const TunedKernel& like, std::size_t place) {
    const std::string& signature = like.candidate.signature;
    EmbeddedList list = {.device = place, .of_class = 0};
    std::map<std::string, bool> complete;  // By bucket.
    std::vector<std::pair<CandidateRecord, std::string>> taken;
    const auto take = [&](const CandidateRecord& candidate, const std::string& at) {
      return add_kernel(candidate, fmt::format("{} ({}): {}", device.profile.name,
                                               device.profile.driver_info, at));
    };
    for (const EmbeddedList& x : made_.lists)
      if (x.device == place && to_string(made_.classes[x.of_class].signature) == signature)
        return false;  // An equal device has been taken.
    for (const TunedKernel& kernel : tuned) {
      if (kernel.candidate.signature != signature || !is_wanted(kernel.problem)) continue;
      const bool last_resort = kernel.rank > 0 && kernel.candidate.variant == fallback_variant();
      if (complete[kernel.bucket] && !last_resort) continue;
      const auto at = rows.certified_at(kernel.candidate);
      if (!at) continue;
      list.tuned.push_back({.kernel = take(kernel.candidate, *at),
                            .problem = kernel.problem,
                            .rank = kernel.rank,
                            .is_last_resort = last_resort,
                            .ns = kernel.kernel_ns + kernel.pack_ns});
      complete[kernel.bucket] =
          complete[kernel.bucket] ||
          takes_any_problem(kernel.candidate.variant, parse_signature(signature));
    }
    if (list.tuned.empty()) return false;
    list.of_class = class_of(signature);
    for (const EmbeddedTuned& x : list.tuned)
      note_multiples(made_.kernels[x.kernel], device.profile.limits);
    Calibration calibration = calibration_from_figures(store.latest_calibration(device.id));
    calibration.device.gpu = gpu_generation(device.profile);
    std::vector<MeasuredKernel> measured;
    for (const PortfolioKernel& kernel : store.measured_portfolio(device.id, signature)) {
      if (!kernel.place || measured.size() == Selector::kMostKernels) break;
      const auto at = rows.certified_at(kernel.candidate);
      if (!at) continue;
      list.portfolio.push_back(take(kernel.candidate, *at));
      note_multiples(made_.kernels[list.portfolio.back()], device.profile.limits);
      measured.push_back({kernel.candidate.variant, kernel.times});
    }
    list.coefficients = Selector(like.problem, calibration.device, measured).coefficients();
    for (const CandidateRecord& candidate :
         store.certified_candidates(device.id, kGeneratorVersion, signature))
      if (candidate.variant == fallback_variant())
        if (const auto at = rows.certified_at(candidate)) take(candidate, *at);
    made_.lists.push_back(std::move(list));
    return true;
  }

  static void note_multiples(EmbeddedKernel& kernel, const DeviceLimits& limits) {
    kernel.needs_multiples = kernel.needs_multiples ||
                             has_only_multiple(kernel.candidate.variant,
                                               parse_signature(kernel.candidate.signature), limits);
  }

  std::size_t class_of(const std::string& signature) {
    const auto known = std::ranges::find_if(
        made_.classes, [&](const EmbeddedClass& x) { return to_string(x.signature) == signature; });
    if (known != made_.classes.end())
      return static_cast<std::size_t>(known - made_.classes.begin());
    const Signature parsed = parse_signature(signature);
    made_.classes.push_back({parsed, enumerator_of(signature), class_facts(parsed)});
    return made_.classes.size() - 1;
  }

  std::size_t add_kernel(const CandidateRecord& candidate, const std::string& certificate) {
    const auto known = std::ranges::find_if(
        made_.kernels, [&](const EmbeddedKernel& x) { return x.candidate.hash == candidate.hash; });
    const std::size_t index = static_cast<std::size_t>(known - made_.kernels.begin());
    if (known == made_.kernels.end()) {
      const Signature signature = parse_signature(candidate.signature);
      EmbeddedKernel kernel = {.candidate = candidate,
                               .facts = kernel_facts(candidate.variant, signature)};
      kernel.facts.of_class = static_cast<int>(class_of(candidate.signature));
      made_.kernels.push_back(std::move(kernel));
    }
    std::vector<std::string>& certificates = made_.kernels[index].certificates;
    if (std::ranges::find(certificates, certificate) == certificates.end())
      certificates.push_back(certificate);
    return index;
  }

  /// Adds the plain kernel of a class, which runs on every device, where no database has it.
  void add_plain(std::size_t of_class) {
    const Signature& signature = made_.classes[of_class].signature;
    const CandidateRecord plain = {.hash = emit_gemm(fallback_variant(), signature).hash,
                                   .signature = to_string(signature),
                                   .variant = fallback_variant()};
    const bool known = std::ranges::any_of(
        made_.kernels, [&](const EmbeddedKernel& x) { return x.candidate.hash == plain.hash; });
    if (known || !certify_plain_) return;
    if (const auto certificate = certify_plain_(plain)) add_kernel(plain, *certificate);
  }

  /// Puts the classes into the order of their texts, and the kernels of each together.
  void sort_by_class() {
    std::vector<std::size_t> order(made_.classes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return made_.classes[i].enumerator; });
    std::vector<EmbeddedClass> classes;
    std::vector<EmbeddedKernel> kernels;
    std::vector<std::size_t> new_class(order.size()), new_kernel(made_.kernels.size());
    for (const std::size_t old : order) {
      new_class[old] = classes.size();
      EmbeddedClass& of_class = classes.emplace_back(std::move(made_.classes[old]));
      of_class.facts.first_kernel = static_cast<int>(kernels.size());
      for (std::size_t i = 0; i < made_.kernels.size(); ++i) {
        if (made_.kernels[i].facts.of_class != static_cast<int>(old)) continue;
        new_kernel[i] = kernels.size();
        if (made_.kernels[i].candidate.variant == fallback_variant())
          of_class.facts.fallback = static_cast<int>(kernels.size());
        kernels.push_back(std::move(made_.kernels[i]));
        kernels.back().facts.of_class = static_cast<int>(classes.size()) - 1;
      }
      of_class.facts.kernels = static_cast<int>(kernels.size()) - of_class.facts.first_kernel;
    }
    made_.classes = std::move(classes);
    made_.kernels = std::move(kernels);
    for (EmbeddedList& list : made_.lists) {
      list.of_class = new_class[list.of_class];
      for (EmbeddedTuned& x : list.tuned) x.kernel = new_kernel[x.kernel];
      for (std::size_t& kernel : list.portfolio) kernel = new_kernel[kernel];
    }
    std::ranges::stable_sort(made_.lists, {}, &EmbeddedList::of_class);
    for (std::size_t i = made_.lists.size(); i > 0; --i) {
      rte_class& facts = made_.classes[made_.lists[i - 1].of_class].facts;
      facts.first_list = static_cast<int>(i - 1);
      ++facts.lists;
    }
  }

  void compile_kernel(EmbeddedKernel& kernel) {
    const Variant& v = kernel.candidate.variant;
    const Signature s = parse_signature(kernel.candidate.signature);
    rte_kernel& facts = kernel.facts;
    facts.gemm = add_shader(emit_gemm(v, s));
    if (v.packed_a == Packed::kYes) facts.pack_a = add_shader(emit_pack(v, s, Operand::kA));
    if (v.packed_b == Packed::kYes) facts.pack_b = add_shader(emit_pack(v, s, Operand::kB));
    if (v.split_k > 1) facts.reduce = add_shader(emit_reduce(s));
    for (const int shader : {facts.gemm, facts.pack_a, facts.pack_b, facts.reduce})
      if (shader >= 0)
        facts.features |= made_.shaders[static_cast<std::size_t>(shader)].facts.features;
    if (v.family == Family::kMatrix) {
      const MatrixShape shape = {v.matrix_m, v.matrix_n, v.matrix_k, unit_type(s.types),
                                 sum_type(s.types)};
      facts.shape = add_shape(v, shape);
      if (narrows_fragments(v, s)) {
        MatrixShape narrow = shape;
        narrow.sum = DataType::kF16;
        facts.narrow_shape = add_shape(v, narrow);
      }
    }
    made_.features |= static_cast<std::uint32_t>(facts.features);
    if (kernel.needs_multiples) made_.features |= ROOFTILE_EMBED_MATRIX_NV2;
  }

  /// Kernels of several classes may be the same module. Equal texts may read other texels.
  int add_shader(const Shader& shader) {
    const auto [known, is_new] =
        shaders_.try_emplace({shader.hash, shader.interface.bindings}, made_.shaders.size());
    if (!is_new) return static_cast<int>(known->second);
    EmbeddedShader compiled = embedded_shader(shader);
    const auto same = std::ranges::find_if(made_.shaders, [&](const EmbeddedShader& x) {
      return x.code == compiled.code && x.facts.subgroup_size == compiled.facts.subgroup_size &&
             std::ranges::equal(x.facts.kinds, compiled.facts.kinds);
    });
    known->second = static_cast<std::size_t>(same - made_.shaders.begin());
    if (same == made_.shaders.end()) made_.shaders.push_back(std::move(compiled));
    return static_cast<int>(known->second);
  }

  int add_shape(const Variant& v, const MatrixShape& shape) {
    const rte_shape wanted = {.m = shape.m,
                              .n = shape.n,
                              .k = shape.k,
                              .operand = component_type(shape.operand),
                              .sum = component_type(shape.sum),
                              .invocations = has_workgroup_scope(v) ? local_size(v) : 0};
    const auto key = [](const rte_shape& x) {
      return std::array{x.m, x.n, x.k, x.operand, x.sum, x.invocations};
    };
    const auto known = std::ranges::find(made_.shapes, key(wanted), key);
    if (known != made_.shapes.end()) return static_cast<int>(known - made_.shapes.begin());
    constexpr std::size_t kBits = 64;  // Of rooftile_embed_limits.matrix_shapes.
    if (made_.shapes.size() == kBits)
      fail(ErrorCode::kUnsupported,
           "the kernels use more than {} shapes of matrix units; embed fewer types", kBits);
    made_.shapes.push_back(wanted);
    return static_cast<int>(made_.shapes.size()) - 1;
  }

  const EmbedFilter& filter_;
  const CertifyPlain& certify_plain_;
  std::set<std::string> wanted_, tuned_classes_;  ///< Texts of classes.
  std::vector<LeftOut> imported_;
  std::map<std::pair<std::string, std::vector<BindingKind>>, std::size_t> shaders_;  ///< By hash.
  Embedding made_;
};

}  // namespace

std::uint32_t features_of(const EmbeddedKernel& kernel) {
  return static_cast<std::uint32_t>(kernel.facts.features) |
         static_cast<std::uint32_t>(kernel.needs_multiples ? ROOFTILE_EMBED_MATRIX_NV2 : 0);
}

std::size_t Embedding::spirv_bytes() const {
  std::size_t bytes = 0;
  for (const EmbeddedShader& shader : shaders) bytes += 4 * shader.code.size();
  return bytes;
}

std::size_t Embedding::spirv_bytes(const EmbeddedKernel& kernel) const {
  std::size_t bytes = 0;
  const rte_kernel& f = kernel.facts;
  for (const int shader : {f.gemm, f.pack_a, f.pack_b, f.reduce})
    if (shader >= 0) bytes += 4 * shaders[static_cast<std::size_t>(shader)].code.size();
  return bytes;
}

Embedding make_embedding(std::span<const EmbedSource> sources, const EmbedFilter& filter,
                         const CertifyPlain& certify_plain) {
  Builder builder(filter, certify_plain);
  for (const EmbedSource& source : sources)
    for (auto device = source.devices.rbegin(); device != source.devices.rend(); ++device)
      builder.add(*source.store, *device);  // The newest first.
  return builder.finish();
}

}  // namespace rooftile
