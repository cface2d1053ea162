ELEMENT element_a(uint i, uint p) { return fetch_a(offset_a + i * lda + p); }  // A stored m x k
