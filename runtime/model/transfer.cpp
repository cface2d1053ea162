#include "runtime/model/transfer.h"

#include <limits>

#include "core/enum_words.h"
#include "generator/layout.h"

namespace rooftile {
namespace {

// Elements to which rows of a staged C are padded, whatever its type.
constexpr std::int64_t kRowElementsOfC = 4;

double copy_ns(double bytes, double gbps) { return gbps > 0 ? bytes / gbps : 0; }

/// Matrices of one operand in host memory.
struct Stored {
  Extent extent;
  DataType type;
  std::int64_t ld, stride, matrices;
  double bytes;  // Without gaps between matrices.

  double span_bytes() const {
    const std::int64_t one = span_elements(extent, ld);
    return static_cast<double>(((matrices - 1) * stride + one) * bytes_of(type));
  }
  bool in_whole_loads() const {
    const auto whole = [&](std::int64_t elements) {
      return elements * bytes_of(type) % load_bytes(type) == 0;
    };
    return whole(ld) && (matrices == 1 || whole(stride));
  }
  bool has_no_gaps() const {
    return ld == extent.columns && (matrices == 1 || stride == extent.rows * ld);
  }
};

Stored stored(Extent extent, DataType type, std::int64_t ld, std::int64_t stride,
              std::int64_t batch, double bytes) {
  const std::int64_t matrices = batch > 1 && stride != 0 ? batch : 1;
  return {extent, type, ld, stride, matrices, bytes};
}

/// A possible transfer path of an operand, and its time.
struct Offer {
  TransferPath transfer_path;
  double ns;
};

constexpr double kImpossible = std::numeric_limits<double>::infinity();

/// Returns the fastest offer, the first one among equals.
Offer best(double staged_ns, double copied_ns, double in_place_ns) {
  Offer chosen = {TransferPath::kStaged, staged_ns};
  if (copied_ns < chosen.ns) chosen = {TransferPath::kCopied, copied_ns};
  if (in_place_ns < chosen.ns) chosen = {TransferPath::kInPlace, in_place_ns};
  return chosen;
}

/// Transfer paths of a device for operands in host memory.
class Link {
 public:
  Link(const DeviceRates& rates, double max_binding_bytes)
      : rates_(rates), max_binding_bytes_(max_binding_bytes) {}

  Offer staged_in(double bytes) const {
    return {TransferPath::kStaged, copy_ns(bytes, rates_.upload_gbps)};
  }
  Offer staged_out(double bytes) const {
    return {TransferPath::kStaged, copy_ns(bytes, rates_.download_gbps)};
  }
  /// Offer for A or B. `reads` is how often a kernel without any cache would read it.
  Offer in(const Stored& x, double reads) const {
    const bool whole = x.in_whole_loads();
    return best(staged_in(x.bytes).ns,
                whole && x.has_no_gaps() ? copied_ns(x, rates_.import_upload_gbps) : kImpossible,
                whole ? in_place_ns(x, reads * rates_.import_read_extra_ns) : kImpossible);
  }
  /// Offer for C where beta requires it: the kernel has a copy of its own to write to.
  Offer c_in(const Stored& c) const {
    return best(staged_in(c.bytes).ns, copied_c_ns(c, rates_.import_upload_gbps), kImpossible);
  }
  /// Offer for a C that the device may write.
  Offer c_out(const Stored& c) const {
    // Smaller elements are written together with their neighbours.
    const bool words = bytes_of(c.type) >= 4;
    return best(staged_out(c.bytes).ns, copied_c_ns(c, rates_.import_download_gbps),
                words ? in_place_ns(c, rates_.import_write_extra_ns) : kImpossible);
  }

 private:
  double copied_ns(const Stored& x, double gbps) const {
    return rates_.import_ns > 0 && gbps > 0 ? rates_.import_ns + x.bytes / gbps : kImpossible;
  }
  double copied_c_ns(const Stored& c, double gbps) const {
    const bool as_staged = c.has_no_gaps() && c.extent.columns % kRowElementsOfC == 0;
    return as_staged ? copied_ns(c, gbps) : kImpossible;
  }
  double in_place_ns(const Stored& x, double extra_ns_per_byte) const {
    const double span = x.span_bytes();
    if (rates_.import_ns <= 0 || span > max_binding_bytes_) return kImpossible;
    return rates_.import_ns + span * rates_.import_growth_ns + x.bytes * extra_ns_per_byte;
  }

  const DeviceRates& rates_;
  const double max_binding_bytes_;
};

}  // namespace

std::string_view name(TransferPath transfer_path) {
  static constexpr EnumWords<TransferPath::kInPlace> kWords = {"none", "staged", "copied",
                                                               "in_place"};
  return kWords[transfer_path];
}

OperandBytes operand_bytes(const Problem& p) {
  const double each_a = static_cast<double>(bytes_of(p.types.a)),
               each_b = bytes_per_element_b(p.types);
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n),
               k = static_cast<double>(p.k);
  const double batch = static_cast<double>(p.batch);
  const auto matrices = [&](std::int64_t stride) { return p.batch > 1 && stride == 0 ? 1 : batch; };
  return {m * k * each_a * matrices(p.stride_a),
          (k * n * each_b + static_cast<double>(quantization_bytes(p))) * matrices(p.stride_b),
          m * n * batch * static_cast<double>(bytes_of(p.types.c))};
}

Transfers operator+(const Transfers& first, const Transfers& second) {
  return {.transfer_paths = first.transfer_paths == TransferPaths{} ? second.transfer_paths
                                                                    : first.transfer_paths,
          .in_ns = first.in_ns + second.in_ns,
          .out_ns = first.out_ns + second.out_ns,
          .staged_in_ns = first.staged_in_ns + second.staged_in_ns,
          .staged_out_ns = first.staged_out_ns + second.staged_out_ns,
          .link_bytes = first.link_bytes + second.link_bytes};
}

Transfers transfers(const Problem& p, const OperandPlaces& places, const DeviceRates& rates) {
  const OperandBytes bytes = operand_bytes(p);
  const Link link(rates, places.max_binding_bytes);
  const Stored a = stored(stored_a(p), p.types.a, p.lda, p.stride_a, p.batch, bytes.a),
               b = stored(stored_b(p), p.types.a, p.ldb, p.stride_b, p.batch, bytes.b),
               c = stored({p.m, p.n}, p.types.c, p.ldc, p.stride_c, p.batch, bytes.c);
  Transfers all;
  const auto add_in = [&](double moved, const Offer& offer, TransferPath& transfer_path) {
    all.staged_in_ns += link.staged_in(moved).ns;
    all.in_ns += offer.ns;
    transfer_path = offer.transfer_path;
    if (transfer_path != TransferPath::kInPlace) all.link_bytes += moved;
  };
  if (places.a == Residency::kHost)
    add_in(bytes.a, link.in(a, static_cast<double>(p.n)), all.transfer_paths.a);
  // Kernels find the scales of a quantised B by its rows, which must start at the start of the
  // buffer.
  if (places.b == Residency::kHost)
    add_in(bytes.b,
           quantized(p.types) ? link.staged_in(bytes.b) : link.in(b, static_cast<double>(p.m)),
           all.transfer_paths.b);
  if (places.c != Residency::kHost) return all;
  const bool reads_c = p.beta != 0.0f;
  if (reads_c) add_in(bytes.c, link.c_in(c), all.transfer_paths.c_in);
  // A residual may be C itself, which a retry after a failure would need again.
  const bool may_be_written = !reads_c && !places.c_is_checked && !p.epilogue.residual;
  const Offer staged_out = link.staged_out(bytes.c);
  all.staged_out_ns = staged_out.ns;
  const Offer out = may_be_written ? link.c_out(c) : staged_out;
  all.out_ns = out.ns;
  all.transfer_paths.c_out = out.transfer_path;
  if (all.transfer_paths.c_out != TransferPath::kInPlace) all.link_bytes += bytes.c;
  return all;
}

}  // namespace rooftile
