#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "core/hash.h"
#include "embed/bound_text.h"
#include "embed/embedding.h"

namespace rooftile {
namespace {

using Json = nlohmann::ordered_json;

Json features_json(std::uint32_t features) {
  constexpr std::array kNames = {
      "float16",         "int8",   "atomic_add", "dot",        "subgroup_size",
      "full_subgroups",  "ballot", "matrix",     "matrix_nv2", "matrix_workgroup",
      "bfloat16_matrix", "texels"};
  Json names = Json::array();
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if ((features >> i & 1) != 0) names.push_back(kNames[i]);
  return names;
}

std::string file_of(const EmbeddedShader& shader) { return hash_hex(shader.code) + ".spv"; }

/// A structure of numbers by name, as the header's tables have it.
Json operand_json(const rte_operand& x) {
  return {{"width", x.width},
          {"line_width", x.line_width},
          {"texel", x.texel},
          {"window", x.window},
          {"from_texels", x.from_texels},
          {"load_bytes", x.load_bytes},
          {"packed", x.packed},
          {"pad_rows", x.pad_rows},
          {"pad_k", x.pad_k},
          {"panel_rows", x.panel_rows},
          {"block", x.block},
          {"along_depth", x.along_depth},
          {"word_steps", x.word_steps},
          {"packed_texels", x.packed_texels},
          {"scale_texels", x.scale_texels}};
}

Json kernel_json(const Embedding& e, const EmbeddedKernel& kernel) {
  const rte_kernel& f = kernel.facts;
  Json parameters = Json::object(), shaders = Json::object();
  for (const auto& [name, value] : rooftile::parameters(kernel.candidate.variant))
    parameters[name] = value;
  const auto add = [&](const char* name, int shader) {
    if (shader >= 0) shaders[name] = file_of(e.shaders[static_cast<std::size_t>(shader)]);
  };
  add("pack_a", f.pack_a);
  add("pack_b", f.pack_b);
  add("gemm", f.gemm);
  add("reduce", f.reduce);
  return {{"name", short_name(kernel.candidate.variant)},
          {"class", kernel.candidate.signature},
          {"hash", kernel.candidate.hash},
          {"parameters", std::move(parameters)},
          {"shaders", std::move(shaders)},
          {"features", features_json(features_of(kernel))},
          {"matrix_shape", f.shape},
          {"narrow_matrix_shape", f.narrow_shape},
          {"shared_bytes", f.shared_bytes},
          {"facts",
           {{"tile_m", f.tile_m},
            {"tile_n", f.tile_n},
            {"tile_batch", f.tile_batch},
            {"split_k", f.split_k},
            {"dot", f.dot},
            {"exact", f.exact},
            {"column", f.column},
            {"atomic", f.atomic},
            {"workgroup_scope", f.workgroup_scope},
            {"local_x", f.local_x},
            {"local_y", f.local_y},
            {"k_step", f.k_step},
            {"divides_k", f.divides_k},
            {"least_k", f.least_k},
            {"slowness", f.slowness},
            {"trips", f.trips},
            {"other_trips", f.other_trips},
            {"a", operand_json(f.a)},
            {"b", operand_json(f.b)}}},
          {"certificates", kernel.certificates}};
}

Json shader_json(const EmbeddedShader& shader) {
  const rte_shader& f = shader.facts;
  Json bindings = Json::array();
  for (int i = 0; i < f.bindings; ++i) bindings.push_back(f.kinds[i]);
  return {{"file", file_of(shader)},
          {"bindings", std::move(bindings)},
          {"push_constants_bytes", f.push_bytes},
          {"subgroup_size", f.subgroup_size},
          {"local_size", f.local_size},
          {"local_x", f.local_x},
          {"features", features_json(static_cast<std::uint32_t>(f.features))}};
}

Json list_json(const EmbeddedList& list) {
  const Selector::Coefficients& c = list.coefficients;
  Json tuned = Json::array(), portfolio = Json::array(), points = Json::array();
  for (const EmbeddedTuned& x : list.tuned)
    tuned.push_back({{"kernel", x.kernel},
                     {"m", x.problem.m},
                     {"n", x.problem.n},
                     {"k", x.problem.k},
                     {"batch", x.problem.batch},
                     {"rank", x.rank},
                     {"is_last_resort", x.is_last_resort},
                     {"ns", x.ns}});
  for (std::size_t i = 0; i < list.portfolio.size(); ++i) {
    const Selector::Coefficients::Kernel& k = c.kernels[i];
    portfolio.push_back({{"kernel", list.portfolio[i]},
                         {"tile_m", k.tile_m},
                         {"tile_n", k.tile_n},
                         {"tile_batch", k.tile_batch},
                         {"split_k", k.split_k},
                         {"constant", k.constant},
                         {"each", k.each},
                         {"step", k.step},
                         {"wave", k.wave},
                         {"mn", k.mn},
                         {"mk", k.mk},
                         {"kn", k.kn}});
  }
  for (const Selector::Coefficients::Point& point : c.points)
    points.push_back({{"at", point.at}, {"weights", point.weights}});
  return {{"device", list.device},       {"class", list.of_class},
          {"tuned", std::move(tuned)},   {"portfolio", std::move(portfolio)},
          {"points", std::move(points)}, {"per_unit", c.per_unit},
          {"variance", c.variance},      {"scale", c.scale}};
}

Json class_json(const EmbeddedClass& x) {
  return {{"name", to_string(x.signature)},
          {"types", to_string(x.signature.types)},
          {"trans_a", x.signature.trans_a == Transpose::kYes},
          {"trans_b", x.signature.trans_b == Transpose::kYes},
          {"epilogue", to_string(x.signature.epilogue)},
          {"bound", bound_text(x.signature)},
          {"bytes_a", x.facts.bytes_a},
          {"b_elements", x.facts.b_elements},
          {"b_bytes", x.facts.b_bytes},
          {"bytes_c", x.facts.bytes_c},
          {"block", x.facts.block},
          {"separate_scales", x.facts.separate_scales},
          {"zero_points", x.facts.zero_points},
          {"most_k", x.facts.most_k},
          {"sums_are_c", x.facts.sums_are_c},
          {"fallback", x.facts.fallback}};
}

/// The words of the push constants, by kind of shader.
Json push_constants_json() {
  const Json epilogue = {"row_scale",   "column_scale",    "bias",      "residual",
                         "ld_residual", "stride_residual", "clamp_low", "clamp_high"};
  return {{"gemm",
           {"m", "n", "depth", "lda", "ldb", "ldc", "alpha", "beta", "base_a", "base_b", "base_c",
            "stride_a", "stride_b", "stride_c", "step_a", "step_b", "batch", "split_depth"}},
          {"pack", {"rows", "depth", "ld", "base", "stride", "panel_stride"}},
          {"reduce",
           {"m", "n", "ldc", "ld_partial", "alpha", "beta", "offset_c", "stride_c", "first_partial",
            "batch", "partials"}},
          {"epilogue", epilogue}};
}

/// What a program in another language must know of the rest. The names of facts are those of
/// embed/header/tables.h, and embed/header/plan.h and choose.h compute with them in C.
Json guide_json() {
  return {
      {"entry_point", "main, descriptor set 0"},
      {"bindings",
       {{"pack_a", "A, packed A"},
        {"pack_b", "B, packed B, then scales and zero points where separate_scales"},
        {"gemm",
         "A or packed A, B or packed B, C or partial sums; then scales and zero points where B is "
         "quantised with separate_scales and not packed; then vectors and residual of an epilogue "
         "where split_k is 1"},
        {"reduce", "partial sums, C, then vectors and residual of an epilogue"},
        {"numbers", "0: storage buffer, else the VkFormat of a uniform texel buffer"}}},
      {"order", "clear partial sums (atomic), pack, barrier, gemm, barrier, reduce"},
      {"grid_of_gemm",
       "ceil(n / tile_n) in x and ceil(m / tile_m) in y (exchanged where column), ceil(batch / "
       "tile_batch) * slices of k in z"},
      {"push_constants",
       "32-bit words in the listed order; alpha, beta and the clamp are floats; gemm and reduce "
       "are followed by epilogue where the class has one and they store C. gemm counts A and B in "
       "steps, which are words of dot elements; all else counts elements from the binding"},
      {"values",
       {{"depth",
         "of gemm: steps of k, ceil(k / dot), or a range of them where k is cut; of pack: k in "
         "elements"},
        {"step_a, step_b", "from one step of k to the next; panel_rows in a packed operand"},
        {"split_depth",
         "steps of a slice of k: ceil(depth / split_k) rounded up to k_step, or depth where "
         "split_k is 1. There are ceil(depth / split_depth) slices, and one where k is 0"},
        {"packed operand",
         "rows of A, or columns of B, rounded up to pad_rows, times steps of k rounded up to "
         "pad_k. The latter is lda or ldb; the product is stride_a or stride_b, but 0 where all "
         "products share the matrix, and divided by word_steps it is panel_stride"},
        {"partial sums",
         "float32, or int32 for integers: [slice][product][m][ld_partial] for the products of a "
         "gemm dispatch, ld_partial = n rounded up to 4. Dispatches of further products follow at "
         "first_partial. gemm has alpha 1 and beta 0 for them. partials is the number of slices, "
         "but 1 where atomic: all slices add to the same zeros"},
        {"reduce",
         "runs where there are several slices, where atomic, and where split_k is over 1 and the "
         "class has an epilogue or sums_are_c is false"},
        {"cutting k",
         "where divides_k: ranges of a multiple of k_step steps, a barrier before each, and beta 1 "
         "from the second on. Without a matrix shape, panel i of a packed operand is looked for "
         "behind i panels of the dispatch's depth: dispatches for a part of k take one panel"}}},
      {"choice",
       "of the list of this vendor, product and driver_id, with this driver_version or else the "
       "newest, the first kernel that fits: tuned on these sizes, by rank, but is_last_resort; the "
       "portfolio, by predicted time; tuned on the nearest sizes (squared distance in log2 of m, "
       "n, k, batch), is_last_resort behind the others. Else the class's fallback. Predicted ns: "
       "(constant + workgroups * (each + k * step) + k * wave * ceil(workgroups * per_unit) + "
       "batch * (m n mn + m k mk + k n kn)) * exp(sum over points of weight * variance / (1 + "
       "scale * squared distance from at))"},
      {"subgroup_size", "to be required where it is not 0, with full subgroups"},
      {"arithmetic", "a header of the same kernels has it as C: rte_fits, rte_plan, rte_choose"}};
}

Json description(const Embedding& e, const std::string& command) {
  Json devices = Json::array(), classes = Json::array(), kernels = Json::array(),
       shaders = Json::array(), shapes = Json::array(), lists = Json::array();
  for (const DeviceProfile& x : e.devices)
    devices.push_back({{"name", x.name},
                       {"driver", x.driver_info},
                       {"vendor_id", x.vendor_id},
                       {"product_id", x.device_id},
                       {"driver_id", x.driver_id},
                       {"driver_version", x.driver_version}});
  for (const EmbeddedClass& x : e.classes) classes.push_back(class_json(x));
  for (const EmbeddedKernel& x : e.kernels) kernels.push_back(kernel_json(e, x));
  for (const EmbeddedShader& x : e.shaders) shaders.push_back(shader_json(x));
  for (const rte_shape& x : e.shapes)
    shapes.push_back({{"m", x.m},
                      {"n", x.n},
                      {"k", x.k},
                      {"operand", x.operand},
                      {"sum", x.sum},
                      {"workgroup_invocations", x.invocations}});
  for (const EmbeddedList& x : e.lists) lists.push_back(list_json(x));
  return {{"format", "rooftile-embed"},
          {"version", 1},
          {"made_by", command},
          {"guide", guide_json()},
          {"devices", std::move(devices)},
          {"classes", std::move(classes)},
          {"kernels", std::move(kernels)},
          {"shaders", std::move(shaders)},
          {"matrix_shapes", std::move(shapes)},
          {"lists", std::move(lists)},
          {"push_constants", push_constants_json()}};
}

}  // namespace

std::vector<SpirvFile> spirv_files(const Embedding& embedding, const std::string& command) {
  std::vector<SpirvFile> files;
  for (const EmbeddedShader& shader : embedding.shaders)
    files.push_back({file_of(shader), std::string(reinterpret_cast<const char*>(shader.code.data()),
                                                  4 * shader.code.size())});
  files.push_back(
      {"kernels.json",
       description(embedding, command).dump(1, ' ', false, Json::error_handler_t::replace) + "\n"});
  return files;
}

}  // namespace rooftile
