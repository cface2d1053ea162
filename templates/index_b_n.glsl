uint index_b(uint p, uint j) { return offset_b + p * ldb + j; }  // B stored k x n
