/* ---- Code: modules as differences between words, in which repetitions are left out ---- */

static uint32_t rte_get(const uint8_t** from) {
  uint32_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const uint32_t byte = *(*from)++;
    value |= (byte & 127) << shift;
    if (byte < 128) break;
  }
  return value;
}

/* The differences of all modules; free() them. NULL: no memory. */
static uint8_t* rte_unpack(void) {
  uint8_t* const bytes = (uint8_t*)malloc(RTE_UNPACKED);
  const uint8_t* from = rte_code;
  size_t end = 0;
  while (bytes != NULL && end < RTE_UNPACKED) {
    const size_t plain = rte_get(&from);
    memcpy(bytes + end, from, plain);
    from += plain;
    end += plain;
    if (end == RTE_UNPACKED) break;
    const size_t repeated = (size_t)rte_get(&from) + 4, distance = rte_get(&from);
    for (size_t i = 0; i < repeated; ++i, ++end) bytes[end] = bytes[end - distance];
  }
  return bytes;
}

/* The words of a module from its differences. NULL: no memory. */
static uint32_t* rte_module(const uint8_t* from, size_t words) {
  enum { KINDS = 512, PLACES = 8 };
  uint32_t* const module = (uint32_t*)malloc(4 * words);
  uint32_t* const last = (uint32_t*)calloc(KINDS * PLACES, sizeof *last);
  size_t end = 0;
  if (module == NULL || last == NULL) {
    free(module);
    free(last);
    return NULL;
  }
  while (end < 5) module[end++] = rte_get(&from);
  while (end < words) {
    const uint32_t kind = rte_get(&from), count = rte_get(&from);
    module[end++] = count << 16 | kind;
    for (uint32_t i = 1; i < count && end < words; ++i) {
      uint32_t* const before = &last[kind % KINDS * PLACES + (i < PLACES ? i : PLACES - 1)];
      const uint32_t folded = rte_get(&from);
      *before += (folded & 1) != 0 ? ~(folded >> 1) : folded >> 1;
      module[end++] = *before;
    }
  }
  free(last);
  return module;
}
