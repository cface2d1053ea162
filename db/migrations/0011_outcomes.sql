-- How certain the first kernel of a problem's ranked list is, and the kernel that it was compared with: the default, which
-- the analytical model takes for the problem without a measurement. One row for each device and problem that the tuner has
-- begun in a file of this schema; the newest run's.
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

-- How certain each winner is, least certain first: open ones, then by confidence.
CREATE VIEW tuning_outcomes AS
SELECT d.name AS device, d.driver_info AS driver, p.bucket, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b,
       c.variant AS kernel, o.verdict, 100 * o.confidence AS confidence_percent, o.tried,
       x.variant AS default_kernel, o.default_ns, o.device_id, o.problem_id, o.candidate_id, o.created_at
  FROM outcomes AS o
  JOIN devices AS d ON d.id = o.device_id
  JOIN problems AS p ON p.id = o.problem_id
  JOIN candidates AS c ON c.id = o.candidate_id
  LEFT JOIN candidates AS x ON x.id = o.default_candidate_id
 ORDER BY o.verdict <> 'open', o.confidence, o.problem_id;
