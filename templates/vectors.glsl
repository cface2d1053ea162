// What elements and vectors of two and four share, so that a kernel is written once for every width.
ELEMENT component(ELEMENT x, uint i) { return x; }
ELEMENT component(ELEMENT_2 x, uint i) { return x[i]; }
ELEMENT component(ELEMENT_4 x, uint i) { return x[i]; }

// The first count components, zero in the others. A select, not a product: NaN and Inf must go.
ELEMENT keep(ELEMENT x, uint count) { return count > 0 ? x : ELEMENT(0); }
ELEMENT_2 keep(ELEMENT_2 x, uint count) {
  return mix(ELEMENT_2(0), x, lessThan(uvec2(0, 1), uvec2(count)));
}
ELEMENT_4 keep(ELEMENT_4 x, uint count) {
  return mix(ELEMENT_4(0), x, lessThan(uvec4(0, 1, 2, 3), uvec4(count)));
}
