/* Measures a host's rates without any code of Rooftile: STREAM (McCalpin) over arrays of 128 MiB
 * and multiply-adds in registers. The argument is the number of threads. For each name on standard
 * input ("copy") that kernel runs once, and its rate is printed in GB/s (GFLOP/s for fma). */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

enum { kFloats = 1 << 25, kMostThreads = 1024, kKernels = 5 };
static const char* const kNames[kKernels] = {"copy", "scale", "add", "triad", "fma"};
static const double kBytes[kKernels] = {8, 8, 12, 12, 0};
static const uint64_t kTrips = 4000000;

static float *a, *b, *c;
static int threads;
static int asked;  // kernel of the next turn; kKernels ends the threads
static volatile float sink[kMostThreads];
static double flops_per_trip;
static pthread_barrier_t begin, end;
static double began[kMostThreads], ended[kMostThreads];  // read by each thread, in seconds

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if defined(__AVX512F__)
typedef __m512 Lanes;
#define SET _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#define ADD _mm512_add_ps
#define FIRST _mm512_cvtss_f32
#elif defined(__AVX2__) && defined(__FMA__)
typedef __m256 Lanes;
#define SET _mm256_set1_ps
#define FMA _mm256_fmadd_ps
#define ADD _mm256_add_ps
#define FIRST _mm256_cvtss_f32
#else
typedef float Lanes;
#define SET(x) (x)
#define FMA(x, y, z) ((x) * (y) + (z))
#define ADD(x, y) ((x) + (y))
#define FIRST(x) (x)
#endif

static float multiply_add(uint64_t trips) {
  volatile float half = 0.5f, one = 1.0f;
  const Lanes x = SET(half), y = SET(one);
  Lanes s0 = SET(0.0f), s1 = SET(1.0f), s2 = SET(2.0f), s3 = SET(3.0f), s4 = SET(4.0f),
        s5 = SET(5.0f), s6 = SET(6.0f), s7 = SET(7.0f), s8 = SET(8.0f), s9 = SET(9.0f);
  for (uint64_t t = 0; t < trips; ++t) {
    s0 = FMA(s0, x, y), s1 = FMA(s1, x, y), s2 = FMA(s2, x, y), s3 = FMA(s3, x, y),
    s4 = FMA(s4, x, y);
    s5 = FMA(s5, x, y), s6 = FMA(s6, x, y), s7 = FMA(s7, x, y), s8 = FMA(s8, x, y),
    s9 = FMA(s9, x, y);
  }
  flops_per_trip = 10 * 2 * sizeof(Lanes) / sizeof(float);
  const Lanes low = ADD(ADD(s0, s1), ADD(s2, ADD(s3, s4)));
  return FIRST(ADD(low, ADD(ADD(s5, s6), ADD(s7, ADD(s8, s9)))));
}

static void run(int kernel, int thread) {
  const size_t from = (size_t)kFloats / (size_t)threads * (size_t)thread;
  const size_t to = from + (size_t)kFloats / (size_t)threads;
  switch (kernel) {
    case 0:
      for (size_t i = from; i < to; ++i) c[i] = a[i];
      break;
    case 1:
      for (size_t i = from; i < to; ++i) b[i] = 3.0f * c[i];
      break;
    case 2:
      for (size_t i = from; i < to; ++i) c[i] = a[i] + b[i];
      break;
    case 3:
      for (size_t i = from; i < to; ++i) a[i] = b[i] + 3.0f * c[i];
      break;
    default:
      sink[thread] = multiply_add(kTrips);
  }
}

static void* work(void* argument) {
  const int thread = (int)(intptr_t)argument;
  const size_t share = (size_t)kFloats / (size_t)threads;
  const size_t from = share * (size_t)thread, to = from + share;
  for (size_t i = from; i < to; ++i) a[i] = 1.0f;
  for (size_t i = from; i < to; ++i) b[i] = 2.0f;
  for (size_t i = from; i < to; ++i) c[i] = 0.0f;
  while (1) {
    pthread_barrier_wait(&begin);
    if (asked == kKernels) return NULL;
    began[thread] = now();
    run(asked, thread);
    ended[thread] = now();
    pthread_barrier_wait(&end);
  }
}

/* Time from the first thread's start to the last thread's end. main() does not take it, because it
 * wakes late while threads keep every processor busy. */
static double turn_ns(void) {
  double first = began[0], last = ended[0];
  for (int t = 1; t < threads; ++t) {
    if (began[t] < first) first = began[t];
    if (ended[t] > last) last = ended[t];
  }
  return 1e9 * (last - first);
}

static int kernel_named(const char* name) {
  int kernel = 0;
  while (kernel < kKernels && strcmp(name, kNames[kernel]) != 0) ++kernel;
  return kernel;
}

int main(int argc, char** argv) {
  threads = argc > 1 ? atoi(argv[1]) : 1;
  if (threads < 1 || threads > kMostThreads) {
    fprintf(stderr,
            "usage: host_reference THREADS, and then names of kernels on its standard input\n");
    return 2;
  }
  a = malloc(kFloats * sizeof(float));
  b = malloc(kFloats * sizeof(float));
  c = malloc(kFloats * sizeof(float));
  pthread_t* team = calloc((size_t)threads, sizeof *team);
  if (!a || !b || !c || !team) {
    fprintf(stderr, "host_reference: out of memory\n");
    return 1;
  }
  pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
  pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
  for (int t = 0; t < threads; ++t)
    if (pthread_create(&team[t], NULL, work, (void*)(intptr_t)t) != 0) {
      fprintf(stderr, "host_reference: no thread\n");
      return 1;
    }
  char name[16];
  while (scanf("%15s", name) == 1) {
    asked = kernel_named(name);
    if (asked == kKernels) {
      fprintf(stderr, "host_reference: no kernel '%s'\n", name);
      return 2;
    }
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    const double ns = turn_ns();
    const double amount = asked + 1 < kKernels
                              ? kBytes[asked] * (double)(kFloats / threads) * threads
                              : flops_per_trip * (double)kTrips * threads;
    printf("%.6f\n", amount / ns);
    fflush(stdout);
  }
  asked = kKernels;
  pthread_barrier_wait(&begin);
  for (int t = 0; t < threads; ++t) pthread_join(team[t], NULL);
  return 0;
}
