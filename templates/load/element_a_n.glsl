// One element at a time (family naive). A is stored m x k.
ELEMENT element_a(uint i, uint p) { return fetch_a(offset_a + i * lda + p); }
