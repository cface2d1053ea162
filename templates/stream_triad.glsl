// Moves 48 bytes an element.
vec4 element(uint i) { return read_a(i) + scale * read_b(i); }
