-- Tables of the tuning database. Times of measurements are in ns, times of day are ISO 8601 UTC text. Names that come
-- from drivers are untrusted text. The views of the next file are the interface for people; tables may change.

-- One driver on one device: a new driver is a new row, so that nothing tuned under the old one is taken for its own.
-- vendor_id and product_id are Vulkan's vendorID and deviceID; device_id in other tables means devices.id.
CREATE TABLE devices (
  id                   INTEGER PRIMARY KEY,
  device_uuid          TEXT    NOT NULL,
  vendor_id            INTEGER NOT NULL CHECK (vendor_id >= 0),
  product_id           INTEGER NOT NULL CHECK (product_id >= 0),
  driver_id            INTEGER NOT NULL CHECK (driver_id >= 0),
  driver_version       INTEGER NOT NULL CHECK (driver_version >= 0),
  pipeline_cache_uuid  TEXT    NOT NULL,
  -- Not part of the identity: kept up to date when the driver tells it differently.
  name                 TEXT    NOT NULL,
  driver_name          TEXT    NOT NULL,
  driver_info          TEXT    NOT NULL,
  kind                 TEXT    NOT NULL,
  api_version          INTEGER NOT NULL CHECK (api_version >= 0),
  memory_bytes         INTEGER NOT NULL CHECK (memory_bytes >= 0),
  unified_memory       INTEGER NOT NULL CHECK (unified_memory IN (0, 1)),
  limits               TEXT    NOT NULL CHECK (json_valid(limits)),
  created_at           TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  UNIQUE (device_uuid, vendor_id, product_id, driver_id, driver_version, pipeline_cache_uuid)
) STRICT;

-- Figures that were measured together; the newest set of a device counts.
CREATE TABLE calibrations (
  id          INTEGER PRIMARY KEY,
  device_id   INTEGER NOT NULL REFERENCES devices (id),
  created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE INDEX calibrations_of_device ON calibrations (device_id, id);

CREATE TABLE calibration_figures (
  calibration_id  INTEGER NOT NULL REFERENCES calibrations (id),
  position        INTEGER NOT NULL CHECK (position >= 0),  -- order in which they were handed over
  name            TEXT    NOT NULL,
  unit            TEXT    NOT NULL,
  value           REAL    NOT NULL,  -- median
  mad             REAL    NOT NULL CHECK (mad >= 0),  -- median absolute deviation, same unit
  measurements    INTEGER NOT NULL CHECK (measurements >= 0),
  PRIMARY KEY (calibration_id, position),
  UNIQUE (calibration_id, name)
) STRICT, WITHOUT ROWID;

-- Kernels that were tried. hash is that of the emitted GLSL and its compile options; parameters is a JSON object with the
-- parameters' own names, variant the same as one line of text, which is what Rooftile itself reads.
CREATE TABLE candidates (
  id          INTEGER PRIMARY KEY,
  hash        TEXT    NOT NULL UNIQUE CHECK (length(hash) > 0),
  signature   TEXT    NOT NULL,
  family      TEXT    NOT NULL,
  parameters  TEXT    NOT NULL CHECK (json_valid(parameters)),
  variant     TEXT    NOT NULL,
  created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- Matrix products C := alpha op(A) op(B) + beta C; sizes and leading dimensions in elements.
CREATE TABLE problems (
  id          INTEGER PRIMARY KEY,
  type        TEXT    NOT NULL,
  trans_a     TEXT    NOT NULL CHECK (trans_a IN ('n', 't')),
  trans_b     TEXT    NOT NULL CHECK (trans_b IN ('n', 't')),
  m           INTEGER NOT NULL CHECK (m >= 0),
  n           INTEGER NOT NULL CHECK (n >= 0),
  k           INTEGER NOT NULL CHECK (k >= 0),
  batch       INTEGER NOT NULL CHECK (batch >= 0),
  lda         INTEGER NOT NULL CHECK (lda > 0),
  ldb         INTEGER NOT NULL CHECK (ldb > 0),
  ldc         INTEGER NOT NULL CHECK (ldc > 0),
  stride_a    INTEGER NOT NULL CHECK (stride_a >= 0),  -- from a matrix of the batch to the next; 0: all share one
  stride_b    INTEGER NOT NULL CHECK (stride_b >= 0),
  stride_c    INTEGER NOT NULL CHECK (stride_c >= 0),
  epilogue    TEXT    NOT NULL,  -- what is fused: "bias_column+relu", "" for nothing
  alpha       REAL    NOT NULL,
  beta        REAL    NOT NULL,
  bucket      TEXT    NOT NULL,
  created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  UNIQUE (m, n, k, batch, type, trans_a, trans_b, lda, ldb, ldc, stride_a, stride_b, stride_c, epilogue, alpha, beta)
) STRICT;

-- One run of the tuner on one device. outcome is NULL while it runs, and stays so when it died.
CREATE TABLE runs (
  id                 INTEGER PRIMARY KEY,
  device_id          INTEGER NOT NULL REFERENCES devices (id),
  generator_version  TEXT    NOT NULL,
  settings           TEXT    NOT NULL CHECK (json_valid(settings)),
  created_at         TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  ended_at           TEXT,
  outcome            TEXT,
  CHECK ((ended_at IS NULL) = (outcome IS NULL))
) STRICT;
CREATE INDEX runs_of_device ON runs (device_id);

-- Every measurement ever made, failures included: reports can be recomputed from these.
CREATE TABLE samples (
  id              INTEGER PRIMARY KEY,
  run_id          INTEGER NOT NULL REFERENCES runs (id),
  candidate_id    INTEGER NOT NULL REFERENCES candidates (id),
  problem_id      INTEGER NOT NULL REFERENCES problems (id),
  status          TEXT    NOT NULL CHECK (status IN
                    ('measured', 'compile failed', 'launch failed', 'wrong result', 'timed out', 'crashed')),
  measurements    INTEGER NOT NULL CHECK (measurements >= 0),
  kernel_ns       REAL    NOT NULL CHECK (kernel_ns >= 0),  -- median; mad, low and high are its spread
  kernel_mad_ns   REAL    NOT NULL CHECK (kernel_mad_ns >= 0),
  kernel_low_ns   REAL    NOT NULL,
  kernel_high_ns  REAL    NOT NULL,
  pack_ns         REAL    NOT NULL CHECK (pack_ns >= 0),
  compile_ns      REAL    NOT NULL CHECK (compile_ns >= 0),
  detail          TEXT    NOT NULL,
  created_at      TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  CHECK (status <> 'measured' OR measurements > 0)
) STRICT;
CREATE INDEX samples_of_problem ON samples (problem_id, run_id);
CREATE INDEX samples_of_candidate ON samples (candidate_id);
CREATE INDEX samples_of_run ON samples (run_id);

-- Ranked kernels of a bucket; rank 0 is the best.
CREATE TABLE winners (
  device_id     INTEGER NOT NULL REFERENCES devices (id),
  bucket        TEXT    NOT NULL,
  rank          INTEGER NOT NULL CHECK (rank >= 0),
  candidate_id  INTEGER NOT NULL REFERENCES candidates (id),
  problem_id    INTEGER NOT NULL REFERENCES problems (id),  -- it was measured on
  kernel_ns     REAL    NOT NULL CHECK (kernel_ns >= 0),
  pack_ns       REAL    NOT NULL CHECK (pack_ns >= 0),
  created_at    TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  PRIMARY KEY (device_id, bucket, rank)
) STRICT, WITHOUT ROWID;
CREATE INDEX winners_of_candidate ON winners (candidate_id);
CREATE INDEX winners_of_problem ON winners (problem_id);

-- Verdicts on a candidate's results, never changed: the one with the highest id counts.
CREATE TABLE certificates (
  id                 INTEGER PRIMARY KEY,
  device_id          INTEGER NOT NULL REFERENCES devices (id),
  candidate_id       INTEGER NOT NULL REFERENCES candidates (id),
  generator_version  TEXT    NOT NULL,
  verdict            TEXT    NOT NULL CHECK (verdict IN ('passed', 'failed', 'revoked')),
  detail             TEXT    NOT NULL,
  created_at         TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE INDEX certificates_of_candidate ON certificates (device_id, candidate_id, generator_version, id);
CREATE INDEX certificates_by_candidate ON certificates (candidate_id);

-- Candidates that must not be launched again on this device and driver.
CREATE TABLE black_list (
  device_id     INTEGER NOT NULL REFERENCES devices (id),
  candidate_id  INTEGER NOT NULL REFERENCES candidates (id),
  reason        TEXT    NOT NULL,
  created_at    TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  PRIMARY KEY (device_id, candidate_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX black_list_of_candidate ON black_list (candidate_id);

-- Candidates being launched now. AUTOINCREMENT: an id is never used twice, so that ending an entry twice hurts nobody.
-- The other columns tell a process that lives from one that died: its start in clock ticks after boot, the boot, and
-- the pid namespace that its pid is a number of.
CREATE TABLE journal (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  device_id      INTEGER NOT NULL REFERENCES devices (id),
  candidate_id   INTEGER NOT NULL REFERENCES candidates (id),
  pid            INTEGER NOT NULL,
  process_start  INTEGER NOT NULL,
  boot_id        TEXT    NOT NULL,
  pid_namespace  TEXT    NOT NULL,
  created_at     TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE INDEX journal_of_device ON journal (device_id);
CREATE INDEX journal_of_candidate ON journal (candidate_id);

-- Problems that programs asked for and no tuned kernel was there. A problem's fields stand here, not a problem_id: rows
-- come and go (the store keeps 4096), and problems only grows.
CREATE TABLE untuned_problems (
  id          INTEGER PRIMARY KEY,
  device_id   INTEGER NOT NULL REFERENCES devices (id),
  type        TEXT    NOT NULL,
  trans_a     TEXT    NOT NULL CHECK (trans_a IN ('n', 't')),
  trans_b     TEXT    NOT NULL CHECK (trans_b IN ('n', 't')),
  m           INTEGER NOT NULL CHECK (m >= 0),
  n           INTEGER NOT NULL CHECK (n >= 0),
  k           INTEGER NOT NULL CHECK (k >= 0),
  batch       INTEGER NOT NULL CHECK (batch >= 0),
  lda         INTEGER NOT NULL CHECK (lda > 0),
  ldb         INTEGER NOT NULL CHECK (ldb > 0),
  ldc         INTEGER NOT NULL CHECK (ldc > 0),
  stride_a    INTEGER NOT NULL CHECK (stride_a >= 0),  -- from a matrix of the batch to the next; 0: all share one
  stride_b    INTEGER NOT NULL CHECK (stride_b >= 0),
  stride_c    INTEGER NOT NULL CHECK (stride_c >= 0),
  epilogue    TEXT    NOT NULL,  -- what is fused: "bias_column+relu", "" for nothing
  alpha       REAL    NOT NULL,
  beta        REAL    NOT NULL,
  bucket      TEXT    NOT NULL,
  calls       INTEGER NOT NULL CHECK (calls > 0),
  created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  seen_at     TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  UNIQUE (m, n, k, batch, type, trans_a, trans_b, lda, ldb, ldc, stride_a, stride_b, stride_c, epilogue, alpha, beta, device_id)
) STRICT;
CREATE INDEX untuned_problems_of_bucket ON untuned_problems (device_id, bucket);
CREATE INDEX untuned_problems_by_calls ON untuned_problems (calls, seen_at);
