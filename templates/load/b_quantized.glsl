// Stands for load/b_*.glsl where B is quantised: load/quantized.glsl reads it then.
