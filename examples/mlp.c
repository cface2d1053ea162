/* A perceptron of three layers, y := relu(relu(x W1 + b1) W2 + b2) W3 + b3, whose weights are
 * packed once and stay on the device: each batch of rows is one submission of upload, three
 * GEMMs with fused epilogues, and download. Compares the last batch with the same sums in
 * float64. Exit code 0: right, 1: a call failed or a result is wrong. */
#include <math.h>
#include <rooftile/rooftile.h>
#include <stdio.h>

enum { kRows = 32, kLayers = 3, kBatches = 4, kWidest = 96 };
static const int kWidths[kLayers + 1] = {50, kWidest, 64, 10};

static float weights[kLayers][kWidest][kWidest], biases[kLayers][kWidest]; /* rows kWidest apart */
static float x[kRows][kWidest], y[kRows][kWidest];

#define TRY(call)                                                \
  do {                                                           \
    if ((call) != ROOFTILE_OK) {                                 \
      fprintf(stderr, "%s: %s\n", #call, rooftile_last_error()); \
      return 1;                                                  \
    }                                                            \
  } while (0)

static void fill(void) {
  for (int layer = 0; layer < kLayers; ++layer)
    for (int j = 0; j < kWidest; ++j) {
      biases[layer][j] = 0.1f * cosf((float)(layer + j));
      for (int i = 0; i < kWidest; ++i)
        weights[layer][i][j] = 0.2f * sinf((float)(1 + layer + 3 * i + 7 * j));
    }
}

/* Adds the layers to the list: activations[0] is x, and each layer writes the next one. */
static int add_layers(rooftile_context* context, rooftile_list* list,
                      rooftile_buffer* const parameters[], rooftile_buffer* const activations[]) {
  for (int layer = 0; layer < kLayers; ++layer) {
    const rooftile_epilogue epilogue = {
        .struct_size = sizeof epilogue,
        .bias_kind = ROOFTILE_BIAS_COLUMN,
        .activation = layer + 1 < kLayers ? ROOFTILE_RELU : ROOFTILE_ACTIVATION_NONE};
    rooftile_gemm_args args = {.struct_size = sizeof args,
                               .m = kRows,
                               .n = kWidths[layer + 1],
                               .k = kWidths[layer],
                               .batch = 1,
                               .alpha = 1,
                               .lda = kWidest,
                               .ldb = kWidest,
                               .ldc = kWidest,
                               .epilogue = &epilogue};
    /* Weights and biases share a buffer: the bias lies behind the weights. */
    rooftile_resident_operands operands = {.struct_size = sizeof operands,
                                           .a = {activations[layer], 0},
                                           .b = {parameters[layer], 0},
                                           .c = {activations[layer + 1], 0},
                                           .bias = {parameters[layer], (int64_t)kWidest * kWidest}};
    /* The weights are constant, so they are packed once; the list keeps them alive. */
    const rooftile_pack_args weights_of_layer = {
        .struct_size = sizeof weights_of_layer, .operand = ROOFTILE_OPERAND_B, .call = &args};
    rooftile_packed* packed = NULL;
    TRY(rooftile_resident_pack(context, &weights_of_layer, &operands, &packed));
    args.packed = packed;
    operands.b.buffer = NULL;
    TRY(rooftile_list_gemm(list, &args, &operands));
    TRY(rooftile_packed_release(packed));
  }
  return 0;
}

/* Largest error of y over its bound. */
static double compare(void) {
  double worst = 0;
  for (int row = 0; row < kRows; ++row) {
    double in[kWidest], error[kWidest] = {0}; /* error: bound of what float32 has done so far */
    for (int i = 0; i < kWidest; ++i) in[i] = (double)x[row][i];
    for (int layer = 0; layer < kLayers; ++layer) {
      double out[kWidest], out_error[kWidest];
      for (int j = 0; j < kWidths[layer + 1]; ++j) {
        double sum = (double)biases[layer][j], magnitude = fabs(sum), carried = 0;
        for (int i = 0; i < kWidths[layer]; ++i) {
          const double w = (double)weights[layer][i][j];
          sum += in[i] * w;
          magnitude += fabs(in[i] * w);
          carried += error[i] * fabs(w);
        }
        out[j] = layer + 1 < kLayers && sum < 0 ? 0 : sum;
        /* Rounding errors of k products and sums in any order, plus the error of the input. */
        out_error[j] = carried + (kWidths[layer] + 3) * ldexp(magnitude + carried, -23);
      }
      for (int j = 0; j < kWidths[layer + 1]; ++j) {
        in[j] = out[j];
        error[j] = out_error[j];
      }
    }
    for (int j = 0; j < kWidths[kLayers]; ++j)
      worst = fmax(worst, fabs((double)y[row][j] - in[j]) / error[j]);
  }
  return worst;
}

static int run(rooftile_context* context) {
  rooftile_buffer *parameters[kLayers], *activations[kLayers + 1];
  rooftile_list* list = NULL;
  for (int layer = 0; layer <= kLayers; ++layer)
    TRY(rooftile_buffer_create(context, sizeof x, &activations[layer]));
  for (int layer = 0; layer < kLayers; ++layer) {
    const size_t bytes = sizeof weights[layer];
    TRY(rooftile_buffer_create(context, bytes + sizeof biases[layer], &parameters[layer]));
    TRY(rooftile_buffer_upload(parameters[layer], 0, weights[layer], bytes));
    TRY(rooftile_buffer_upload(parameters[layer], bytes, biases[layer], sizeof biases[layer]));
  }

  TRY(rooftile_list_create(context, &list));
  TRY(rooftile_list_upload(list, activations[0], 0, x, sizeof x));
  if (add_layers(context, list, parameters, activations) != 0) return 1;
  TRY(rooftile_list_download(list, activations[kLayers], 0, y, sizeof y));

  for (int batch = 0; batch < kBatches; ++batch) {
    for (int row = 0; row < kRows; ++row)
      for (int i = 0; i < kWidest; ++i) x[row][i] = cosf((float)(batch + row * i));
    rooftile_run* running = NULL;
    TRY(rooftile_list_run(list, &running)); /* reads x, and returns */
    TRY(rooftile_run_wait(running, ROOFTILE_FOREVER));
    TRY(rooftile_run_release(running));
  }

  rooftile_list_release(list);
  for (int layer = 0; layer < kLayers; ++layer) rooftile_buffer_release(parameters[layer]);
  for (int layer = 0; layer <= kLayers; ++layer) rooftile_buffer_release(activations[layer]);
  return 0;
}

int main(void) {
  fill();
  rooftile_context* context = NULL;
  TRY(rooftile_open(NULL, &context));
  const int failed = run(context);
  rooftile_close(context);
  if (failed) return 1;
  const double worst = compare();
  printf("y[0][0] = %.6f, largest error %.3f of its bound\n%s\n", (double)y[0][0], worst,
         worst <= 1 ? "right" : "wrong");
  return worst <= 1 ? 0 : 1;
}
