// Moves 32 bytes an element.
vec4 element(uint i) { return scale * read_a(i); }
