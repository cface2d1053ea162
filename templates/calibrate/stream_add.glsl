// STREAM add: moves 48 bytes a vec4.
vec4 element(uint i) { return read_a(i) + read_b(i); }
