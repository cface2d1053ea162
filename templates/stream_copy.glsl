// Moves 32 bytes an element.
vec4 element(uint i) { return read_a(i); }
