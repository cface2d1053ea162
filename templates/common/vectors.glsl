//: The same functions for elements and for vectors of two and four, so that kernels are written once
//: for every vector width.
ELEMENT component(ELEMENT x, uint i) { return x; }
ELEMENT component(ELEMENT_2 x, uint i) { return x[i]; }
ELEMENT component(ELEMENT_4 x, uint i) { return x[i]; }

// x with zeros behind its first count components. It selects, since a multiplication by zero would
// keep NaN and infinity.
ELEMENT keep_first(ELEMENT x, uint count) { return count > 0 ? x : ELEMENT(0); }
ELEMENT_2 keep_first(ELEMENT_2 x, uint count) {
  return mix(ELEMENT_2(0), x, lessThan(uvec2(0, 1), uvec2(count)));
}
ELEMENT_4 keep_first(ELEMENT_4 x, uint count) {
  return mix(ELEMENT_4(0), x, lessThan(uvec4(0, 1, 2, 3), uvec4(count)));
}
