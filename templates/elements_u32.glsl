// Elements of fragments whose operands are unsigned: the same bits as int, since sums stay below
// 2^31.
#define ELEMENT uint
#define ELEMENT_2 uvec2
#define ELEMENT_4 uvec4
