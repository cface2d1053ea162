-- Data from other machines (docs/database.md). Runs, calibrations and compiler facts carry where they are from; ranked lists
-- and black lists of others have tables of their own, so that `winners`, `black_list` and `certificates` are this machine's.

-- Databases that data is from. key goes wherever their data goes; the one with own = 1 is this file.
CREATE TABLE origins (
  id          INTEGER PRIMARY KEY,
  key         TEXT    NOT NULL UNIQUE CHECK (length(key) BETWEEN 1 AND 200),
  own         INTEGER NOT NULL CHECK (own IN (0, 1)),
  created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE UNIQUE INDEX origins_own ON origins (own) WHERE own = 1;
-- Keys of what was there before follow from the content: an old file is migrated in a copy each time it is imported, and must
-- be the same file every time.
INSERT INTO origins (key, own)
SELECT coalesce((SELECT 'old ' || device_uuid || ' ' || created_at FROM devices ORDER BY id LIMIT 1),
                lower(hex(randomblob(16)))), 1;

-- origin_id is NULL for what was measured through this file. key is the same in every file that holds the row.
ALTER TABLE runs ADD COLUMN origin_id INTEGER REFERENCES origins (id);
ALTER TABLE runs ADD COLUMN key TEXT CHECK (length(key) BETWEEN 1 AND 200);
UPDATE runs SET key = (SELECT 'old ' || d.device_uuid FROM devices AS d WHERE d.id = device_id) || ' ' || created_at || ' ' || id;
CREATE UNIQUE INDEX runs_by_key ON runs (key);

ALTER TABLE calibrations ADD COLUMN origin_id INTEGER REFERENCES origins (id);
ALTER TABLE calibrations ADD COLUMN key TEXT CHECK (length(key) BETWEEN 1 AND 200);
UPDATE calibrations
   SET key = (SELECT 'old ' || d.device_uuid FROM devices AS d WHERE d.id = device_id) || ' ' || created_at || ' ' || id;
CREATE UNIQUE INDEX calibrations_by_key ON calibrations (key);

ALTER TABLE compiler_facts ADD COLUMN origin_id INTEGER REFERENCES origins (id);

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

-- For the search for samples of similar problems.
CREATE INDEX problems_of_class ON problems (type, trans_a, trans_b, epilogue);

-- As in 0002, and what others calibrated counts only where nobody did here.
DROP VIEW device_report;
CREATE VIEW device_report AS
SELECT d.name AS device, d.kind, d.driver_name, d.driver_info, d.memory_bytes,
       f.name AS figure, f.value, f.unit, f.mad, f.measurements, s.created_at AS calibrated_at, d.id AS device_id,
       o.key AS origin
  FROM devices AS d
  LEFT JOIN calibrations AS s
    ON s.id = (SELECT newest.id FROM calibrations AS newest WHERE newest.device_id = d.id
                ORDER BY newest.origin_id IS NOT NULL, newest.id DESC LIMIT 1)
  LEFT JOIN calibration_figures AS f ON f.calibration_id = s.id
  LEFT JOIN origins AS o ON o.id = s.origin_id
 ORDER BY d.id, f.position;

-- As in 0002, each origin's times by themselves: origin is NULL for what was measured through this file.
DROP VIEW slowest_problems;
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
       rated.device_id, rated.candidate_id, rated.problem_id, o.key AS origin
  FROM rated
  JOIN devices AS d ON d.id = rated.device_id
  JOIN problems AS p ON p.id = rated.problem_id
  JOIN candidates AS c ON c.id = rated.candidate_id
  LEFT JOIN origins AS o ON o.id = rated.origin_id
 ORDER BY rated.gflops;

-- As in 0002, with the origin of the run.
DROP VIEW tuning_progress;
CREATE VIEW tuning_progress AS
SELECT s.run_id, d.name AS device, p.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       row_number() OVER progress AS attempt, s.status, c.variant AS kernel,
       CASE s.status WHEN 'measured' THEN s.kernel_ns END AS kernel_ns,
       min(CASE s.status WHEN 'measured' THEN s.kernel_ns END) OVER progress AS best_ns,
       s.detail, s.created_at, r.device_id, s.candidate_id, s.problem_id, s.id AS sample_id, o.key AS origin
  FROM samples AS s
  JOIN runs AS r ON r.id = s.run_id
  JOIN devices AS d ON d.id = r.device_id
  JOIN candidates AS c ON c.id = s.candidate_id
  JOIN problems AS p ON p.id = s.problem_id
  LEFT JOIN origins AS o ON o.id = r.origin_id
WINDOW progress AS (PARTITION BY s.run_id, s.problem_id ORDER BY s.id ROWS UNBOUNDED PRECEDING)
 ORDER BY s.id;

-- What came from other files, oldest first.
CREATE VIEW imports AS
SELECT l.created_at AS imported_at, l.file, o.key AS origin, l.devices, l.calibrations, l.runs, l.samples, l.winners,
       l.origin_id, l.id AS import_id
  FROM import_log AS l JOIN origins AS o ON o.id = l.origin_id
 ORDER BY l.id;

-- How much is known of each problem on each device, and from whom.
CREATE VIEW device_problems AS
SELECT d.name AS device, d.driver_info AS driver, p.type, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b, p.epilogue,
       count(*) AS samples, count(DISTINCT s.candidate_id) AS kernels_tried,
       min(CASE s.status WHEN 'measured' THEN s.kernel_ns + s.pack_ns END) AS best_ns, max(s.created_at) AS last_measured,
       o.key AS origin, r.device_id, s.problem_id
  FROM samples AS s
  JOIN runs AS r ON r.id = s.run_id
  JOIN devices AS d ON d.id = r.device_id
  JOIN problems AS p ON p.id = s.problem_id
  LEFT JOIN origins AS o ON o.id = r.origin_id
 GROUP BY r.device_id, r.origin_id, s.problem_id;

-- The best kernel of each bucket as other machines have it. None of them runs here before it is certified here.
CREATE VIEW imported_kernels AS
SELECT d.name AS device, d.driver_info AS driver, w.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       c.variant AS kernel, 2.0 * p.m * p.n * p.k * p.batch / nullif(w.kernel_ns, 0) AS gflops,
       w.kernel_ns, w.pack_ns, o.key AS origin, w.device_id, w.candidate_id, w.problem_id, w.created_at
  FROM imported_winners AS w
  JOIN origins AS o ON o.id = w.origin_id
  JOIN devices AS d ON d.id = w.device_id
  JOIN candidates AS c ON c.id = w.candidate_id
  JOIN problems AS p ON p.id = w.problem_id
 WHERE w.rank = 0;
