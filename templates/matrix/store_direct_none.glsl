// C is not the sums as they are: it has another type, an epilogue, or kernels add to it atomically.
bool stores_fragments() { return false; }
void store_fragments(uint row, uint column) {}
