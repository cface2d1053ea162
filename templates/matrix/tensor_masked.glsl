// Edge masked: reads outside a tensor give zeros (clamp mode 1, constant, whose value is 0), so
// tiles may extend beyond every edge.
const uint CLAMP_MODE = 1;
uint tensor_ld(uint ld, uint vector) { return ld; }
