// What the sanitizers say of the validation layer 1.3.239 itself is filtered: it keeps its maps
// behind pointers that LeakSanitizer does not see (the instance lives until the process ends), and
// its queue thread unlocks fences that are being destroyed. Nothing else is filtered here, and no
// message of the layer anywhere.
#if defined(__SANITIZE_ADDRESS__)
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libVkLayer_khronos_validation.so";
}
#elif defined(__SANITIZE_THREAD__)
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libVkLayer_khronos_validation.so";
}
#endif
