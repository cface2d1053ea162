// Elements of fragments and sums: exact integers.
#define ELEMENT int
#define ELEMENT_2 ivec2
#define ELEMENT_4 ivec4
