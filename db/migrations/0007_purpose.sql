-- What a sample was taken for: in a search beside the problem's other candidates, or later beside a few of them, when ranked
-- lists of another version were timed again or kernels compared for problems that were not tuned. Samples of before this
-- column count as a search's.
ALTER TABLE samples ADD COLUMN purpose TEXT NOT NULL DEFAULT 'search' CHECK (purpose IN ('search', 'refresh', 'portfolio'));
