// C in float32 for WebGPU.
#define RESULT float
#include "web/c_32.glsl"
