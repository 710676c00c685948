# The benchmark of a whole run, for `scripts/bench runtime`. Sourced; env.sh was sourced before.
# shellcheck shell=bash

# Builds conclave as it is shipped, and measures a run with seven reviewers.
bench_runtime() {
  cargo bench --quiet -p conclave --bench runtime
}
