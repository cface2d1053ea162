-- Portfolios (0006) of other machines. Of each device and class (signature of the candidates) the newest one is kept, whichever
-- database it is from: a fleet of equal machines needs one. Never dispatched: `rooftile tune --refresh` certifies the kernels
-- and stores them in `portfolio`, with the times scaled to this machine.
CREATE TABLE imported_portfolio (
  origin_id     INTEGER NOT NULL REFERENCES origins (id),
  device_id     INTEGER NOT NULL REFERENCES devices (id),
  candidate_id  INTEGER NOT NULL REFERENCES candidates (id),
  place         INTEGER NOT NULL CHECK (place >= 0),
  times         TEXT    NOT NULL CHECK (json_valid(times)),  -- as in portfolio
  created_at    TEXT    NOT NULL,
  PRIMARY KEY (device_id, candidate_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_portfolio_of_candidate ON imported_portfolio (candidate_id);
