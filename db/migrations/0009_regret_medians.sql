-- What a choice for an untuned problem costs is told by its median with a 95 % interval: a mean is moved by single bad
-- choices. Figures may be below 0 where kernels differ by noise alone, so they are no longer raised to 0.
DROP VIEW untuned_regret;
ALTER TABLE selector_regrets RENAME TO selector_regrets_without_medians;
CREATE TABLE selector_regrets (
  device_id             INTEGER NOT NULL REFERENCES devices (id),
  signature             TEXT    NOT NULL,
  problems              INTEGER NOT NULL CHECK (problems > 0),
  -- NULL for fewer than six problems, and in rows from before these columns. low and high: the interval's ends.
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
INSERT INTO selector_regrets (device_id, signature, problems, mean, worst_decile, worst, nearest_mean,
                              nearest_worst_decile, created_at)
SELECT device_id, signature, problems, mean, worst_decile, worst, nearest_mean, nearest_worst_decile, created_at
  FROM selector_regrets_without_medians;
DROP TABLE selector_regrets_without_medians;

-- What to expect of problems that were not tuned, worst class first: how many kernels there are to choose from, and what
-- the choice costs against the fastest kernel.
CREATE VIEW untuned_regret AS
SELECT d.name AS device, d.driver_info AS driver, r.signature,
       (SELECT count(*) FROM portfolio AS p JOIN candidates AS c ON c.id = p.candidate_id
         WHERE p.device_id = r.device_id AND c.signature = r.signature AND p.place IS NOT NULL) AS kernels,
       r.problems, 100 * r.mean AS mean_percent,
       CASE WHEN r.problems >= 10 THEN 100 * r.worst_decile END AS worst_decile_percent,
       100 * r.worst AS worst_percent, 100 * r.nearest_mean AS nearest_mean_percent,
       CASE WHEN r.problems >= 10 THEN 100 * r.nearest_worst_decile END AS nearest_worst_decile_percent,
       r.device_id, r.created_at, 100 * r.median AS median_percent, 100 * r.median_low AS median_low_percent,
       100 * r.median_high AS median_high_percent, 100 * r.nearest_median AS nearest_median_percent
  FROM selector_regrets AS r
  JOIN devices AS d ON d.id = r.device_id
 ORDER BY r.median IS NULL, r.median DESC, r.mean DESC;
