// Integer C: C := AB + beta * C, where old is beta * C already.
#define FINISH(T) T finish(T sum, T old, uint row, uint column) { return sum + old; }
FINISH(int)
FINISH(ivec2)
FINISH(ivec4)
void begin_epilogue(uint batch_index) {}
