// Edge exact: nothing is read outside a tensor (clamp mode 0, undefined), and rows are whole
// vectors of 16 bytes, which tensor_ld tells the driver's compiler.
const uint CLAMP_MODE = 0;
uint tensor_ld(uint ld, uint vector) { return ld / vector * vector; }
