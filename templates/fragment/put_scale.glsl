// Takes a scale and a minimum as the s-th scale and zero point of a column. A value that makes an
// element 0 is the zero point exactly. Without a scale all elements are minus the minimum: the
// values become 0 by the returned mask.
uint put_scale(uint j, uint s, vec2 scale) {
#if HAS_MINIMUM
  const float zero = scale.x == 0 ? scale.y : scale.y / scale.x, whole = round(zero);
  b_zero_point[j][s] = scale.x != 0 && whole * scale.x == scale.y ? whole : zero;
  b_scale[j][s] = scale.x == 0 ? 1 : scale.x;
  return scale.x == 0 ? 0 : 0xffffffffu;
#else
  b_scale[j][s] = scale.x;
  b_zero_point[j][s] = 0;
  return 0xffffffffu;
#endif
}
