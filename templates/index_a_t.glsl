uint index_a(uint i, uint p) { return offset_a + p * lda + i; }  // A stored k x m
