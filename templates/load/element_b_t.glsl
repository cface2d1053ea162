// One element at a time (family naive). B is stored n x k.
void begin_b(uint j) {}
ELEMENT element_b(uint p, uint j) { return fetch_b(offset_b + j * ldb + p); }
