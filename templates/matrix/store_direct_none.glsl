// Fragments cannot be C: it has another type, an epilogue, or kernels add to it atomically.
bool stores_fragments() { return false; }
void store_fragments(uint row, uint column) {}
