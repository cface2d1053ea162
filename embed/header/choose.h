/* ---- The choice of a kernel, as runtime/tuned/kernel_ranking.h of Rooftile makes it ---- */

/* log2 of a size, with an error below 1e-7 and exact for powers of two; 0 below 1. */
static double rte_log2(double x) {
  static const double two_over_ln2 = 2.8853900817779268;
  uint64_t bits;
  if (x <= 1) return 0;
  memcpy(&bits, &x, sizeof bits); /* IEEE 754: 1 sign, 11 exponent, 52 fraction */
  double exponent = (double)(int64_t)(bits >> 52) - 1023;
  bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
  memcpy(&x, &bits, sizeof x);
  if (x > 1.4142135623730951) {
    x /= 2;
    exponent += 1;
  }
  const double s = (x - 1) / (x + 1), q = s * s;
  return exponent +
         two_over_ln2 * s * (1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9)))));
}

/* e to the power of x, with a relative error below 1e-6 for |x| up to 4, as corrections are. */
static double rte_exp(double x) {
  const double y = x / 64;
  double e = 1 + y * (1 + y * (1.0 / 2 + y * (1.0 / 6 + y * (1.0 / 24))));
  for (int i = 0; i < 6; ++i) e *= e;
  return e;
}

static double rte_ceil(double x) {
  if (x >= 4503599627370496.0) return x; /* 2^52: there is nothing to round */
  const double whole = (double)(int64_t)x;
  return whole < x ? whole + 1 : whole;
}
static double rte_count(double size, double block) { return rte_ceil(size / block); }

/* Predicted ns of the kernels of a list, in its order. */
static void rte_predict(const rte_list* list, const rooftile_embed_problem* p, double* ns) {
  const double m = (double)p->m, n = (double)p->n, k = (double)p->k, batch = (double)p->batch;
  const float at[4] = {(float)rte_log2(m), (float)rte_log2(n), (float)rte_log2(k),
                       (float)rte_log2(batch)};
  const float* point = &rte_points[list->first_point];
  float sums[RTE_MOST_PREDICTED];
  for (int32_t i = 0; i < list->predicted; ++i) sums[i] = 0;
  for (int32_t i = 0; i < list->points; ++i, point += 4 + list->predicted) {
    float squared = 0;
    for (int axis = 0; axis < 4; ++axis)
      squared += (point[axis] - at[axis]) * (point[axis] - at[axis]);
    const float near = list->variance / (1 + list->scale * squared);
    for (int32_t j = 0; j < list->predicted; ++j) sums[j] += near * point[4 + j];
  }
  for (int32_t i = 0; i < list->predicted; ++i) {
    const rte_predicted* const x = &rte_predictions[list->first_predicted + i];
    const double workgroups = rte_count(m, x->tile_m) * rte_count(n, x->tile_n) *
                              rte_count(batch, x->tile_batch) * x->split_k;
    ns[i] = (x->constant + workgroups * (x->each + k * x->step) +
             k * x->wave * rte_ceil(workgroups * list->per_unit) +
             batch * (m * n * x->mn + m * k * x->mk + k * n * x->kn)) *
            rte_exp((double)sums[i]);
  }
}

/* The class's list of the measured device that this one is: with this version of the driver, else
   with the newest; NULL: there is none. */
static const rte_list* rte_list_of(const rooftile_embed_limits* limits, const rte_class* type) {
  const rte_list* best = NULL;
  for (int32_t i = 0; i < type->lists; ++i) {
    const rte_list* const list = &rte_lists[type->first_list + i];
    const rte_device* const device = &rte_devices[list->device];
    if (device->vendor_id != limits->vendor_id || device->product_id != limits->product_id ||
        device->driver_id != limits->driver_id)
      continue;
    if (device->driver_version == limits->driver_version) return list;
    if (best == NULL || device->driver_version > rte_devices[best->device].driver_version)
      best = list;
  }
  return best;
}

/* What a caller can do most about, of the reasons why two kernels do not fit. */
static rooftile_embed_status rte_reason(rooftile_embed_status x, rooftile_embed_status y) {
  static const rooftile_embed_status order[] = {ROOFTILE_EMBED_BUFFER_TOO_SMALL,
                                                ROOFTILE_EMBED_TOO_LARGE};
  for (int i = 0; i < 2; ++i)
    if (x == order[i] || y == order[i]) return order[i];
  return ROOFTILE_EMBED_UNSUPPORTED_DEVICE;
}

static double rte_square(double x) { return x * x; }
static double rte_flops(const rte_call* call) {
  return 2.0 * (double)call->p.m * (double)call->p.n * (double)call->p.k * (double)call->p.batch;
}

/* The first kernel that fits, in the order: measured on these sizes, predicted to be fastest,
   measured on the nearest sizes, the fallback. */
static rooftile_embed_status rte_choose(const rooftile_embed_limits* limits, const rte_call* call,
                                        int32_t* kernel, double* ns, int32_t* device) {
  const rooftile_embed_problem* const p = &call->p;
  const rte_class* const type = call->type;
  const double flops = rte_flops(call);
  const rte_list* const list = rte_list_of(limits, type);
  rooftile_embed_status reason = ROOFTILE_EMBED_UNSUPPORTED_DEVICE, status;
  if (list != NULL) {
    *device = list->device;
    const rte_tuned* const tuned = &rte_tuned_kernels[list->first_tuned];
    double predicted[RTE_MOST_PREDICTED];
    int32_t tried[RTE_MOST_TUNED];
    for (int32_t i = 0; i < list->tuned; ++i) {
      if (tuned[i].m != p->m || tuned[i].n != p->n || tuned[i].k != p->k ||
          tuned[i].batch != p->batch || tuned[i].is_last_resort)
        continue;
      status = rte_fits(&rte_kernels[tuned[i].kernel], limits, call);
      *kernel = tuned[i].kernel;
      *ns = tuned[i].ns;
      if (status == ROOFTILE_EMBED_OK) return status;
      reason = rte_reason(reason, status);
    }
    int any = 0; /* to predict is most of a choice */
    for (int32_t i = 0; i < list->predicted && !any; ++i)
      any = rte_is_aligned(&rte_kernels[rte_predictions[list->first_predicted + i].kernel], call);
    if (any) rte_predict(list, p, predicted);
    for (int32_t i = 0; i < list->predicted && any; ++i) {
      int32_t best = -1;
      for (int32_t j = 0; j < list->predicted; ++j)
        if (predicted[j] < 1e300 && (best < 0 || predicted[j] < predicted[best])) best = j;
      if (best < 0) break;
      *kernel = rte_predictions[list->first_predicted + best].kernel;
      *ns = predicted[best];
      status = rte_fits(&rte_kernels[*kernel], limits, call);
      if (status == ROOFTILE_EMBED_OK) return status;
      reason = rte_reason(reason, status);
      predicted[best] = 1e301;
    }
    const double logs[4] = {rte_log2((double)p->m), rte_log2((double)p->n), rte_log2((double)p->k),
                            rte_log2((double)p->batch)};
    int32_t left = 0;
    for (int32_t i = 0; i < list->tuned; ++i) {
      tried[i] = !rte_is_aligned(&rte_kernels[tuned[i].kernel], call);
      left += !tried[i];
    }
    for (; left > 0; --left) {
      double nearest = 1e300;
      int32_t best = -1;
      for (int32_t i = 0; i < list->tuned; ++i) {
        const rte_tuned* const x = &tuned[i];
        if (tried[i]) continue;
        const double distance = rte_square(x->logs[0] - logs[0]) +
                                rte_square(x->logs[1] - logs[1]) +
                                rte_square(x->logs[2] - logs[2]) + rte_square(x->logs[3] - logs[3]);
        /* Last resorts come behind all others, and equals by their rank. */
        const int later = best < 0 ? -1 : x->is_last_resort - tuned[best].is_last_resort;
        if (later < 0 || (later == 0 && (distance < nearest ||
                                         (distance == nearest && x->rank < tuned[best].rank)))) {
          best = i;
          nearest = distance;
        }
      }
      tried[best] = 1;
      status = rte_fits(&rte_kernels[tuned[best].kernel], limits, call);
      *kernel = tuned[best].kernel;
      *ns = tuned[best].ns * flops /
            (2.0 * (double)tuned[best].m * (double)tuned[best].n * (double)tuned[best].k *
             (double)tuned[best].batch);
      if (status == ROOFTILE_EMBED_OK) return status;
      reason = rte_reason(reason, status);
    }
  }
  if (type->fallback < 0) return reason;
  status = rte_fits(&rte_kernels[type->fallback], limits, call);
  *kernel = type->fallback;
  *ns = 0;
  *device = -1;
  return status == ROOFTILE_EMBED_OK ? status : rte_reason(reason, status);
}

const char* rooftile_embed_status_name(rooftile_embed_status status) {
  static const char* const names[] = {
      "OK",           "NULL_ARGUMENT",    "BAD_PROBLEM",         "UNSUPPORTED_DEVICE",
      "TOO_LARGE",    "BUFFER_TOO_SMALL", "WORKSPACE_TOO_SMALL", "WRONG_CHOICE",
      "NOT_PREPARED", "OUT_OF_MEMORY",    "DEVICE_ERROR"};
  return (unsigned)status < sizeof names / sizeof *names ? names[(unsigned)status] : "UNKNOWN";
}

rooftile_embed_problem rooftile_embed_problem_of(rooftile_embed_class of_class, int64_t m,
                                                 int64_t n, int64_t k) {
  rooftile_embed_problem p;
  memset(&p, 0, sizeof p);
  p.of_class = of_class;
  p.m = m;
  p.n = n;
  p.k = k;
  p.batch = 1;
  p.alpha = 1;
  p.clamp_low = -HUGE_VALF;
  p.clamp_high = HUGE_VALF;
  if ((int)of_class < 0 || (int)of_class >= RTE_CLASSES || !rte_is_size(m) || !rte_is_size(n) ||
      !rte_is_size(k))
    return p;
  const rte_class* const type = &rte_classes[of_class];
  p.lda = rte_most(type->trans_a ? m : k, 1);
  p.ldb = rte_most(type->trans_b ? rte_stored_k(type, k) : n, 1);
  p.ldc = rte_most(n, 1);
  p.stride_a = m * k;
  p.stride_b = type->block > 0 ? 0 : n * k;
  p.stride_c = m * n;
  return p;
}

rooftile_embed_status rooftile_embed_select(const rooftile_embed_limits* limits,
                                            const rooftile_embed_problem* problem,
                                            const rooftile_embed_operands* operands,
                                            rooftile_embed_choice* choice) {
  rte_call call;
  int32_t kernel = -1, device = -1;
  double ns = 0;
  if (limits == NULL || problem == NULL || choice == NULL) return ROOFTILE_EMBED_NULL_ARGUMENT;
  rooftile_embed_status status = rte_bind(limits, problem, operands, &call);
  if (status != ROOFTILE_EMBED_OK) return status;
  status = rte_choose(limits, &call, &kernel, &ns, &device);
  if (status != ROOFTILE_EMBED_OK) return status;
  choice->kernel = kernel;
  choice->is_tuned = device >= 0;
  choice->is_same_driver =
      device >= 0 && rte_devices[device].driver_version == limits->driver_version;
  choice->expected_ns = (float)ns;
  choice->rte_flops = rte_flops(&call);
  choice->workspace_bytes = rte_workspace(&rte_kernels[kernel], &call, limits->alignment_bytes);
  return ROOFTILE_EMBED_OK;
}

const rooftile_embed_description* rooftile_embed_describe(int32_t kernel) {
  return kernel < 0 || kernel >= RTE_KERNELS ? NULL : &rte_descriptions[kernel];
}
