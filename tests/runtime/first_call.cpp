// Usage: first_call LIBRARY close|leave|unload|fork [SIZE]
//
// Loads the library and calls it once, to test calls before the device is open, the end of a
// process, and unloading. It prints tier and reason of the call, and a sum over the bits of the
// result. "leave" ends without closing the context; with "fork" the child makes the call before
// the parent does. With $GATE, a pipe, the first thread that opens a shader of the cache waits
// until something is written to it.
#include <dlfcn.h>
#include <fcntl.h>
#include <rooftile/rooftile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// The library finds this function instead of the C library's.
extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  static std::atomic<bool> delays = std::getenv("GATE") != nullptr;
  if (std::string_view(path).ends_with(".spv") && delays.exchange(false))
    std::ifstream(std::getenv("GATE")).get();
  std::va_list rest;
  va_start(rest, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>

// When a device is not closed, LeakSanitizer reports a few bytes of Mesa. In a forked child, it
// does not see the stacks of the parent's threads.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libvulkan_lvp.so\n"
         "leak:rooftile::UntunedLog::write_every_minute\n";
}
#elif defined(__SANITIZE_THREAD__)
// The child starts threads, which ThreadSanitizer forbids by default.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

namespace {

void* library = nullptr;
// A global variable, so that LeakSanitizer finds a context that is not closed.
rooftile_context* context = nullptr;

template <typename Function>
Function* symbol(const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<Function*>(found);
}

void check(rooftile_status status) {
  if (status != ROOFTILE_OK)
    throw std::runtime_error(symbol<decltype(rooftile_last_error)>("rooftile_last_error")());
}

void multiply_and_print(std::int64_t size) {
  const auto elements = static_cast<std::size_t>(size * size);
  std::vector<float> a(elements), b(elements), c(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    a[i] = static_cast<float>(i % 1009) / 1009 - 0.5f;
    b[i] = static_cast<float>(i % 1013) / 1013 - 0.5f;
  }
  rooftile_sgemm_args args = {};
  args.struct_size = sizeof args;
  args.m = args.n = args.k = args.lda = args.ldb = args.ldc = size;
  args.alpha = 1;
  args.a = a.data();
  args.b = b.data();
  args.c = c.data();
  check(symbol<decltype(rooftile_sgemm)>("rooftile_sgemm")(context, &args));
  rooftile_decision decision = {};
  decision.struct_size = sizeof decision;
  check(symbol<decltype(rooftile_last_decision)>("rooftile_last_decision")(context, &decision));
  std::uint64_t sum = 0;
  for (const float x : c) sum = 31 * sum + std::bit_cast<std::uint32_t>(x);
  std::printf("%d %d %016llx\n", decision.tier, decision.reason,
              static_cast<unsigned long long>(sum));
  std::fflush(stdout);
}

int run(const char* path, const std::string& mode, std::int64_t size) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  check(symbol<decltype(rooftile_open)>("rooftile_open")(nullptr, &context));
  if (mode == "fork") {
    const pid_t child = fork();
    if (child != 0) {
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) throw std::runtime_error("the child failed");
    }
    multiply_and_print(size);
    if (child == 0) return 0;
  } else {
    multiply_and_print(size);
  }
  if (const char* pipe = std::getenv("WAIT_FOR")) std::ifstream(pipe).get();
  if (mode == "leave") return 0;
  symbol<decltype(rooftile_close)>("rooftile_close")(context);
  if (mode == "unload") {
#ifdef __SANITIZE_ADDRESS__
    // This check is final: after dlclose, objects that the library never destroys are unreachable.
    __lsan_do_leak_check();
#endif
    dlclose(library);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(argv[1], argv[2], argc > 3 ? std::atoll(argv[3]) : 96);
} catch (const std::exception& error) {
  std::fprintf(stderr, "first_call: %s\n", error.what());
  return 1;
}
