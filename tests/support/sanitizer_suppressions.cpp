// Suppresses false reports of the sanitizers about libraries that are built without them. Nothing
// else is filtered here, and messages of the validation layer are not filtered anywhere.
//
// Validation layer 1.3.239: it stores its maps behind pointers that LeakSanitizer does not follow
// (the instance lives until the process ends), and its queue thread unlocks fences that are being
// destroyed. Three of its own locks are acquired in one order by a submission, and in another
// order when the last thread that uses a device destroys it.
//
// OpenBLAS 0.3.21: a call polls a flag that its threads set when they are done (exec_blas in
// driver/others/blas_server.c), and ThreadSanitizer does not see this synchronisation. The only
// write to C that it sees in these threads is the memset in gemm_beta for beta = 0, which it
// reports as a race with the caller's next read of C. With OPENBLAS_NUM_THREADS=1 there are no
// threads and no report.
//
// LLVM 15, in Mesa's software device: ManagedStatic publishes a new object by an inlined release
// store, which ThreadSanitizer does not see. It sees only the mutex in getPermanentLibrary, which
// one thread creates and another one locks. All frames of both stacks are in LLVM.
//
// Mesa 22.3's lavapipe: vkDestroyFence destroys the mutex and the condition of a fence whose
// signal its own thread has just sent. The patterns name the two functions of libc, because the
// driver's frames have no symbols; libstdc++'s locks, which are ours, never call these functions.
#if defined(__SANITIZE_ADDRESS__)
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libVkLayer_khronos_validation.so";
}
#elif defined(__SANITIZE_THREAD__)
// Some tests fork while threads run, and the child starts a thread.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libVkLayer_khronos_validation.so\n"
         "deadlock:libVkLayer_khronos_validation.so\n"
         "race:gemm_beta_\n"
         "race:pthread_mutex_destroy\n"
         "race:pthread_cond_destroy\n"
         "race:llvm::sys::DynamicLibrary::getPermanentLibrary\n";
}
#endif
