// Nothing is read outside a tensor (clamp mode undefined), whose rows are whole vectors of 16 bytes,
// as the compiler is told here.
const uint OUTSIDE = 0;
uint tensor_ld(uint ld, uint vector) { return ld / vector * vector; }
