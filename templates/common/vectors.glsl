//: The same functions for elements and for vectors of two and four, so that kernels are written
//: once for every vector width.
#if defined(VECTOR_WIDTH_A)
#define HAS_WIDTH_1 (VECTOR_WIDTH_A == 1 || VECTOR_WIDTH_B == 1)
#define HAS_WIDTH_2 (VECTOR_WIDTH_A == 2 || VECTOR_WIDTH_B == 2)
#define HAS_WIDTH_4 (VECTOR_WIDTH_A == 4 || VECTOR_WIDTH_B == 4)
#else  // load/read_four.glsl
#define HAS_WIDTH_1 0
#define HAS_WIDTH_2 0
#define HAS_WIDTH_4 1
#endif
#if HAS_WIDTH_1
ELEMENT component(ELEMENT x, uint i) { return x; }
#endif
#if HAS_WIDTH_2
ELEMENT component(ELEMENT_2 x, uint i) { return x[i]; }
#endif
#if HAS_WIDTH_4
ELEMENT component(ELEMENT_4 x, uint i) { return x[i]; }
#endif

// x with zeros behind its first count components. It selects, since a multiplication by zero would
// keep NaN and infinity.
#if HAS_WIDTH_1
ELEMENT keep_first(ELEMENT x, uint count) { return count > 0 ? x : ELEMENT(0); }
#endif
#if HAS_WIDTH_2
ELEMENT_2 keep_first(ELEMENT_2 x, uint count) {
  return mix(ELEMENT_2(0), x, lessThan(uvec2(0, 1), uvec2(count)));
}
#endif
#if HAS_WIDTH_4
ELEMENT_4 keep_first(ELEMENT_4 x, uint count) {
  return mix(ELEMENT_4(0), x, lessThan(uvec4(0, 1, 2, 3), uvec4(count)));
}
#endif
