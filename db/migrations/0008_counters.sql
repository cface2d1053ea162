-- What a driver's hardware counters (VK_KHR_performance_query) read while a kernel computed a problem once: one set for each
-- device, kernel and problem, the newest. Names, categories and descriptions are the driver's words.
CREATE TABLE counter_sets (
  id            INTEGER PRIMARY KEY,
  device_id     INTEGER NOT NULL REFERENCES devices (id),
  candidate_id  INTEGER NOT NULL REFERENCES candidates (id),
  problem_id    INTEGER NOT NULL REFERENCES problems (id),
  passes        INTEGER NOT NULL CHECK (passes > 0),  -- so often it was run for them
  created_at    TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  origin_id     INTEGER REFERENCES origins (id),  -- NULL for what was counted through this file
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

-- What was counted of each kernel, in the driver's order. origin is NULL for what was counted through this file.
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
