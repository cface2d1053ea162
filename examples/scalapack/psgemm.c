/* C := A * B on block-cyclic matrices over a grid of MPI ranks, by ScaLAPACK's psgemm; each rank's
 * local products go to whatever BLAS the process has, with librooftile_blas.so in front to
 * Rooftile.
 *
 *   mpirun -n RANKS psgemm [M N K [BLOCK]]        default 500 300 400 64
 *
 * Every rank compares its part of C with float64. Rank 0 prints. Exit code 0: right, 1: wrong, 2:
 * usage. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void Cblacs_pinfo(int* rank, int* ranks);
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
void Cblacs_exit(int keep_mpi);
int numroc_(const int* n, const int* block, const int* coordinate, const int* source,
            const int* count);
void descinit_(int* descriptor, const int* m, const int* n, const int* block_rows,
               const int* block_columns, const int* source_row, const int* source_column,
               const int* context, const int* ld, int* info);
void psgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
             const float* alpha, const float* a, const int* ia, const int* ja,
             const int* descriptor_a, const float* b, const int* ib, const int* jb,
             const int* descriptor_b, const float* beta, float* c, const int* ic, const int* jc,
             const int* descriptor_c);

static const int kZero = 0, kOne = 1;

typedef struct Grid {
  int context, rows, columns, row, column;
} Grid;

/* This rank's blocks of a matrix, column-major. */
typedef struct Matrix {
  int descriptor[9];
  int rows, columns; /* local */
  float* values;
} Matrix;

/* Values that every rank can compute from their indices alone: in [-1, 1), with 16 bits. */
static float value_at(unsigned seed, int row, int column) {
  unsigned x = seed * 2654435761u + (unsigned)row * 40503u + (unsigned)column * 2246822519u;
  x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
  return (float)(int)(x & 0xffff) / 32768 - 1;
}

/* Global index of a local one. */
static int global_index(int local, int block, int coordinate, int count) {
  return (local / block * count + coordinate) * block + local % block;
}

static Matrix make_matrix(const Grid* grid, int rows, int columns, int block) {
  Matrix matrix;
  matrix.rows = numroc_(&rows, &block, &grid->row, &kZero, &grid->rows);
  matrix.columns = numroc_(&columns, &block, &grid->column, &kZero, &grid->columns);
  const int ld = matrix.rows > 0 ? matrix.rows : 1;
  int info = 0;
  descinit_(matrix.descriptor, &rows, &columns, &block, &block, &kZero, &kZero, &grid->context, &ld,
            &info);
  matrix.values =
      calloc((size_t)ld * (size_t)(matrix.columns > 0 ? matrix.columns : 1), sizeof(float));
  if (info != 0 || matrix.values == NULL) {
    fprintf(stderr, "psgemm: no room for, or no such matrix: %d x %d in blocks of %d\n", rows,
            columns, block);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return matrix;
}

static void fill(Matrix* matrix, const Grid* grid, int block, unsigned seed) {
  for (int j = 0; j < matrix->columns; ++j)
    for (int i = 0; i < matrix->rows; ++i)
      matrix->values[(size_t)j * (size_t)matrix->rows + (size_t)i] =
          value_at(seed, global_index(i, block, grid->row, grid->rows),
                   global_index(j, block, grid->column, grid->columns));
}

/* Largest error of this rank's part of C over its bound: k + 2 roundings, in any order of
 * summation. */
static double worst_error(const Matrix* c, const Grid* grid, int block, int k) {
  double worst = 0;
  for (int j = 0; j < c->columns; ++j)
    for (int i = 0; i < c->rows; ++i) {
      const int row = global_index(i, block, grid->row, grid->rows),
                column = global_index(j, block, grid->column, grid->columns);
      double sum = 0, magnitude = 0;
      for (int l = 0; l < k; ++l) {
        const double product = (double)value_at(1, row, l) * (double)value_at(2, l, column);
        sum += product;
        magnitude += fabs(product);
      }
      const double error = fabs((double)c->values[(size_t)j * (size_t)c->rows + (size_t)i] - sum);
      const double ratio = error / ((k + 2) * ldexp(magnitude, -24));
      if (!(ratio <= worst)) worst = ratio; /* NaN stays */
    }
  return worst;
}

int main(int argc, char** argv) {
  int sizes[4] = {500, 300, 400, 64};
  for (int i = 1; i < argc && i <= 4; ++i) sizes[i - 1] = atoi(argv[i]);
  const int m = sizes[0], n = sizes[1], k = sizes[2], block = sizes[3];
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  Cblacs_pinfo(&rank, &ranks);
  if (argc > 5 || m < 1 || n < 1 || k < 1 || block < 1) {
    if (rank == 0)
      fprintf(stderr, "usage: mpirun -n RANKS %s [M N K [BLOCK]], each at least 1\n", argv[0]);
    MPI_Finalize();
    return 2;
  }
  /* As square a grid as the ranks allow. */
  int rows = (int)sqrt((double)ranks);
  while (ranks % rows != 0) --rows;
  Grid grid;
  Cblacs_get(0, 0, &grid.context);
  Cblacs_gridinit(&grid.context, "Row", rows, ranks / rows);
  Cblacs_gridinfo(grid.context, &grid.rows, &grid.columns, &grid.row, &grid.column);

  Matrix a = make_matrix(&grid, m, k, block), b = make_matrix(&grid, k, n, block),
         c = make_matrix(&grid, m, n, block);
  fill(&a, &grid, block, 1);
  fill(&b, &grid, block, 2);
  const float alpha = 1, beta = 0;
  const double start = MPI_Wtime();
  psgemm_("N", "N", &m, &n, &k, &alpha, a.values, &kOne, &kOne, a.descriptor, b.values, &kOne,
          &kOne, b.descriptor, &beta, c.values, &kOne, &kOne, c.descriptor);
  const double seconds = MPI_Wtime() - start;

  const double mine = worst_error(&c, &grid, block, k);
  double worst = 0, slowest = 0;
  /* MPI_MAX may lose NaN: count instead of trusting it. */
  int wrong_here = !(mine <= 1), wrong = 0;
  MPI_Reduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&wrong_here, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf(
        "%d x %d x %d in blocks of %d over %d x %d ranks: %.1f ms, largest error %.3f of its "
        "bound\n%s\n",
        m, n, k, block, grid.rows, grid.columns, 1e3 * slowest, worst,
        wrong == 0 ? "right" : "wrong");
  free(a.values);
  free(b.values);
  free(c.values);
  Cblacs_gridexit(grid.context);
  Cblacs_exit(1);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
