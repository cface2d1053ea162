// The kernel space: for each family a base, and tables that say how they differ from it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"
#include "generator/space.h"

namespace rooftile {
namespace {

/// The values that most tables of a family share: "tile_m=64,128 unroll_k=8". A name without its
/// _m and _n, or without its _a and _b, stands for both parameters: "tile=64,128" is
/// "tile_m=64,128 tile_n=64,128".
struct Base {
  Family family;
  std::string_view values;
};

/// One FamilySpace. Its values replace those of the base.
struct Table {
  const Base& base;
  const char* purpose;
  int least_invocations, most_invocations;
  std::string_view values;
};

// The order in which points are enumerated: the values of the first parameter change slowest.
constexpr std::string_view kOrder[] = {
    "scope",          "tile_m",      "tile_n",        "tile_k",      "reg_m",
    "reg_n",          "subgroup_m",  "subgroup_n",    "unroll_k",    "dot",
    "split_k",        "reduction",   "subgroups_k",   "tile_batch",  "vector_width_a",
    "vector_width_b", "load_path_a", "load_path_b",   "stage",       "stages",
    "shared_pad",     "prefetch",    "store_map",     "packed_a",    "packed_b",
    "raster",         "edge",        "subgroup_size", "optimization"};

constexpr Base kNaive = {Family::kNaive, "tile_m=4,8,16 tile_n=8,16,32"};

constexpr Base kRegister = {Family::kRegister,
                            "tile_m=8,16,32 tile_n=32,64 reg=4,8 unroll_k=4,8 vector_width=4"};

constexpr Base kTiled = {Family::kTiled,
                         "tile=64,128 tile_k=16 reg_m=8 reg_n=4,8 unroll_k=8 vector_width=4 "
                         "stage=shared stages=2 shared_pad=4"};

// The rules pick the pairs that fit: tile_m is reg_m, and tile_n the columns of a subgroup.
// Column order keeps a slice of the packed B in L2, and unroll_k 8 pays for a blend of every
// accumulator in each trip (lavapipe 22.3).
constexpr Base kBroadcast = {
    Family::kBroadcast,
    "tile_m=16 tile_n=32,64,128,256,512 reg_m=16 reg_n=4,8 unroll_k=8 vector_width=4 "
    "load_path=texel packed=no,yes raster=column subgroup_size=4,8,16,32,64"};

// Decoding and other GEMMs with few rows or columns read the large operand once, so the layout of
// the loads decides. On lavapipe an invocation reads its own columns without shared memory; on
// GPUs invocations lie along k, so that neighbours read neighbouring vectors.
constexpr Base kVector = {Family::kVector, "vector_width=4 load_path=texel"};

// One small matrix is too little work for a workgroup, as with attention heads.
constexpr Base kBatchedSmall = {Family::kBatchedSmall, "tile_batch=2,4,8 vector_width=4"};

// 128 x 128 to 256 x 128 with 4 to 8 subgroups and k from 32 to 64, staged and padded, is the usual
// range on NVIDIA, and 64 x 64 on Intel. The pads are 16 bytes of half precision and of 8-bit
// integers.
constexpr Base kMatrix = {Family::kMatrix,
                          "tile=64,128 tile_k=32 subgroup=32,64 unroll_k=16 vector_width=4 "
                          "stage=shared stages=2 shared_pad=8,16"};

constexpr Base kMatrixDirect = {Family::kMatrix,
                                "tile=32,64,128 tile_k=32 subgroup=32,64 unroll_k=16 "
                                "vector_width=4 load_path=direct raster=row,grouped8"};

constexpr Base kWorkgroupMatrix = {
    Family::kMatrix,
    "scope=workgroup tile=64,128 tile_k=64 subgroup_m=16,32,64 subgroup_n=32,64 unroll_k=64 "
    "vector_width=4 load_path=direct"};

constexpr Table kTables[] = {
    {kNaive, "the baseline", 32, 256, ""},

    // Blocks of 4 x 4 to 8 x 8 sums: smaller ones leave the latency of loads exposed, and larger
    // ones spill registers on mobile GPUs. raster=column at 8 x 32 is the kernel that the browser
    // tuner found for Apple's M1 (4 rows of float4, workgroup 2 x 8).
    {kRegister, "aligned operands in storage buffers", 16, 128, "raster=row,column"},
    // A texel is one vector load on lavapipe 22.3, where a storage buffer costs a branch for each
    // lane: 20 against 8 GFLOP/s.
    {kRegister, "aligned operands in texel buffers", 8, 64,
     "reg_m=4,8,16 load_path=texel raster=row,column"},
    {kRegister, "operands whose ld or offset is no multiple of 4", 16, 64,
     "tile_m=8,16 reg=4 unroll_k=4 vector_width=1,2 load_path=buffer,texel raster=row,column"},

    // 128 x 128 x 8 to 16 with 8 x 8 sums and 256 invocations is the usual range on NVIDIA; smaller
    // tiles leave enough workgroups for small problems and small devices. With tile_k 32 only the
    // smaller tiles fit into 32 KiB twice.
    {kTiled, "aligned operands", 64, 256,
     "tile=32,64,128 tile_k=8,16,32 reg_m=4,8 stages=1,2 shared_pad=0,4 raster=row,column"},
    // A subgroup of 32 (or half of one of 64) computes 32 x 64 to 64 x 64: it reads fewer distinct
    // vectors of shared memory in a step than blocks of 8 x 4 invocations spread over the tile.
    {kTiled, "aligned operands, a block of C for each subgroup", 64, 256,
     "tile_m=64,128,256 tile_k=8,16 subgroup_m=16,32,64 subgroup_n=32,64"},
    // With unroll_k = tile_k the compilers of AMD, NVIDIA and Intel GPUs keep all addresses in
    // offsets of instructions (bench/results/gpu-compilers.md).
    {kTiled, "tiles without an inner loop", 64, 256,
     "tile=64,128 tile_k=16,32 reg_m=4,8 unroll_k=16 stages=1"},
    {kTiled, "deep tiles without an inner loop, for Intel", 64, 256,
     "tile_m=32,64 tile_n=64,128 tile_k=32 reg_m=4,8 unroll_k=32 stages=1"},
    {kTiled, "the same with the next tile fetched ahead", 64, 256,
     "tile_m=128 tile_n=64,128 unroll_k=16"},
    {kTiled, "128 sums an invocation: the fewest loads for a multiplication", 128, 256,
     "tile_m=128,256 tile_n=128 reg_m=16 reg_n=8 unroll_k=16 stages=1"},
    // RDNA3 pairs multiply-adds only in subgroups of 32, and its driver prefers 64.
    {kTiled, "subgroups of 32 where the driver would take 64", 64, 256,
     "tile_m=64,128,256 tile_n=64,128 reg_m=8,16 reg_n=8 unroll_k=16 stages=1 subgroup_size=32"},
    {kTiled, "problems of whole tiles: the cost of the checks", 64, 256,
     "tile_k=8,16 stages=1,2 edge=exact"},
    {kTiled, "operands whose ld or offset is no multiple of 4", 64, 256,
     "tile_m=32,64,128 tile_k=8,16 reg_m=4,8 vector_width=1,2"},

    {kBroadcast, "operands in texel buffers, packed or as stored", 4, 64,
     "tile_m=8,16,32 reg_m=8,16,32 reg_n=4,8,16 unroll_k=4,8 stage=none,subgroup "
     "raster=row,column"},
    {kBroadcast, "packed operands in storage buffers, where texel buffers are too small", 4, 64,
     "tile_m=8,16 reg_m=8,16 load_path=buffer stage=none,subgroup packed_a=yes"},

    {kVector, "few rows, texel buffers", 8, 64,
     "tile_m=1,2,4,8 tile_n=8,16,32 tile_k=4,8,16 reg_m=1,2,4,8 reg_n=1,2,4 unroll_k=4,8,16"},
    // Four lanes along k read 32 neighbouring values of a row of B: .67 to .82 of the time of one
    // lane a column for 1x4096x4096 nt on lavapipe 22.3.
    {kVector, "one row, texel buffers, lanes along k", 8, 32,
     "tile_m=1 tile_n=8 tile_k=32 reg_m=1 reg_n=4 unroll_k=8 stage=shared"},
    {kVector, "few rows, storage buffers, lanes along k", 32, 256,
     "tile_m=1,4,8 tile_n=4,8,16 tile_k=128,256 reg_m=1,4,8 reg_n=1,4 unroll_k=4,8 "
     "load_path=buffer stage=shared"},
    {kVector, "few rows, storage buffers, several columns an invocation", 32, 256,
     "tile_m=1 tile_n=8,16,32 tile_k=256,512 reg_n=2,4 unroll_k=8,16 load_path=buffer "
     "stage=shared"},
    {kVector, "few rows, storage buffers, A through shared memory", 32, 256,
     "tile_m=1,4 tile_n=8,16 tile_k=512,1024 reg_m=1,4 reg_n=1,2 unroll_k=16 load_path=buffer "
     "stage=stored"},
    {kVector, "few columns, texel buffers", 8, 64,
     "tile_m=8,16,32 tile_n=1,4,8 tile_k=8,16 reg_m=1,2,4 reg_n=1,4,8 unroll_k=8,16"},
    {kVector, "few columns, storage buffers, lanes along k", 32, 256,
     "tile_m=4,8,16 tile_n=1,4,8 tile_k=128,256 reg_m=1,4 reg_n=1,4,8 unroll_k=4,8 "
     "load_path=buffer stage=shared"},
    {kVector, "thin operands whose ld or offset is no multiple of 4", 8, 64,
     "tile=1,8,16,64 tile_k=4 reg=1 unroll_k=4 vector_width=1 load_path=buffer,texel"},
    // A word of a quantised B holds 8 or 4 values: a trip takes a word, or a vector of words.
    {kVector, "few rows, a quantised B in texel buffers", 8, 64,
     "tile_m=1,2,4 tile_n=8,16,32,64 tile_k=8,16,32 reg_m=1,2,4 reg_n=1,2,4,8 unroll_k=8,16,32 "
     "vector_width_b=1,4"},
    {kVector, "few rows, a quantised B, lanes along k", 32, 256,
     "tile_m=1,4 tile_n=2,4,8,16 tile_k=256,512,1024 reg_m=1,4 reg_n=1,2 unroll_k=16,32 "
     "vector_width_b=1,4 load_path_a=buffer load_path_b=buffer,texel stage=shared"},
    // Windows of a GGUF file's blocks (generator/layout.h) take 32 to 128 steps. On lavapipe more
    // than 16 rows of B at once displace each other in its caches, hence few lanes along n and two
    // along k.
    {kVector, "few rows, B in blocks in texel buffers", 8, 64,
     "tile_m=1,2,4 tile_n=16,32 tile_k=64,128 reg_m=1,2 reg_n=2,4 unroll_k=64 "
     "stage=none,shared"},
    {kVector, "four rows, B in blocks in texel buffers", 8, 64,
     "tile_m=4 tile_n=16 tile_k=64 reg_m=4 reg_n=2 unroll_k=64"},
    {kVector, "one row, B in blocks in texel buffers, trips of 128", 8, 64,
     "tile_m=1 tile_n=32 tile_k=128 reg_m=1 reg_n=2,4 unroll_k=128"},
    // Eight columns and more are taken in a loop (templates/fragment/multiply.glsl), so
    // that a trip can take 256 steps, which are whole vectors of most formats.
    {kVector, "one row, B in blocks in texel buffers, many columns", 8, 64,
     "tile_m=1 tile_n=64 tile_k=128 reg_m=1 reg_n=8 unroll_k=64 stage=shared"},
    {kVector, "one row, a quantised B in texel buffers, many columns", 8, 64,
     "tile_m=1 tile_n=128,256 tile_k=64,128,256,512 reg_m=1 reg_n=16,32 unroll_k=64,128,256,512"},
    {kVector, "few rows, a quantised B in texel buffers, many columns", 8, 64,
     "tile_m=2,4 tile_n=128 tile_k=64,128,256 reg_m=2,4 reg_n=16 unroll_k=64,128,256"},
    // An invocation's 64 steps share two scales of Q4_K: .70 of the time of two columns and 16
    // steps for 1x4096x14336 nt on an H200, where two columns spill.
    {kVector, "one row, B in blocks, A through shared memory, all loaded ahead", 32, 256,
     "tile_m=1 tile_n=8,16 tile_k=512,1024 reg_m=1 reg_n=1 unroll_k=64,128 load_path=buffer "
     "stage=stored prefetch=ahead"},
    // Two rows and more share the unpacked weights. Where A may be rounded to 8 bits, these are the
    // kernels that do so (generator/unit_operands.h), for as many columns as possible.
    {kVector, "few rows, a quantised B, A through shared memory, long trips", 64, 256,
     "tile_m=1,2,4,8 tile_n=16,32,64 tile_k=512,1024 reg_m=1,2,4,8 reg_n=1,2 unroll_k=64,128 "
     "load_path=buffer stage=stored"},
    {kVector, "few rows, B in blocks, lanes along k", 32, 256,
     "tile_m=1 tile_n=4,8 tile_k=512,1024 reg_m=1 reg_n=1,2 unroll_k=64 load_path=buffer "
     "stage=shared"},

    // Packed dot products: sizes along k count words of four integers.
    {kRegister, "packed dot products, packed operands", 8, 64,
     "tile_m=8,16 dot=4 load_path=buffer,texel packed=yes raster=row,column"},
    {kBroadcast, "packed dot products, packed operands", 4, 64,
     "tile_m=8,16 reg_m=8,16 unroll_k=4,8 dot=4 packed=yes"},
    {kTiled, "packed dot products along k in both operands", 64, 256,
     "tile_k=8,16 reg_m=4,8 dot=4 stages=1,2"},
    {kTiled, "a quantised B, A rounded to 8 bits where that is allowed", 64, 256,
     "tile_k=32 reg_m=4,8 reg_n=8 unroll_k=32 vector_width_b=1 stage=stored stages=1 "
     "prefetch=none,ahead"},
    {kVector, "packed dot products along k in both operands", 8, 256,
     "tile_m=1,8 tile_n=8,16 tile_k=4,8,64 reg_m=1,8 reg_n=1,2,4 unroll_k=4,8 dot=4 "
     "load_path=texel,buffer stage=none,shared"},

    {kMatrix, "matrix units, operands in shared memory", 32, 512,
     "tile=64,128,256 tile_k=32,64 unroll_k=32 stages=1,2"},
    {kMatrix, "matrix units, tiles in the order of the operands, fetched ahead", 32, 512,
     "tile=64,128,256 tile_k=32,64 unroll_k=32,64 stage=stored stages=1 shared_pad=8 "
     "prefetch=ahead raster=row,grouped8"},
    // The model predicts one time for all of them. On an H200 permuted stores take 0.92 to 0.94 of
    // the time, and peeled loops 1.09 to 1.14. Mesa's compiler for NVIDIA moves the sums of a loop
    // that is not peeled.
    {kMatrix, "matrix units, forms of the loop and of the stores", 32, 512,
     "tile_m=128 tile_n=128,256 subgroup=64 unroll_k=32 stage=stored stages=1 shared_pad=8 "
     "prefetch=ahead,peeled store_map=plain,permuted"},
    {kMatrix, "matrix units, one tile, fetched ahead", 32, 512,
     "tile=64,128 tile_k=32,64 unroll_k=32 stages=1 prefetch=ahead,peeled"},
    // Of the tiles that fit into 48 KiB of shared memory twice, 128 x 192 reads memory least.
    {kMatrix, "matrix units, two tiles in the order of the operands", 64, 512,
     "tile_m=128 tile_n=128,192 tile_k=16,32 subgroup_m=64 subgroup_n=48,64 unroll_k=16,32 "
     "stage=stored shared_pad=8 store_map=plain,permuted"},
    // Three parts of 128 x 16 and of 16 x 128 elements take 31 to 36 KiB.
    {kMatrix, "matrix units, float32 operands in parts", 64, 512,
     "tile_k=16,32 stage=stored stages=1,2 shared_pad=8 prefetch=none,ahead"},
    {kMatrix, "matrix units, few tiles: subgroups divide the steps of each", 64, 512,
     "tile=32,64 tile_k=64 subgroups_k=2,4 unroll_k=16,32 stage=shared,stored stages=1 "
     "shared_pad=8 "
     "prefetch=ahead"},
    {kMatrix, "matrix units, small problems and small units", 32, 512,
     "tile=32,64,128 tile_k=16,32 subgroup=16,32 stages=1,2 shared_pad=0,8"},
    {kMatrix, "matrix units, rows of tiles in groups: the gain from cache reuse", 32, 512,
     "tile=128,256 subgroup=64 unroll_k=16,32 stages=1,2 raster=grouped4,grouped8"},
    {kMatrix, "matrix units, operands whose ld or offset is no multiple of 16 bytes", 32, 256,
     "vector_width=1,2"},
    {kMatrixDirect,
     "matrix units, operands packed into fragments: any ld and offset, no shared memory", 32, 256,
     "vector_width=2,4 packed=yes"},
    {kMatrixDirect, "matrix units, problems of whole tiles, operands read as stored", 32, 256,
     "edge=exact"},
    {kMatrix, "matrix units, packed A with B in shared memory", 32, 256,
     "unroll_k=16,32 load_path_a=direct stages=1,2 packed_a=yes"},
    {kMatrix, "matrix units, long k by split-K", 32, 256,
     "tile_m=32,64,128 unroll_k=32 split_k=4,16"},
    // Tiles and depths of ggml-vulkan's kernels for VK_NV_cooperative_matrix2 (256 invocations with
    // 128 x 256 x 64 or 128 x 128 x 64, 128 with 64 x 64 x 64), and those in between.
    {kWorkgroupMatrix, "matrices of whole workgroups, loaded by the driver", 64, 512,
     "tile=64,128,256 unroll_k=32,64 raster=row,grouped8 edge=masked,exact"},
    {kWorkgroupMatrix, "matrices of whole workgroups, long k by split-K", 64, 512, "split_k=4,16"},

    {kBatchedSmall, "batches of small matrices, texel buffers", 8, 128,
     "tile_m=8,16 tile_n=16,32 reg_m=4,8,16 reg_n=4,8 unroll_k=4,8 load_path=texel"},
    {kBatchedSmall, "batches of small matrices, storage buffers", 32, 256,
     "tile=16,32 reg=4 unroll_k=4 vector_width=1,4"},

    // With few tiles and a long k, split-K fills the device.
    {kBroadcast, "long k by split-K", 4, 64, "tile_m=8,16 reg_m=8,16 split_k=4,16,64"},
    {kRegister, "long k by split-K", 16, 64,
     "tile_n=32 unroll_k=4 split_k=4,16,64 load_path=texel"},
    {kTiled, "long k by split-K", 64, 256, "reg_m=4,8 split_k=4,16,64"},
    {kVector, "long k by split-K", 8, 256,
     "tile_m=1,8 tile_n=1,8,16,32 tile_k=8,128 reg_m=1,8 reg_n=1,2,8 unroll_k=4,8 "
     "split_k=4,16,64 load_path=texel,buffer stage=none,shared"},
    // Tried only where results need not repeat bit by bit (`rooftile tune --atomics`).
    {kTiled, "long k by split-K, added atomically", 64, 256, "split_k=4,16 reduction=atomic"},
    {kVector, "long k by split-K, added atomically", 8, 256,
     "tile_m=1,8 tile_n=8,16,32 tile_k=8,128 reg_m=1,8 reg_n=1,2 unroll_k=8 split_k=4,16,64 "
     "reduction=atomic load_path=texel,buffer stage=none,shared"},
    {kBroadcast, "long k by split-K, added atomically", 4, 64, "split_k=4,16 reduction=atomic"},

    {kTiled, "rows of tiles in groups: the gain from cache reuse", 64, 256,
     "raster=grouped4,grouped8,grouped16"},
    {kBroadcast, "rows of tiles in groups: the gain from cache reuse", 4, 64,
     "reg_n=8 packed=yes raster=grouped4,grouped8,grouped16"},

    // spirv-opt costs 100 to 400 ms a shader and gained nothing on lavapipe: one point of a family
    // shows whether a new driver differs.
    {kTiled, "whether spirv-opt helps this driver", 64, 256,
     "reg_n=8 stages=1 optimization=performance"},
    {kBroadcast, "whether spirv-opt helps this driver", 4, 64,
     "reg_n=8 packed=yes optimization=performance"},
};

bool stands_for(std::string_view name, std::string_view parameter) {
  if (name == parameter) return true;
  if (!parameter.starts_with(name)) return false;
  const std::string_view suffix = parameter.substr(name.size());
  return suffix == "_m" || suffix == "_n" || suffix == "_a" || suffix == "_b";
}

std::vector<std::string> split(std::string_view values) {
  std::vector<std::string> result;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = values.find(',', begin);
    result.emplace_back(values.substr(begin, end - begin));
  }
  return result;
}

FamilySpace space_of(const Table& table) {
  const ParameterSettings settings =
      parse_settings(fmt::format("{} {}", table.base.values, table.values));
  for (const auto& setting : settings) {
    const auto stands = [&](auto parameter) { return stands_for(setting.first, parameter); };
    if (std::ranges::none_of(kOrder, stands))
      fail(ErrorCode::kInternal, "the space's tables have no order for parameter '{}'",
           setting.first);
  }
  FamilySpace space = {
      table.base.family, table.purpose, table.least_invocations, table.most_invocations, {}};
  for (const std::string_view parameter : kOrder) {
    const auto last = std::find_if(settings.rbegin(), settings.rend(), [&](const auto& setting) {
      return stands_for(setting.first, parameter);
    });
    if (last != settings.rend())
      space.parameters.push_back({std::string(parameter), split(last->second)});
  }
  return space;
}

}  // namespace

const std::vector<FamilySpace>& space_tables() {
  static const std::vector<FamilySpace> tables = [] {
    std::vector<FamilySpace> spaces;
    for (const Table& table : kTables) spaces.push_back(space_of(table));
    return spaces;
  }();
  return tables;
}

}  // namespace rooftile
