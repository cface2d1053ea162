// Makes the list of tiles of a grouped GEMM (common/problem.glsl) from group sizes that lie on the
// device. Every invocation adds up the sizes until it finds the group of its tile: a few hundred
// additions, for which no invocation waits for another one. Tiles beyond the last group's, and all
// tiles where the sizes do not fit, have no rows.

layout(local_size_x = LOCAL_SIZE) in;
// Byte for byte GroupTilesPushConstants of generator/emit.h.
layout(push_constant) uniform Groups {
  uint groups, rows, experts;
  uint tile_m, tiles;
  uint own_experts;
};
layout(binding = 0, std430) readonly buffer Sizes { uint sizes[]; };
layout(binding = 1, std430) readonly buffer Experts { uint expert_of[]; };
layout(binding = 2, std430) writeonly buffer GroupTiles { uvec4 group_tiles[]; };
layout(binding = 3, std430) writeonly buffer Status { uint status; };

uint expert(uint group) { return own_experts == 1 ? expert_of[group] : group; }

void main() {
  // A grid-stride loop: a grid of any size computes the same.
  for (uint tile = gl_GlobalInvocationID.x; tile < tiles; tile += gl_NumWorkGroups.x * LOCAL_SIZE) {
    uvec4 found = uvec4(0);
    uint first_row = 0, first_tile = 0, state = 0;
    for (uint g = 0; g < groups; ++g) {
      const uint size = sizes[g];
      if (size > rows - first_row) {  // also a negative one: the sum would exceed all rows
        state = 2;
        break;
      }
      const bool known = expert(g) < experts;
      if (!known) state = 1;
      const uint own_tiles = (size + tile_m - 1) / tile_m;
      if (known && tile >= first_tile && tile < first_tile + own_tiles) {
        const uint skipped = (tile - first_tile) * tile_m;
        found = uvec4(expert(g), first_row + skipped, min(tile_m, size - skipped), 0);
      }
      first_row += size;
      first_tile += own_tiles;
    }
    group_tiles[tile] = state == 2 ? uvec4(0) : found;
    if (tile == 0) status = state;
  }
}
