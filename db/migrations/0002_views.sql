-- Views: the documented interface for people and their SQL tools (docs/database.md). Columns are only ever added.

-- The best kernel of every bucket: rank 0 of its list, with the problem that it was measured on. certified is 1 when the
-- newest certificate says so, 0 when it says otherwise, NULL when nobody has looked; black_listed is 1 for a kernel that
-- must not run. gflops is the kernel's own rate, pack_ns comes on top when an operand has to be packed first.
CREATE VIEW best_kernels AS
SELECT d.name AS device, d.driver_info AS driver, w.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       c.variant AS kernel, 2.0 * p.m * p.n * p.k * p.batch / nullif(w.kernel_ns, 0) AS gflops,
       w.kernel_ns, w.pack_ns,
       (SELECT f.verdict = 'passed' FROM certificates AS f
         WHERE f.device_id = w.device_id AND f.candidate_id = w.candidate_id ORDER BY f.id DESC LIMIT 1) AS certified,
       EXISTS (SELECT 1 FROM black_list AS b
                WHERE b.device_id = w.device_id AND b.candidate_id = w.candidate_id) AS black_listed,
       w.device_id, w.candidate_id, w.problem_id, w.created_at
  FROM winners AS w
  JOIN devices AS d ON d.id = w.device_id
  JOIN candidates AS c ON c.id = w.candidate_id
  JOIN problems AS p ON p.id = w.problem_id
 WHERE w.rank = 0;

-- What each device can do: the figures of its newest calibration, one a row. A device that was never calibrated has one
-- row with NULL figures.
CREATE VIEW device_report AS
SELECT d.name AS device, d.kind, d.driver_name, d.driver_info, d.memory_bytes,
       f.name AS figure, f.value, f.unit, f.mad, f.measurements, s.created_at AS calibrated_at, d.id AS device_id
  FROM devices AS d
  LEFT JOIN calibrations AS s
    ON s.id = (SELECT max(newest.id) FROM calibrations AS newest WHERE newest.device_id = d.id)
  LEFT JOIN calibration_figures AS f ON f.calibration_id = s.id
 ORDER BY d.id, f.position;

-- Where the most is left to win: every problem measured on a device with its fastest kernel, lowest rate first.
-- share_of_best compares its rate with the highest rate that any problem reached on the same device, share_of_peak with
-- the calibrated arithmetic peak (NULL before calibration). Times of kernels that cannot be used (black-listed, or whose
-- newest certificate did not pass) do not count.
CREATE VIEW slowest_problems AS
WITH fastest AS (
  -- min() makes SQLite take candidate_id from the row with the smallest time.
  SELECT r.device_id, s.problem_id, s.candidate_id, min(s.kernel_ns) AS kernel_ns,
         count(DISTINCT s.candidate_id) AS kernels_tried
    FROM samples AS s
    JOIN runs AS r ON r.id = s.run_id
   WHERE s.status = 'measured' AND s.kernel_ns > 0
     AND NOT EXISTS (SELECT 1 FROM black_list AS b
                      WHERE b.device_id = r.device_id AND b.candidate_id = s.candidate_id)
     AND coalesce((SELECT f.verdict FROM certificates AS f
                    WHERE f.device_id = r.device_id AND f.candidate_id = s.candidate_id
                    ORDER BY f.id DESC LIMIT 1), 'passed') = 'passed'
   GROUP BY r.device_id, s.problem_id),
rated AS (
  SELECT fastest.*, 2.0 * p.m * p.n * p.k * p.batch / fastest.kernel_ns AS gflops
    FROM fastest JOIN problems AS p ON p.id = fastest.problem_id)
SELECT d.name AS device, p.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b, rated.gflops,
       rated.gflops / nullif(max(rated.gflops) OVER (PARTITION BY rated.device_id), 0) AS share_of_best,
       rated.gflops / nullif((SELECT report.value FROM device_report AS report
                               WHERE report.device_id = rated.device_id
                                 AND report.figure = 'device.fma.f32'), 0) AS share_of_peak,
       rated.kernel_ns, c.variant AS kernel, rated.kernels_tried,
       rated.device_id, rated.candidate_id, rated.problem_id
  FROM rated
  JOIN devices AS d ON d.id = rated.device_id
  JOIN problems AS p ON p.id = rated.problem_id
  JOIN candidates AS c ON c.id = rated.candidate_id
 ORDER BY rated.gflops;

-- How tuning went: all samples in the order they were made. attempt counts within a run and problem, best_ns is the
-- fastest kernel so far in them (NULL until one was measured).
CREATE VIEW tuning_progress AS
SELECT s.run_id, d.name AS device, p.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       row_number() OVER progress AS attempt, s.status, c.variant AS kernel,
       CASE s.status WHEN 'measured' THEN s.kernel_ns END AS kernel_ns,
       min(CASE s.status WHEN 'measured' THEN s.kernel_ns END) OVER progress AS best_ns,
       s.detail, s.created_at, r.device_id, s.candidate_id, s.problem_id, s.id AS sample_id
  FROM samples AS s
  JOIN runs AS r ON r.id = s.run_id
  JOIN devices AS d ON d.id = r.device_id
  JOIN candidates AS c ON c.id = s.candidate_id
  JOIN problems AS p ON p.id = s.problem_id
WINDOW progress AS (PARTITION BY s.run_id, s.problem_id ORDER BY s.id ROWS UNBOUNDED PRECEDING)
 ORDER BY s.id;

-- Kernels that will not be used on a device and why: cause is 'black list', or the verdict ('failed', 'revoked') of the
-- newest certificate of a generator version.
CREATE VIEW rejected_kernels AS
SELECT d.name AS device, d.driver_info AS driver, c.signature, c.variant AS kernel, rejected.cause, rejected.reason,
       rejected.generator_version, rejected.created_at, rejected.device_id, rejected.candidate_id
  FROM (SELECT device_id, candidate_id, 'black list' AS cause, reason, NULL AS generator_version, created_at
          FROM black_list
        UNION ALL
        SELECT f.device_id, f.candidate_id, f.verdict, f.detail, f.generator_version, f.created_at
          FROM certificates AS f
         WHERE f.verdict <> 'passed'
           AND f.id = (SELECT max(newest.id) FROM certificates AS newest
                        WHERE newest.device_id = f.device_id AND newest.candidate_id = f.candidate_id
                          AND newest.generator_version = f.generator_version)) AS rejected
  JOIN devices AS d ON d.id = rejected.device_id
  JOIN candidates AS c ON c.id = rejected.candidate_id;
