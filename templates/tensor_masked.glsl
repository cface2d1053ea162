// Outside a tensor lie zeros (clamp mode constant, whose value is 0): tiles may hang over every edge.
const uint OUTSIDE = 1;
uint tensor_ld(uint ld, uint vector) { return ld; }
