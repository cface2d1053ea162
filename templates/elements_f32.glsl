// Elements of fragments and sums.
#define ELEMENT float
#define ELEMENT_2 vec2
#define ELEMENT_4 vec4
