// Panels of B: all columns of a panel lie together at each step of k (GROUP_K is 1).
void write_block(uint row, uint step, uint padded_depth, mat4 block) {
  const uint panel = row / PANEL_ROWS * (PANEL_ROWS * padded_depth);
  const uint panel_index = first_panel + (panel + step * PANEL_ROWS + row % PANEL_ROWS) / 4;
  const mat4 transposed = transpose(block);
  [[unroll]] for (uint u = 0; u < 4; ++u) panels[panel_index + u * (PANEL_ROWS / 4)] = transposed[u];
}
