// Multiplies an element of A with elements of B.
ELEMENT product(ELEMENT x, ELEMENT y) { return x * y; }
ELEMENT_2 product(ELEMENT x, ELEMENT_2 y) { return x * y; }
ELEMENT_4 product(ELEMENT x, ELEMENT_4 y) { return x * y; }
