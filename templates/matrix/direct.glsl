//: Tiles of $A whose fragments the matrix unit loads from the storage buffer itself (LOAD_PATH_$A
//: is DIRECT), without shared memory: fetch and put only keep addresses. Only whole tiles are read.
//:
//: PACKED_$A   whether $A is packed, fragment by fragment
//: ALONG_K_$A  if not: whether vectors run along k in memory
layout(binding = $0, std430) readonly buffer Operand$A { VECTOR_$A $a[]; };

// Addresses of the first tile, of the next whole one, of the fetched one, and by stage of those that
// were put: a vector, since compilers keep an array with an unknown index in memory (NAK).
uint $a_first_tile, $a_whole_tile, $a_next_tile;
uvec2 $a_tile;

#if PACKED_$A == YES
// A fragment holds $rows of $A with MATRIX_K steps of k, padded with zeros to whole tiles. ld$a is
// the padded k.
void begin_tiles_$a(uint $row0) { $a_first_tile = $a_whole_tile = offset_$a + $row0 * ld$a; }
void fetch_tile_$a() {
  $a_next_tile = $a_whole_tile;
  $a_whole_tile += TILE_K * MATRIX_$M;
}
void fetch_last_tile_$a(uint k0) { $a_next_tile = $a_first_tile + k0 * MATRIX_$M; }
#if $A == A
#define fragment_a(stage, row, step)                                       \
  coopMatLoadA(a[(a_tile[stage] + (row) * lda + (step) * MATRIX_M) / ELEMENTS_A], \
               CooperativeMatrixLayoutRowMajor, MATRIX_K / ELEMENTS_A)
#else
#define fragment_b(stage, step, column)                                       \
  coopMatLoadB(b[(b_tile[stage] + (column) * ldb + (step) * MATRIX_N) / ELEMENTS_B], \
               CooperativeMatrixLayoutColumnMajor, MATRIX_K / ELEMENTS_B)
#endif

#elif ALONG_K_$A
// A is stored m x k, B n x k.
void begin_tiles_$a(uint $row0) { $a_first_tile = $a_whole_tile = offset_$a + $row0 * ld$a; }
void fetch_tile_$a() {
  $a_next_tile = $a_whole_tile;
  $a_whole_tile += TILE_K;
}
void fetch_last_tile_$a(uint k0) { $a_next_tile = $a_first_tile + k0; }
#if $A == A
#define fragment_a(stage, row, step)                            \
  coopMatLoadA(a[(a_tile[stage] + (row) * lda + (step)) / ELEMENTS_A], \
               CooperativeMatrixLayoutRowMajor, lda / ELEMENTS_A)
#else
#define fragment_b(stage, step, column)                            \
  coopMatLoadB(b[(b_tile[stage] + (column) * ldb + (step)) / ELEMENTS_B], \
               CooperativeMatrixLayoutColumnMajor, ldb / ELEMENTS_B)
#endif

#else
// A is stored k x m, B k x n.
void begin_tiles_$a(uint $row0) { $a_first_tile = $a_whole_tile = offset_$a + $row0; }
void fetch_tile_$a() {
  $a_next_tile = $a_whole_tile;
  $a_whole_tile += TILE_K * ld$a;
}
void fetch_last_tile_$a(uint k0) { $a_next_tile = $a_first_tile + k0 * ld$a; }
#if $A == A
#define fragment_a(stage, row, step)                            \
  coopMatLoadA(a[(a_tile[stage] + (step) * lda + (row)) / ELEMENTS_A], \
               CooperativeMatrixLayoutColumnMajor, lda / ELEMENTS_A)
#else
#define fragment_b(stage, step, column)                            \
  coopMatLoadB(b[(b_tile[stage] + (step) * ldb + (column)) / ELEMENTS_B], \
               CooperativeMatrixLayoutRowMajor, ldb / ELEMENTS_B)
#endif
#endif

void put_tile_$a(uint stage) { $a_tile[stage] = $a_next_tile; }
