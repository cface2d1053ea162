// Four words of four elements each, transposed: element i of word j becomes element j of word i.
void transpose(inout uint x[4]) {
  // Elements 0 and 2, then 1 and 3, of words 0 and 1 and of words 2 and 3.
  const uint even_0 = x[0] & 0xff00ffu | (x[1] & 0xff00ffu) << 8;
  const uint even_2 = x[2] & 0xff00ffu | (x[3] & 0xff00ffu) << 8;
  const uint odd_0 = x[0] >> 8 & 0xff00ffu | x[1] & 0xff00ff00u;
  const uint odd_2 = x[2] >> 8 & 0xff00ffu | x[3] & 0xff00ff00u;
  x[0] = even_0 & 0xffffu | even_2 << 16;
  x[1] = odd_0 & 0xffffu | odd_2 << 16;
  x[2] = even_0 >> 16 | even_2 & 0xffff0000u;
  x[3] = odd_0 >> 16 | odd_2 & 0xffff0000u;
}
