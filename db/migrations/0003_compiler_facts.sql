-- What the driver's compiler says of a candidate, for as long as driver and kernel stay the same. Figures are NULL where
-- the driver does not tell; their meaning is in core/compiler_facts.h.
CREATE TABLE compiler_facts (
  device_id                 INTEGER NOT NULL REFERENCES devices (id),
  candidate_id              INTEGER NOT NULL REFERENCES candidates (id),
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

-- As in 0002, and what the compiler says of the kernel.
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
       x.registers, x.spilled_registers, x.spill_stores, x.scratch_bytes, x.shared_bytes, x.subgroups_per_unit
  FROM winners AS w
  JOIN devices AS d ON d.id = w.device_id
  JOIN candidates AS c ON c.id = w.candidate_id
  JOIN problems AS p ON p.id = w.problem_id
  LEFT JOIN compiler_facts AS x ON x.device_id = w.device_id AND x.candidate_id = w.candidate_id
 WHERE w.rank = 0;

-- As in 0002, and the kernels that were dropped for what the compiler says of them: cause 'compiler'.
DROP VIEW rejected_kernels;
CREATE VIEW rejected_kernels AS
SELECT d.name AS device, d.driver_info AS driver, c.signature, c.variant AS kernel, rejected.cause, rejected.reason,
       rejected.generator_version, rejected.created_at, rejected.device_id, rejected.candidate_id
  FROM (SELECT device_id, candidate_id, 'black list' AS cause, reason, NULL AS generator_version, created_at
          FROM black_list
        UNION ALL
        SELECT device_id, candidate_id, 'compiler', dropped_reason, NULL, created_at
          FROM compiler_facts
         WHERE dropped_reason IS NOT NULL
        UNION ALL
        SELECT f.device_id, f.candidate_id, f.verdict, f.detail, f.generator_version, f.created_at
          FROM certificates AS f
         WHERE f.verdict <> 'passed'
           AND f.id = (SELECT max(newest.id) FROM certificates AS newest
                        WHERE newest.device_id = f.device_id AND newest.candidate_id = f.candidate_id
                          AND newest.generator_version = f.generator_version)) AS rejected
  JOIN devices AS d ON d.id = rejected.device_id
  JOIN candidates AS c ON c.id = rejected.candidate_id;
