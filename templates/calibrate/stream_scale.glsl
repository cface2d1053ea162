// STREAM scale: moves 32 bytes a vec4.
vec4 element(uint i) { return scale * read_a(i); }
