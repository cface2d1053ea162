-- Tables of the tuning database. Times of measurements are in ns, times of day are ISO 8601 UTC text. Names that come
-- from drivers are untrusted text. The views of views.sql are the interface for people; tables may change.
--
-- What was found through this file and what came from others are kept apart (docs/sharing.md). Runs, calibrations, compiler facts
-- and counters carry the database that they are from: origin_id, NULL for this file. Ranked lists, portfolios and black lists of
-- others have tables of their own, imported_*.

PRAGMA application_id = 0x526f6f66;  -- kApplicationId and kSchemaVersion of schema.h
PRAGMA user_version = 1;

-- Databases that data is from. key goes wherever their data goes; the one with own = 1 is this file.
CREATE TABLE origins (
  id          INTEGER PRIMARY KEY,
  key         TEXT    NOT NULL UNIQUE CHECK (length(key) BETWEEN 1 AND 200),
  own         INTEGER NOT NULL CHECK (own IN (0, 1)),
  created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE UNIQUE INDEX origins_own ON origins (own) WHERE own = 1;
INSERT INTO origins (key, own) VALUES (lower(hex(randomblob(16))), 1);

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

-- Figures that were measured together; the newest set of a device counts. key is the same in every file that holds the set.
CREATE TABLE calibrations (
  id          INTEGER PRIMARY KEY,
  device_id   INTEGER NOT NULL REFERENCES devices (id),
  origin_id   INTEGER REFERENCES origins (id),
  key         TEXT    NOT NULL UNIQUE CHECK (length(key) BETWEEN 1 AND 200),
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
  signature   TEXT    NOT NULL,  -- class of problems: types, transposes, epilogue
  family      TEXT    NOT NULL,
  parameters  TEXT    NOT NULL CHECK (json_valid(parameters)),
  variant     TEXT    NOT NULL,
  created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- What the driver's compiler says of a candidate, for as long as driver and kernel stay the same. Figures are NULL where
-- the driver does not tell; their meaning is in core/compiler_facts.h.
CREATE TABLE compiler_facts (
  device_id                 INTEGER NOT NULL REFERENCES devices (id),
  candidate_id              INTEGER NOT NULL REFERENCES candidates (id),
  origin_id                 INTEGER REFERENCES origins (id),
  registers                 INTEGER CHECK (registers >= 0),  -- of an invocation
  scalar_registers          INTEGER CHECK (scalar_registers >= 0),  -- of a subgroup
  spilled_registers         INTEGER CHECK (spilled_registers >= 0),
  spilled_scalar_registers  INTEGER CHECK (spilled_scalar_registers >= 0),
  spill_stores              INTEGER CHECK (spill_stores >= 0),  -- instructions
  scratch_bytes             INTEGER CHECK (scratch_bytes >= 0),
  shared_bytes              INTEGER CHECK (shared_bytes >= 0),  -- of a workgroup
  subgroups_per_unit        INTEGER CHECK (subgroups_per_unit >= 0),
  -- All that the driver said: objects with executable, name, description and value.
  statistics                TEXT    NOT NULL CHECK (json_valid(statistics)),
  -- Why the tuner did not measure it. It may be measured later, when nothing else is left: then this is NULL again.
  dropped_reason            TEXT    CHECK (length(dropped_reason) > 0),
  created_at                TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  PRIMARY KEY (device_id, candidate_id)
) STRICT;
CREATE INDEX compiler_facts_of_candidate ON compiler_facts (candidate_id);

-- Matrix products C := alpha op(A) op(B) + beta C; sizes and leading dimensions in elements. Of a grouped problem the m rows are
-- divided into groups, and those of a group are multiplied with the B of its expert.
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
  stride_b    INTEGER NOT NULL CHECK (stride_b >= 0),  -- or from an expert's matrix to the next one's
  stride_c    INTEGER NOT NULL CHECK (stride_c >= 0),
  epilogue    TEXT    NOT NULL,  -- what is fused: "bias_column+relu", "" for nothing
  alpha       REAL    NOT NULL,
  beta        REAL    NOT NULL,
  experts     INTEGER NOT NULL DEFAULT 0 CHECK (experts >= 0),  -- matrices B; 0: the problem is not grouped
  groups      INTEGER NOT NULL DEFAULT 0 CHECK (groups >= 0),   -- of rows of A and C, m in all
  largest     INTEGER NOT NULL DEFAULT 0 CHECK (largest >= 0),  -- rows of the largest group; 0: not known, or even
  bucket      TEXT    NOT NULL,
  created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  UNIQUE (m, n, k, batch, type, trans_a, trans_b, lda, ldb, ldc, stride_a, stride_b, stride_c, epilogue, alpha, beta, experts,
          groups, largest)
) STRICT;
CREATE INDEX problems_of_class ON problems (type, trans_a, trans_b, epilogue);  -- for the search for similar ones

-- One run of the tuner on one device. key is the same in every file that holds the run.
CREATE TABLE runs (
  id                 INTEGER PRIMARY KEY,
  device_id          INTEGER NOT NULL REFERENCES devices (id),
  origin_id          INTEGER REFERENCES origins (id),
  key                TEXT    NOT NULL UNIQUE CHECK (length(key) BETWEEN 1 AND 200),
  generator_version  TEXT    NOT NULL,
  settings           TEXT    NOT NULL CHECK (json_valid(settings)),
  created_at         TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  ended_at           TEXT,
  outcome            TEXT,  -- NULL while it runs, and stays so when it died
  -- Where the system tells: the highest temperature of any sensor, and how often processors were throttled meanwhile.
  highest_c          REAL,
  throttle_events    INTEGER CHECK (throttle_events >= 0),
  CHECK ((ended_at IS NULL) = (outcome IS NULL))
) STRICT;
CREATE INDEX runs_of_device ON runs (device_id);

-- A kernel that is timed again and again through a run: the same for all problems of a device.
CREATE TABLE reference_samples (
  id             INTEGER PRIMARY KEY,
  run_id         INTEGER NOT NULL REFERENCES runs (id),
  kernel_ns      REAL    NOT NULL CHECK (kernel_ns > 0),  -- median
  kernel_mad_ns  REAL    NOT NULL CHECK (kernel_mad_ns >= 0),
  measurements   INTEGER NOT NULL CHECK (measurements > 0),
  created_at     TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE INDEX reference_samples_of_run ON reference_samples (run_id, id);

-- Every measurement ever made, failures included: reports can be recomputed from these.
CREATE TABLE samples (
  id              INTEGER PRIMARY KEY,
  run_id          INTEGER NOT NULL REFERENCES runs (id),
  candidate_id    INTEGER NOT NULL REFERENCES candidates (id),
  problem_id      INTEGER NOT NULL REFERENCES problems (id),
  -- What it was taken for: in a search beside the problem's other candidates, or later beside a few of them, when ranked lists of
  -- another version were timed again or kernels compared for problems that were not tuned.
  purpose         TEXT    NOT NULL DEFAULT 'search' CHECK (purpose IN ('search', 'refresh', 'portfolio')),
  status          TEXT    NOT NULL CHECK (status IN
                    ('measured', 'compile failed', 'launch failed', 'wrong result', 'timed out', 'crashed')),
  measurements    INTEGER NOT NULL CHECK (measurements >= 0),
  retaken         INTEGER NOT NULL DEFAULT 0 CHECK (retaken >= 0),  -- measurements that were thrown away and taken again
  noisy           INTEGER NOT NULL DEFAULT 0 CHECK (noisy >= 0),    -- measurements that were kept and look spoilt
  kernel_ns       REAL    NOT NULL CHECK (kernel_ns >= 0),  -- median; mad, low and high are its spread
  kernel_mad_ns   REAL    NOT NULL CHECK (kernel_mad_ns >= 0),
  kernel_low_ns   REAL    NOT NULL,
  kernel_high_ns  REAL    NOT NULL,
  pack_ns         REAL    NOT NULL CHECK (pack_ns >= 0),
  compile_ns      REAL    NOT NULL CHECK (compile_ns >= 0),
  -- The reference kernel's time then over its time at the run's start; times here are as measured, not divided by it.
  level           REAL    NOT NULL DEFAULT 1 CHECK (level > 0),
  detail          TEXT    NOT NULL,
  created_at      TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  CHECK (status <> 'measured' OR measurements > 0)
) STRICT;
CREATE INDEX samples_of_problem ON samples (problem_id, run_id);
CREATE INDEX samples_of_candidate ON samples (candidate_id);
CREATE INDEX samples_of_run ON samples (run_id);

-- What a driver's hardware counters (VK_KHR_performance_query) read while a kernel computed a problem once: one set for each
-- device, kernel and problem, the newest. Names, categories and descriptions are the driver's words.
CREATE TABLE counter_sets (
  id            INTEGER PRIMARY KEY,
  device_id     INTEGER NOT NULL REFERENCES devices (id),
  candidate_id  INTEGER NOT NULL REFERENCES candidates (id),
  problem_id    INTEGER NOT NULL REFERENCES problems (id),
  origin_id     INTEGER REFERENCES origins (id),
  passes        INTEGER NOT NULL CHECK (passes > 0),  -- so often it was run for them
  created_at    TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  UNIQUE (device_id, candidate_id, problem_id)
) STRICT;
CREATE INDEX counter_sets_of_candidate ON counter_sets (candidate_id);
CREATE INDEX counter_sets_of_problem ON counter_sets (problem_id);

CREATE TABLE counters (
  counter_set_id  INTEGER NOT NULL REFERENCES counter_sets (id),
  position        INTEGER NOT NULL CHECK (position >= 0),  -- the driver's order
  name            TEXT    NOT NULL,
  category        TEXT    NOT NULL,
  description     TEXT    NOT NULL,
  unit            TEXT    NOT NULL CHECK (unit IN ('generic', 'percent', 'ns', 'bytes', 'bytes/s', 'kelvin', 'watts', 'volts',
                                                   'amps', 'hertz', 'cycles')),
  scope           TEXT    NOT NULL CHECK (scope IN ('command', 'command buffer')),
  value           REAL    NOT NULL,
  PRIMARY KEY (counter_set_id, position)
) STRICT, WITHOUT ROWID;

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

-- Ranked lists as the origins last told them. Never dispatched: the tuner tries and certifies them like any candidate.
CREATE TABLE imported_winners (
  origin_id     INTEGER NOT NULL REFERENCES origins (id),
  device_id     INTEGER NOT NULL REFERENCES devices (id),
  bucket        TEXT    NOT NULL,
  rank          INTEGER NOT NULL CHECK (rank >= 0),
  candidate_id  INTEGER NOT NULL REFERENCES candidates (id),
  problem_id    INTEGER NOT NULL REFERENCES problems (id),
  kernel_ns     REAL    NOT NULL CHECK (kernel_ns >= 0),
  pack_ns       REAL    NOT NULL CHECK (pack_ns >= 0),
  created_at    TEXT    NOT NULL,
  PRIMARY KEY (origin_id, device_id, bucket, rank)
) STRICT, WITHOUT ROWID;

-- How certain the first kernel of a problem's ranked list is, and the kernel that it was compared with: the default, which
-- the analytical model takes for the problem without a measurement. One row for each device and problem that the tuner has
-- begun; the newest run's.
CREATE TABLE outcomes (
  device_id             INTEGER NOT NULL REFERENCES devices (id),
  problem_id            INTEGER NOT NULL REFERENCES problems (id),
  candidate_id          INTEGER NOT NULL REFERENCES candidates (id),  -- the first kernel of the list
  -- 'faster': it was faster than the default in a paired comparison. 'default': no kernel was, so that it is the default.
  -- 'open': the run ended before the comparison did.
  verdict               TEXT    NOT NULL CHECK (verdict IN ('faster', 'default', 'open')),
  -- That it is faster than the default, 0 to 1. NULL where it is the default, and where no pair was measured.
  confidence            REAL    CHECK (confidence BETWEEN 0 AND 1),
  tried                 INTEGER NOT NULL CHECK (tried >= 0),          -- candidates that were measured or failed, in all runs
  default_candidate_id  INTEGER REFERENCES candidates (id),           -- NULL where the default could not run
  default_ns            REAL    CHECK (default_ns > 0),               -- kernel and packing, measured beside the winner
  created_at            TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  PRIMARY KEY (device_id, problem_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcomes_of_problem ON outcomes (problem_id);
CREATE INDEX outcomes_of_candidate ON outcomes (candidate_id);
CREATE INDEX outcomes_of_default ON outcomes (default_candidate_id);

-- Kernels that were measured on many problems of their class (their candidates' signature): what the choice for a problem
-- that was not tuned rests on. place is the order in which the portfolio took them, NULL for one that it can do without.
CREATE TABLE portfolio (
  device_id     INTEGER NOT NULL REFERENCES devices (id),
  candidate_id  INTEGER NOT NULL REFERENCES candidates (id),
  place         INTEGER CHECK (place >= 0),
  times         TEXT    NOT NULL CHECK (json_valid(times)),  -- [[m, n, k, batch, ns], ...], packing included
  created_at    TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  PRIMARY KEY (device_id, candidate_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX portfolio_of_candidate ON portfolio (candidate_id);

-- Portfolios of other machines. Of each device and class the newest one is kept, whichever database it is from: a fleet of equal
-- machines needs one. Never dispatched: `rooftile tune --refresh` certifies the kernels and stores them in `portfolio`, with the
-- times scaled to this machine.
CREATE TABLE imported_portfolio (
  origin_id     INTEGER NOT NULL REFERENCES origins (id),
  device_id     INTEGER NOT NULL REFERENCES devices (id),
  candidate_id  INTEGER NOT NULL REFERENCES candidates (id),
  place         INTEGER NOT NULL CHECK (place >= 0),
  times         TEXT    NOT NULL CHECK (json_valid(times)),  -- as in portfolio
  created_at    TEXT    NOT NULL,
  PRIMARY KEY (device_id, candidate_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_portfolio_of_candidate ON imported_portfolio (candidate_id);

-- What a choice from the portfolio costs: each problem of the class in turn was left out, and the kernel that the others' times
-- choose for it compared with the fastest one there. 0.02: 2 % slower; below 0 where kernels differ by noise alone. nearest_*: had
-- it been the best kernel of the nearest problem.
CREATE TABLE selector_regrets (
  device_id             INTEGER NOT NULL REFERENCES devices (id),
  signature             TEXT    NOT NULL,
  problems              INTEGER NOT NULL CHECK (problems > 0),
  -- Medians are NULL for fewer than six problems. low and high: the ends of the 95 % interval.
  median                REAL,
  median_low            REAL,
  median_high           REAL,
  mean                  REAL    NOT NULL,
  worst_decile          REAL    NOT NULL,  -- one in ten costs at least this; of fewer than ten the worst
  worst                 REAL    NOT NULL,
  nearest_median        REAL,
  nearest_mean          REAL    NOT NULL,
  nearest_worst_decile  REAL    NOT NULL,
  created_at            TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  PRIMARY KEY (device_id, signature)
) STRICT, WITHOUT ROWID;

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

-- Advice: what others must not launch on their devices is not proposed here, and nothing is refused because of it.
CREATE TABLE imported_black_list (
  origin_id     INTEGER NOT NULL REFERENCES origins (id),
  device_id     INTEGER NOT NULL REFERENCES devices (id),
  candidate_id  INTEGER NOT NULL REFERENCES candidates (id),
  reason        TEXT    NOT NULL,
  created_at    TEXT    NOT NULL,
  PRIMARY KEY (origin_id, device_id, candidate_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_black_list_of_device ON imported_black_list (device_id, candidate_id);

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

-- Problems that programs asked for and no tuned kernel was there. A problem's fields stand here, as in problems, not a problem_id:
-- rows come and go (the store keeps 4096), and problems only grows.
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
  stride_a    INTEGER NOT NULL CHECK (stride_a >= 0),
  stride_b    INTEGER NOT NULL CHECK (stride_b >= 0),
  stride_c    INTEGER NOT NULL CHECK (stride_c >= 0),
  epilogue    TEXT    NOT NULL,
  alpha       REAL    NOT NULL,
  beta        REAL    NOT NULL,
  experts     INTEGER NOT NULL DEFAULT 0 CHECK (experts >= 0),
  groups      INTEGER NOT NULL DEFAULT 0 CHECK (groups >= 0),
  largest     INTEGER NOT NULL DEFAULT 0 CHECK (largest >= 0),
  bucket      TEXT    NOT NULL,
  calls       INTEGER NOT NULL CHECK (calls > 0),
  created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  seen_at     TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  UNIQUE (m, n, k, batch, type, trans_a, trans_b, lda, ldb, ldc, stride_a, stride_b, stride_c, epilogue, alpha, beta, experts,
          groups, largest, device_id)
) STRICT;
CREATE INDEX untuned_problems_of_bucket ON untuned_problems (device_id, bucket);
CREATE INDEX untuned_problems_by_calls ON untuned_problems (calls, seen_at);

-- Imports that brought anything, with the rows that were new.
CREATE TABLE import_log (
  id            INTEGER PRIMARY KEY,
  origin_id     INTEGER NOT NULL REFERENCES origins (id),  -- of the file
  file          TEXT    NOT NULL,  -- its name, without folders
  devices       INTEGER NOT NULL CHECK (devices >= 0),
  calibrations  INTEGER NOT NULL CHECK (calibrations >= 0),
  runs          INTEGER NOT NULL CHECK (runs >= 0),
  samples       INTEGER NOT NULL CHECK (samples >= 0),
  winners       INTEGER NOT NULL CHECK (winners >= 0),
  created_at    TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
