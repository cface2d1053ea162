-- Grouped problems: the m rows are divided into groups, and those of a group are multiplied with the B of its expert.
-- Tables whose uniqueness has more columns than before are made anew. Foreign keys are not enforced meanwhile (schema.cpp), and
-- what refers to a table by its name is left as it is: tables that refer to problems, and the views.
PRAGMA legacy_alter_table = ON;

CREATE TABLE problems_with_groups (
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
INSERT INTO problems_with_groups (id, type, trans_a, trans_b, m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c, epilogue, alpha, beta,
                                  bucket, created_at)
SELECT id, type, trans_a, trans_b, m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c, epilogue, alpha, beta,
       bucket, created_at
  FROM problems;
DROP TABLE problems;
ALTER TABLE problems_with_groups RENAME TO problems;
CREATE INDEX problems_of_class ON problems (type, trans_a, trans_b, epilogue);

CREATE TABLE untuned_problems_with_groups (
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
  stride_b    INTEGER NOT NULL CHECK (stride_b >= 0),  -- or from an expert's matrix to the next one's
  stride_c    INTEGER NOT NULL CHECK (stride_c >= 0),
  epilogue    TEXT    NOT NULL,  -- what is fused: "bias_column+relu", "" for nothing
  alpha       REAL    NOT NULL,
  beta        REAL    NOT NULL,
  experts     INTEGER NOT NULL DEFAULT 0 CHECK (experts >= 0),  -- matrices B; 0: the problem is not grouped
  groups      INTEGER NOT NULL DEFAULT 0 CHECK (groups >= 0),   -- of rows of A and C, m in all
  largest     INTEGER NOT NULL DEFAULT 0 CHECK (largest >= 0),  -- rows of the largest group; 0: not known, or even
  bucket      TEXT    NOT NULL,
  calls       INTEGER NOT NULL CHECK (calls > 0),
  created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  seen_at     TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  UNIQUE (m, n, k, batch, type, trans_a, trans_b, lda, ldb, ldc, stride_a, stride_b, stride_c, epilogue, alpha, beta, experts,
          groups, largest, device_id)
) STRICT;
INSERT INTO untuned_problems_with_groups (id, device_id, type, trans_a, trans_b, m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c, epilogue, alpha, beta,
                                          bucket, calls, created_at, seen_at)
SELECT id, device_id, type, trans_a, trans_b, m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c, epilogue, alpha, beta,
       bucket, calls, created_at, seen_at
  FROM untuned_problems;
DROP TABLE untuned_problems;
ALTER TABLE untuned_problems_with_groups RENAME TO untuned_problems;
CREATE INDEX untuned_problems_of_bucket ON untuned_problems (device_id, bucket);
CREATE INDEX untuned_problems_by_calls ON untuned_problems (calls, seen_at);
PRAGMA legacy_alter_table = OFF;

-- As in 0003, with the groups.
DROP VIEW best_kernels;
CREATE VIEW best_kernels AS
SELECT d.name AS device, d.driver_info AS driver, w.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       c.variant AS kernel, 2.0 * p.m * p.n * p.k * p.batch / nullif(w.kernel_ns, 0) AS gflops,
       w.kernel_ns, w.pack_ns,
       (SELECT f.verdict = 'passed' FROM certificates AS f
         WHERE f.device_id = w.device_id AND f.candidate_id = w.candidate_id ORDER BY f.id DESC LIMIT 1) AS certified,
       EXISTS (SELECT 1 FROM black_list AS b
                WHERE b.device_id = w.device_id AND b.candidate_id = w.candidate_id) AS black_listed,
       w.device_id, w.candidate_id, w.problem_id, w.created_at,
       x.registers, x.spilled_registers, x.spill_stores, x.scratch_bytes, x.shared_bytes, x.subgroups_per_unit,
       p.experts, p.groups, p.largest
  FROM winners AS w
  JOIN devices AS d ON d.id = w.device_id
  JOIN candidates AS c ON c.id = w.candidate_id
  JOIN problems AS p ON p.id = w.problem_id
  LEFT JOIN compiler_facts AS x ON x.device_id = w.device_id AND x.candidate_id = w.candidate_id
 WHERE w.rank = 0;

-- As in 0004, with the groups.
DROP VIEW device_problems;
CREATE VIEW device_problems AS
SELECT d.name AS device, d.driver_info AS driver, p.type, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b, p.epilogue,
       count(*) AS samples, count(DISTINCT s.candidate_id) AS kernels_tried,
       min(CASE s.status WHEN 'measured' THEN s.kernel_ns + s.pack_ns END) AS best_ns, max(s.created_at) AS last_measured,
       o.key AS origin, r.device_id, s.problem_id, p.experts, p.groups, p.largest
  FROM samples AS s
  JOIN runs AS r ON r.id = s.run_id
  JOIN devices AS d ON d.id = r.device_id
  JOIN problems AS p ON p.id = s.problem_id
  LEFT JOIN origins AS o ON o.id = r.origin_id
 GROUP BY r.device_id, r.origin_id, s.problem_id;

-- As in 0004, with the groups.
DROP VIEW imported_kernels;
CREATE VIEW imported_kernels AS
SELECT d.name AS device, d.driver_info AS driver, w.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       c.variant AS kernel, 2.0 * p.m * p.n * p.k * p.batch / nullif(w.kernel_ns, 0) AS gflops,
       w.kernel_ns, w.pack_ns, o.key AS origin, w.device_id, w.candidate_id, w.problem_id, w.created_at,
       p.experts, p.groups, p.largest
  FROM imported_winners AS w
  JOIN origins AS o ON o.id = w.origin_id
  JOIN devices AS d ON d.id = w.device_id
  JOIN candidates AS c ON c.id = w.candidate_id
  JOIN problems AS p ON p.id = w.problem_id
 WHERE w.rank = 0;

-- As in 0011, with the groups.
DROP VIEW tuning_outcomes;
CREATE VIEW tuning_outcomes AS
SELECT d.name AS device, d.driver_info AS driver, p.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       c.variant AS kernel, o.verdict, 100 * o.confidence AS confidence_percent, o.tried,
       x.variant AS default_kernel, o.default_ns, o.device_id, o.problem_id, o.candidate_id, o.created_at,
       p.experts, p.groups, p.largest
  FROM outcomes AS o
  JOIN devices AS d ON d.id = o.device_id
  JOIN problems AS p ON p.id = o.problem_id
  JOIN candidates AS c ON c.id = o.candidate_id
  LEFT JOIN candidates AS x ON x.id = o.default_candidate_id
 ORDER BY o.verdict <> 'open', o.confidence, o.problem_id;
