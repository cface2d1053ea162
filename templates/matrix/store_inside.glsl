// Stores the sums of tiles that lie inside of C, where alpha is 1 and beta 0. Without the path for
// other tiles compilers leave the sums in their registers.
#include "epilogue/store_vector.glsl"
#include "matrix/store_direct.glsl"

void store_sums(uvec2 tile, uint row, uint column) { store_fragments(row, column); }
