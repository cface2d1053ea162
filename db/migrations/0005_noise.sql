-- What disturbed a run's measurements, and what the tuner did about it.

-- Of measurements: runs that were thrown away and taken again, and how many of those that were kept look spoilt.
ALTER TABLE samples ADD COLUMN retaken INTEGER NOT NULL DEFAULT 0 CHECK (retaken >= 0);
ALTER TABLE samples ADD COLUMN noisy INTEGER NOT NULL DEFAULT 0 CHECK (noisy >= 0);
-- The reference kernel's time then over its time at the run's start; times here are as measured, not divided by it.
ALTER TABLE samples ADD COLUMN level REAL NOT NULL DEFAULT 1 CHECK (level > 0);

-- Where the system tells: the highest temperature of any sensor, and how often processors were throttled meanwhile.
ALTER TABLE runs ADD COLUMN highest_c REAL;
ALTER TABLE runs ADD COLUMN throttle_events INTEGER CHECK (throttle_events >= 0);

-- A kernel that is timed again and again through a run: the same for all problems of a device.
CREATE TABLE reference_samples (
  id            INTEGER PRIMARY KEY,
  run_id        INTEGER NOT NULL REFERENCES runs (id),
  kernel_ns     REAL    NOT NULL CHECK (kernel_ns > 0),  -- median
  kernel_mad_ns REAL    NOT NULL CHECK (kernel_mad_ns >= 0),
  measurements  INTEGER NOT NULL CHECK (measurements > 0),
  created_at    TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE INDEX reference_samples_of_run ON reference_samples (run_id, id);

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
