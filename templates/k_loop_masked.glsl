// Whole trips of UNROLL_K, then short masked ones: a vector along k may reach beyond k, TAIL_K is
// the longest of them.
void multiply_all() {
  uint k0 = 0;
  for (; k0 + UNROLL_K <= k; k0 += UNROLL_K) {
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
  }
  for (; k0 < k; k0 += TAIL_K) {
    load_a_tail(k0);
    load_b_tail(k0);
    multiply(TAIL_K);
  }
}
