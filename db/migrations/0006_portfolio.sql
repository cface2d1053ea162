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

-- What such a choice costs: each problem of the class in turn was left out, and the kernel that the others' times choose for
-- it compared with the fastest one there. 0.02: 2 % slower. nearest_*: had it been the best kernel of the nearest problem.
CREATE TABLE selector_regrets (
  device_id             INTEGER NOT NULL REFERENCES devices (id),
  signature             TEXT    NOT NULL,
  problems              INTEGER NOT NULL CHECK (problems > 0),
  mean                  REAL    NOT NULL CHECK (mean >= 0),
  worst_decile          REAL    NOT NULL CHECK (worst_decile >= 0),  -- one in ten costs at least this
  worst                 REAL    NOT NULL CHECK (worst >= 0),
  nearest_mean          REAL    NOT NULL CHECK (nearest_mean >= 0),
  nearest_worst_decile  REAL    NOT NULL CHECK (nearest_worst_decile >= 0),
  created_at            TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  PRIMARY KEY (device_id, signature)
) STRICT, WITHOUT ROWID;

-- What to expect of problems that were not tuned, worst class first: how many kernels there are to choose from, and what
-- the choice costs against the fastest kernel.
CREATE VIEW untuned_regret AS
SELECT d.name AS device, d.driver_info AS driver, r.signature,
       (SELECT count(*) FROM portfolio AS p JOIN candidates AS c ON c.id = p.candidate_id
         WHERE p.device_id = r.device_id AND c.signature = r.signature AND p.place IS NOT NULL) AS kernels,
       r.problems, 100 * r.mean AS mean_percent, 100 * r.worst_decile AS worst_decile_percent,
       100 * r.worst AS worst_percent, 100 * r.nearest_mean AS nearest_mean_percent,
       100 * r.nearest_worst_decile AS nearest_worst_decile_percent, r.device_id, r.created_at
  FROM selector_regrets AS r
  JOIN devices AS d ON d.id = r.device_id
 ORDER BY r.mean DESC;
