// STREAM copy: moves 32 bytes a vec4.
vec4 element(uint i) { return read_a(i); }
