// STREAM triad: moves 48 bytes a vec4.
vec4 element(uint i) { return read_a(i) + scale * read_b(i); }
