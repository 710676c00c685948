-- Ends of runs by their run: a run that was counted as completed and then turns out to have failed is taken out of the sums of its day.
CREATE INDEX events_completed ON events (run_id) WHERE kind = 'run_completed';
