ELEMENT element_a(uint i, uint p) { return fetch_a(offset_a + p * lda + i); }  // A stored k x m
