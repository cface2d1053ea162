// Tiles of both operands in shared memory as [stage][step of k][row or column], whatever the
// operands' own layout, so that the inner loop reads vectors of four. SHARED_PAD elements at the end
// of a step spread transposing writes over the banks. A slot is the index of a vector of four, and a
// part a component of it.
const uint A_STEP = (TILE_M + SHARED_PAD) / 4, B_STEP = (TILE_N + SHARED_PAD) / 4;  // in vectors
const uint A_STAGE = TILE_K * A_STEP, B_STAGE = TILE_K * B_STEP;
shared ELEMENT_4 a_tile[STAGES * A_STAGE];
shared ELEMENT_4 b_tile[STAGES * B_STAGE];

void put_a(uint slot, uint part, ELEMENT x) { a_tile[slot][part] = x; }
void put_a(uint slot, uint part, ELEMENT_2 x) {
  a_tile[slot][part] = x.x;
  a_tile[slot][part + 1] = x.y;
}
void put_a(uint slot, uint part, ELEMENT_4 x) { a_tile[slot] = x; }

void put_b(uint slot, uint part, ELEMENT x) { b_tile[slot][part] = x; }
void put_b(uint slot, uint part, ELEMENT_2 x) {
  b_tile[slot][part] = x.x;
  b_tile[slot][part + 1] = x.y;
}
void put_b(uint slot, uint part, ELEMENT_4 x) { b_tile[slot] = x; }

// The l-th vector that this invocation loads of a tile of `lines` lines, which the workgroup loads
// in runs of `run` vectors: x is its position in the line, y the line. The first forms are those of
// a fixed position plus a constant, so that compilers need few registers for all l.
uvec2 load_position(uint l, uint run, uint lines) {
  const uint self = gl_LocalInvocationIndex, all_lines = run * lines;
  if (all_lines % LOCAL_SIZE == 0 && LOCAL_SIZE % run == 0) {
    const uint loads = all_lines / LOCAL_SIZE;
    return uvec2(self % run + l / loads * run, self / run + l % loads * (LOCAL_SIZE / run));
  }
  if (LOCAL_SIZE % all_lines == 0) {
    const uint runs = LOCAL_SIZE / all_lines;
    return uvec2(self % run + self / all_lines * run + l * runs * run, self / run % lines);
  }
  const uint v = self + l * LOCAL_SIZE;
  return uvec2(v % run + v / all_lines * run, v / run % lines);
}
