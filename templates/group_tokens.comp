// Sorts pairs of a token and an expert by expert, in the order of the tokens. A workgroup takes an
// expert: each invocation counts in a range of the pairs those of the expert and those of experts
// before it, so that the sums say where the range's own pairs belong, and no workgroup waits for
// another one. One more workgroup takes the pairs whose expert does not exist: they come last, and
// belong to no group.

layout(local_size_x = LOCAL_SIZE) in;

// Byte for byte GroupTokensPushConstants of generator/emit_rows.h.
layout(push_constant) uniform GroupTokens {
  uint tokens, chosen, experts;
  uint base_experts, ld_experts;
  uint base_sizes;
  uint base_sources;
  uint base_places, ld_places;
  uint base_status;
  uint has_status;
};

layout(binding = 0, std430) readonly buffer Experts { uint expert_of[]; };
layout(binding = 1, std430) writeonly buffer Sizes { uint sizes[]; };
layout(binding = 2, std430) writeonly buffer Sources { uint sources[]; };
layout(binding = 3, std430) writeonly buffer Places { uint places[]; };
layout(binding = 4, std430) writeonly buffer Status { uint status[]; };

#define NO_ROW 0xffffffffu

shared uvec2 partials[LOCAL_SIZE];  // pairs of experts before, pairs of the expert

uint expert(uint pair) {
  return min(expert_of[base_experts + pair / chosen * ld_experts + pair % chosen], experts);
}

void group(uint own) {
  const uint lane = gl_LocalInvocationID.x, pairs = tokens * chosen,
             range = (pairs + LOCAL_SIZE - 1) / LOCAL_SIZE, begin = min(lane * range, pairs),
             end = min(begin + range, pairs);
  uvec2 counts = uvec2(0);
  for (uint pair = begin; pair < end; ++pair) {
    const uint e = expert(pair);
    counts += uvec2(e < own ? 1 : 0, e == own ? 1 : 0);
  }
  barrier();  // The partials of the expert before were read.
  partials[lane] = counts;
  barrier();
  uint row = 0, size = 0;
  for (uint i = 0; i < LOCAL_SIZE; ++i) {
    row += partials[i].x + (i < lane ? partials[i].y : 0);
    size += partials[i].y;
  }
  const bool exists = own < experts;
  if (lane == 0) {
    if (exists)
      sizes[base_sizes + own] = size;
    else if (has_status == 1)
      status[base_status] = size > 0 ? 1 : 0;
  }
  for (uint pair = begin; pair < end; ++pair)
    if (expert(pair) == own) {
      sources[base_sources + row] = exists ? pair / chosen : NO_ROW;
      places[base_places + pair / chosen * ld_places + pair % chosen] = exists ? row : NO_ROW;
      ++row;
    }
}

void main() {
  // A grid-stride loop: a grid of any size computes the same. The condition is the same for the
  // whole workgroup, as barriers need.
  for (uint own = gl_WorkGroupID.x; own <= experts; own += gl_NumWorkGroups.x) group(own);
}
