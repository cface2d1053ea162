// C in int32 for WebGPU.
#define RESULT int
#include "web/c_32.glsl"
