// What the sanitizers say of libraries that are not built with them, and that is not so. Nothing
// else is filtered here, and no message of the validation layer anywhere.
//
// Validation layer 1.3.239: it keeps its maps behind pointers that LeakSanitizer does not see (the
// instance lives until the process ends), and its queue thread unlocks fences that are being
// destroyed. It takes three locks of its own in another order when a device is destroyed, by the
// last thread that has it, than when one is submitted to.
//
// OpenBLAS 0.3.21: a call returns when its threads have set a flag for which it polls (exec_blas in
// driver/others/blas_server.c), which ThreadSanitizer does not see. Of what they write into C it
// sees one thing, the memset of gemm_beta for beta = 0, and takes the caller's next look at C for a
// race. With OPENBLAS_NUM_THREADS=1 there is no thread, and no report.
//
// LLVM 15, in Mesa's software device: ManagedStatic publishes what it has made by a release store,
// which is inlined there. ThreadSanitizer sees only the mutex that getPermanentLibrary finds so,
// made by one thread and locked by another; no frame of either stack is outside of LLVM.
#if defined(__SANITIZE_ADDRESS__)
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libVkLayer_khronos_validation.so";
}
#elif defined(__SANITIZE_THREAD__)
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libVkLayer_khronos_validation.so\n"
         "deadlock:libVkLayer_khronos_validation.so\n"
         "race:gemm_beta_\n"
         "race:llvm::sys::DynamicLibrary::getPermanentLibrary\n";
}
#endif
