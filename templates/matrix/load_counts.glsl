//: How the loads of a tile of $A divide among a workgroup's invocations, for conditions: $A_ROWS
//: rows of the tile with $A_IN_ROW loads each. WHOLE_LOADS_$A: each invocation has as many as the
//: others. EVEN_LOADS_$A: the loads of an invocation differ by constants, too.
#if $A == B && B_FORMAT == QUANTIZED
#define $A_ROWS TILE_$M
#define $A_IN_ROW (TILE_K * QUANT_BITS / 32)
#elif $A == B && B_FORMAT == BLOCKS
#define $A_ROWS TILE_$M
#define $A_IN_ROW (TILE_K / 4)
#elif PARTS > 1 && ALONG_K_$A
#define $A_ROWS TILE_$M
#define $A_IN_ROW (TILE_K / (SHARED_WORDS * ELEMENTS_PER_WORD))
#elif PARTS > 1
#define $A_ROWS TILE_K
#define $A_IN_ROW (TILE_$M / (SHARED_WORDS * ELEMENTS_PER_WORD))
#elif LOAD_PATH_$A == DIRECT
#define $A_ROWS 0
#define $A_IN_ROW 1
#elif ALONG_K_$A
#define $A_ROWS TILE_$M
#define $A_IN_ROW (TILE_K / ELEMENTS_$A)
#elif STAGE == SHARED
// An invocation transposes the steps of a vector in shared memory if every invocation has some,
// else those of a word.
#define $A_ROWS (TILE_$M / ELEMENTS_$A)
#define $A_TOGETHER (SHARED_WORDS * ELEMENTS_PER_WORD)
#define $A_IN_EACH_ROW (TILE_K / $A_TOGETHER)
#define FILLS_VECTORS_$A (TILE_K % $A_TOGETHER == 0 && $A_ROWS * $A_IN_EACH_ROW >= LOCAL_SIZE)
#define $A_IN_ROW (TILE_K / (FILLS_VECTORS_$A ? $A_TOGETHER : ELEMENTS_PER_WORD))
#else
#define $A_ROWS TILE_K
#define $A_IN_ROW (TILE_$M / ELEMENTS_$A)
#endif
#define WHOLE_LOADS_$A ($A_ROWS * $A_IN_ROW % LOCAL_SIZE == 0)
#define EVEN_LOADS_$A (WHOLE_LOADS_$A && LOCAL_SIZE % $A_IN_ROW == 0)
