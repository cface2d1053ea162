uint index_b(uint p, uint j) { return offset_b + j * ldb + p; }  // B stored n x k
