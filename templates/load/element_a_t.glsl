// One element at a time (family naive). A is stored k x m.
ELEMENT element_a(uint i, uint p) { return fetch_a(offset_a + p * lda + i); }
