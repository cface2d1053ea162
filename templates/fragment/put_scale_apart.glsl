// As put_scale.glsl, but a minimum stays what it is: an element is one multiply-add of its value, and the
// quotient of minimum and scale is not needed.
#if HAS_MINIMUM
float b_factor[HELD_COLUMNS][UNROLL_K / STEPS_PER_SCALE],
    b_minimum[HELD_COLUMNS][UNROLL_K / STEPS_PER_SCALE];
#endif

uint put_scale(uint j, uint s, vec2 scale) {
#if HAS_MINIMUM
  b_factor[j][s] = scale.x;
  b_minimum[j][s] = scale.y;
  b_scale[j][s] = 1;
#else
  b_scale[j][s] = scale.x;
#endif
  b_zero_point[j][s] = 0;
  return 0xffffffffu;
}
