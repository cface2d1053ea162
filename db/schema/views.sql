-- Views: the documented interface for people and their SQL tools (docs/database-tables.md). Columns are only ever added. origin is
-- the key of the database that a row is from, NULL for what was found through this file. experts, groups and largest are 0 unless
-- the problem is grouped.

-- The best kernel of every bucket: rank 0 of its list, with the problem that it was measured on, and what the compiler says of it.
-- certified is 1 when the newest certificate says so, 0 when it says otherwise, NULL when nobody has looked; black_listed is 1 for
-- a kernel that must not run. gflops is the kernel's own rate, pack_ns comes on top when an operand has to be packed first.
CREATE VIEW best_kernels AS
SELECT d.name AS device, d.driver_info AS driver, w.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       p.experts, p.groups, p.largest,
       c.variant AS kernel, 2.0 * p.m * p.n * p.k * p.batch / nullif(w.kernel_ns, 0) AS gflops,
       w.kernel_ns, w.pack_ns,
       (SELECT f.verdict = 'passed' FROM certificates AS f
         WHERE f.device_id = w.device_id AND f.candidate_id = w.candidate_id ORDER BY f.id DESC LIMIT 1) AS certified,
       EXISTS (SELECT 1 FROM black_list AS b
                WHERE b.device_id = w.device_id AND b.candidate_id = w.candidate_id) AS black_listed,
       x.registers, x.spilled_registers, x.spill_stores, x.scratch_bytes, x.shared_bytes, x.subgroups_per_unit,
       w.device_id, w.candidate_id, w.problem_id, w.created_at
  FROM winners AS w
  JOIN devices AS d ON d.id = w.device_id
  JOIN candidates AS c ON c.id = w.candidate_id
  JOIN problems AS p ON p.id = w.problem_id
  LEFT JOIN compiler_facts AS x ON x.device_id = w.device_id AND x.candidate_id = w.candidate_id
 WHERE w.rank = 0;

-- The best kernel of each bucket as other machines have it. None of them runs here before it is certified here.
CREATE VIEW imported_kernels AS
SELECT d.name AS device, d.driver_info AS driver, w.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       p.experts, p.groups, p.largest,
       c.variant AS kernel, 2.0 * p.m * p.n * p.k * p.batch / nullif(w.kernel_ns, 0) AS gflops,
       w.kernel_ns, w.pack_ns, o.key AS origin, w.device_id, w.candidate_id, w.problem_id, w.created_at
  FROM imported_winners AS w
  JOIN origins AS o ON o.id = w.origin_id
  JOIN devices AS d ON d.id = w.device_id
  JOIN candidates AS c ON c.id = w.candidate_id
  JOIN problems AS p ON p.id = w.problem_id
 WHERE w.rank = 0;

-- What each device can do: the figures of its newest calibration, one a row; what others calibrated counts only where nobody did
-- here. A device that was never calibrated has one row with NULL figures.
CREATE VIEW device_report AS
SELECT d.name AS device, d.kind, d.driver_name, d.driver_info, d.memory_bytes,
       f.name AS figure, f.value, f.unit, f.mad, f.measurements, s.created_at AS calibrated_at, o.key AS origin,
       d.id AS device_id
  FROM devices AS d
  LEFT JOIN calibrations AS s
    ON s.id = (SELECT newest.id FROM calibrations AS newest WHERE newest.device_id = d.id
                ORDER BY newest.origin_id IS NOT NULL, newest.id DESC LIMIT 1)
  LEFT JOIN calibration_figures AS f ON f.calibration_id = s.id
  LEFT JOIN origins AS o ON o.id = s.origin_id
 ORDER BY d.id, f.position;

-- How much is known of each problem on each device, and from whom.
CREATE VIEW device_problems AS
SELECT d.name AS device, d.driver_info AS driver, p.type, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       p.experts, p.groups, p.largest, p.epilogue,
       count(*) AS samples, count(DISTINCT s.candidate_id) AS kernels_tried,
       min(CASE s.status WHEN 'measured' THEN s.kernel_ns + s.pack_ns END) AS best_ns, max(s.created_at) AS last_measured,
       o.key AS origin, r.device_id, s.problem_id
  FROM samples AS s
  JOIN runs AS r ON r.id = s.run_id
  JOIN devices AS d ON d.id = r.device_id
  JOIN problems AS p ON p.id = s.problem_id
  LEFT JOIN origins AS o ON o.id = r.origin_id
 GROUP BY r.device_id, r.origin_id, s.problem_id;

-- Where the most is left to win: every problem measured on a device with its fastest kernel, lowest rate first, each origin's times
-- by themselves. share_of_best compares its rate with the highest rate that any problem reached on the same device, share_of_peak
-- with the calibrated arithmetic peak (NULL before calibration). Times of kernels that cannot be used (black-listed, or whose
-- newest certificate did not pass) do not count.
CREATE VIEW slowest_problems AS
WITH fastest AS (
  -- min() makes SQLite take candidate_id from the row with the smallest time.
  SELECT r.device_id, r.origin_id, s.problem_id, s.candidate_id, min(s.kernel_ns) AS kernel_ns,
         count(DISTINCT s.candidate_id) AS kernels_tried
    FROM samples AS s
    JOIN runs AS r ON r.id = s.run_id
   WHERE s.status = 'measured' AND s.kernel_ns > 0
     AND NOT EXISTS (SELECT 1 FROM black_list AS b
                      WHERE b.device_id = r.device_id AND b.candidate_id = s.candidate_id)
     AND coalesce((SELECT f.verdict FROM certificates AS f
                    WHERE f.device_id = r.device_id AND f.candidate_id = s.candidate_id
                    ORDER BY f.id DESC LIMIT 1), 'passed') = 'passed'
   GROUP BY r.device_id, r.origin_id, s.problem_id),
rated AS (
  SELECT fastest.*, 2.0 * p.m * p.n * p.k * p.batch / fastest.kernel_ns AS gflops
    FROM fastest JOIN problems AS p ON p.id = fastest.problem_id)
SELECT d.name AS device, p.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b, rated.gflops,
       rated.gflops / nullif(max(rated.gflops) OVER (PARTITION BY rated.device_id, rated.origin_id), 0) AS share_of_best,
       rated.gflops / nullif((SELECT report.value FROM device_report AS report
                               WHERE report.device_id = rated.device_id
                                 AND report.figure = 'device.fma.f32'), 0) AS share_of_peak,
       rated.kernel_ns, c.variant AS kernel, rated.kernels_tried,
       o.key AS origin, rated.device_id, rated.candidate_id, rated.problem_id
  FROM rated
  JOIN devices AS d ON d.id = rated.device_id
  JOIN problems AS p ON p.id = rated.problem_id
  JOIN candidates AS c ON c.id = rated.candidate_id
  LEFT JOIN origins AS o ON o.id = rated.origin_id
 ORDER BY rated.gflops;

-- How tuning went: all samples in the order they were made. attempt counts within a run and problem, best_ns is the
-- fastest kernel so far in them (NULL until one was measured).
CREATE VIEW tuning_progress AS
SELECT s.run_id, d.name AS device, p.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       row_number() OVER progress AS attempt, s.status, c.variant AS kernel,
       CASE s.status WHEN 'measured' THEN s.kernel_ns END AS kernel_ns,
       min(CASE s.status WHEN 'measured' THEN s.kernel_ns END) OVER progress AS best_ns,
       s.detail, s.created_at, o.key AS origin, r.device_id, s.candidate_id, s.problem_id, s.id AS sample_id
  FROM samples AS s
  JOIN runs AS r ON r.id = s.run_id
  JOIN devices AS d ON d.id = r.device_id
  JOIN candidates AS c ON c.id = s.candidate_id
  JOIN problems AS p ON p.id = s.problem_id
  LEFT JOIN origins AS o ON o.id = r.origin_id
WINDOW progress AS (PARTITION BY s.run_id, s.problem_id ORDER BY s.id ROWS UNBOUNDED PRECEDING)
 ORDER BY s.id;

-- How quiet each run was. slowest_level is the reference's slowest reading over its first; NULL where there is none.
CREATE VIEW run_noise AS
SELECT r.id AS run_id, d.name AS device, coalesce(s.measurements, 0) AS measurements,
       coalesce(s.retaken, 0) AS retaken, coalesce(s.noisy, 0) AS noisy, coalesce(f.readings, 0) AS reference_readings,
       first.kernel_ns AS first_reference_ns, f.slowest_ns / first.kernel_ns AS slowest_level,
       r.highest_c, r.throttle_events, r.created_at, r.device_id
  FROM runs AS r
  JOIN devices AS d ON d.id = r.device_id
  LEFT JOIN (SELECT run_id, sum(measurements) AS measurements, sum(retaken) AS retaken, sum(noisy) AS noisy
               FROM samples GROUP BY run_id) AS s ON s.run_id = r.id
  LEFT JOIN (SELECT run_id, min(id) AS first_id, count(*) AS readings, max(kernel_ns) AS slowest_ns
               FROM reference_samples GROUP BY run_id) AS f ON f.run_id = r.id
  LEFT JOIN reference_samples AS first ON first.id = f.first_id
 ORDER BY r.id;

-- How certain each winner is, least certain first: open ones, then by confidence.
CREATE VIEW tuning_outcomes AS
SELECT d.name AS device, d.driver_info AS driver, p.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       p.experts, p.groups, p.largest,
       c.variant AS kernel, o.verdict, 100 * o.confidence AS confidence_percent, o.tried,
       x.variant AS default_kernel, o.default_ns, o.device_id, o.problem_id, o.candidate_id, o.created_at
  FROM outcomes AS o
  JOIN devices AS d ON d.id = o.device_id
  JOIN problems AS p ON p.id = o.problem_id
  JOIN candidates AS c ON c.id = o.candidate_id
  LEFT JOIN candidates AS x ON x.id = o.default_candidate_id
 ORDER BY o.verdict <> 'open', o.confidence, o.problem_id;

-- What to expect of problems that were not tuned, worst class first: how many kernels there are to choose from, and what
-- the choice costs against the fastest kernel.
CREATE VIEW untuned_regret AS
SELECT d.name AS device, d.driver_info AS driver, r.signature,
       (SELECT count(*) FROM portfolio AS p JOIN candidates AS c ON c.id = p.candidate_id
         WHERE p.device_id = r.device_id AND c.signature = r.signature AND p.place IS NOT NULL) AS kernels,
       r.problems, 100 * r.median AS median_percent, 100 * r.median_low AS median_low_percent,
       100 * r.median_high AS median_high_percent, 100 * r.mean AS mean_percent,
       CASE WHEN r.problems >= 10 THEN 100 * r.worst_decile END AS worst_decile_percent,
       100 * r.worst AS worst_percent, 100 * r.nearest_median AS nearest_median_percent,
       100 * r.nearest_mean AS nearest_mean_percent,
       CASE WHEN r.problems >= 10 THEN 100 * r.nearest_worst_decile END AS nearest_worst_decile_percent,
       r.device_id, r.created_at
  FROM selector_regrets AS r
  JOIN devices AS d ON d.id = r.device_id
 ORDER BY r.median IS NULL, r.median DESC, r.mean DESC;

-- Kernels that will not be used on a device and why: cause is 'black list', 'compiler' for kernels that were dropped for what the
-- compiler says of them, or the verdict ('failed', 'revoked') of the newest certificate of a generator version.
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

-- What was counted of each kernel, in the driver's order.
CREATE VIEW kernel_counters AS
SELECT d.name AS device, d.driver_info AS driver, p.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       c.variant AS kernel, x.name AS counter, x.value, x.unit, x.category, x.description, x.scope, s.passes,
       o.key AS origin, s.device_id, s.candidate_id, s.problem_id, s.created_at
  FROM counter_sets AS s
  JOIN counters AS x ON x.counter_set_id = s.id
  JOIN devices AS d ON d.id = s.device_id
  JOIN candidates AS c ON c.id = s.candidate_id
  JOIN problems AS p ON p.id = s.problem_id
  LEFT JOIN origins AS o ON o.id = s.origin_id
 ORDER BY s.device_id, s.problem_id, s.candidate_id, x.position;

-- What came from other files, oldest first.
CREATE VIEW imports AS
SELECT l.created_at AS imported_at, l.file, o.key AS origin, l.devices, l.calibrations, l.runs, l.samples, l.winners,
       l.origin_id, l.id AS import_id
  FROM import_log AS l JOIN origins AS o ON o.id = l.origin_id
 ORDER BY l.id;
