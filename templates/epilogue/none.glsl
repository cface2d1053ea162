// No epilogue: C := alpha * AB + beta * C, where old is beta * C already.
#define FINISH(T) T finish(T sum, T old, uint row, uint column) { return alpha * sum + old; }
FINISH(float)
FINISH(vec2)
FINISH(vec4)
void begin_epilogue(uint batch_index) {}
