// Panels of A: GROUP_K steps of k of one row lie together.
void write_block(uint row, uint step, uint padded_depth, mat4 block) {
  const uint panel = row / PANEL_ROWS * (PANEL_ROWS * padded_depth);
  const uint group = step / GROUP_K * (PANEL_ROWS * GROUP_K);
  const uint panel_index =
      first_panel + (panel + group + row % PANEL_ROWS * GROUP_K + step % GROUP_K) / 4;
  [[unroll]] for (uint r = 0; r < 4; ++r) panels[panel_index + r * (GROUP_K / 4)] = block[r];
}
