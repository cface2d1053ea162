uint index_a(uint i, uint p) { return offset_a + i * lda + p; }  // A stored m x k
