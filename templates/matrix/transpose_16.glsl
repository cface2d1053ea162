// Two words of two elements each, transposed: element i of word j becomes element j of word i.
void transpose(inout uint x[2]) {
  const uint low = x[0] & 0xffffu | x[1] << 16;
  x[1] = x[0] >> 16 | x[1] & 0xffff0000u;
  x[0] = low;
}
