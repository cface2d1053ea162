// C := alpha * sum + beta * C; old is beta * C already.
#define FINISH(T) T finish(T sum, T old, uint row, uint column) { return alpha * sum + old; }
FINISH(float)
FINISH(vec2)
FINISH(vec4)
void begin_epilogue(uint product) {}
