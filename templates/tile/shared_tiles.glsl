// Tiles of both operands in shared memory as [step of k][row or column], whatever the operands' own
// layout, so that the inner loop reads vectors of four. SHARED_PAD elements at the end of a row
// keep transposing writes free of bank conflicts.
shared ELEMENT_4 a_tile[STAGES][TILE_K][(TILE_M + SHARED_PAD) / 4];
shared ELEMENT_4 b_tile[STAGES][TILE_K][(TILE_N + SHARED_PAD) / 4];

void put_a(uint stage, uint step, uint row, ELEMENT x) { a_tile[stage][step][row / 4][row % 4] = x; }
void put_a(uint stage, uint step, uint row, ELEMENT_2 x) {
  put_a(stage, step, row, x.x);
  put_a(stage, step, row + 1, x.y);
}
void put_a(uint stage, uint step, uint row, ELEMENT_4 x) { a_tile[stage][step][row / 4] = x; }

void put_b(uint stage, uint step, uint column, ELEMENT x) {
  b_tile[stage][step][column / 4][column % 4] = x;
}
void put_b(uint stage, uint step, uint column, ELEMENT_2 x) {
  put_b(stage, step, column, x.x);
  put_b(stage, step, column + 1, x.y);
}
void put_b(uint stage, uint step, uint column, ELEMENT_4 x) { b_tile[stage][step][column / 4] = x; }
