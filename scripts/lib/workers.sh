# shellcheck shell=bash
# Builds the two Workers, and starts them in workerd. Sourced, never run; needs env.sh, say.sh and processes.sh.

# What a Worker is built from, as one line.
worker_inputs() {
  local files
  cd -- "$CONCLAVE_ROOT" || return
  files=$(find "workers/$1" workers/common shared docs/schema Cargo.toml Cargo.lock rust-toolchain.toml wrangler.toml \
    scripts/versions.env package-lock.json \( -name build -o -name tests -o -name node_modules \) -prune -o -type f -print | LC_ALL=C sort)
  { printf '%s\n' "$files" && git hash-object --no-filters --stdin-paths <<<"$files"; } | git hash-object --stdin
}

# What was built, as one line; it may have been built another way since.
worker_outputs() {
  find "$CONCLAVE_ROOT/workers/$1/build" -maxdepth 1 \( -name '*.js' -o -name '*.wasm' \) | LC_ALL=C sort |
    git hash-object --no-filters --stdin-paths | git hash-object --stdin
}

# Builds a Worker as wrangler.toml says, unless it is built and nothing has changed since:  build_worker NAME [quickly]
# Runs it through wrangler's dry run, which also checks the bindings, so that there is one build command. What was built quickly, for
# the demo, is built again where it has to be the real one; the demo takes either.
build_worker() {
  local name=$1 how=${2:-} directory="$CONCLAVE_ROOT/workers/$1/build" inputs built options=()
  inputs=$(worker_inputs "$name")
  if [[ -f $directory/index.js && -f $directory/.built ]]; then
    built="$inputs $(worker_outputs "$name")"
    if [[ $(<"$directory/.built") == "$built" || (-n $how && $(<"$directory/.built") == "$built $how") ]]; then
      echo "workers/$name: nothing changed"
      return
    fi
  fi
  if [[ $how == quickly ]]; then
    options=(WORKER_BUILD_OPTIONS='--profile worker-demo --no-opt')
  fi
  (cd -- "$CONCLAVE_ROOT" && env -u SKIP_WORKER_BUILD -u WORKER_BUILD_OPTIONS "${options[@]}" wrangler deploy --dry-run -e "$name" \
    --outdir "target/workers/$name" </dev/null) || return
  [[ -f $directory/index.js ]] || return
  echo "$inputs $(worker_outputs "$name")${how:+ $how}" >"$directory/.built"
}

# Where a Worker keeps its KV and D1. Each has a place of its own: two that share one and start at the same time can
# find each other's SQLite files locked, and then workerd ends.
worker_state() {
  echo "$2/workerd/$1"
}

# Runs a built Worker in workerd, in place of the shell that calls it:  run_worker NAME PORT STATE SECRETS
# Secrets come from a file, not from the command line that every user of the machine can read. It wins over a .dev.vars.
run_worker() {
  local name=$1 port=$2 state=$3 secrets=$4
  in_directory "$CONCLAVE_ROOT" env SKIP_WORKER_BUILD=1 CLOUDFLARE_CF_FETCH_ENABLED=false \
    WRANGLER_LOG_PATH="$state/wrangler-logs" WRANGLER_REGISTRY_PATH="$state/wrangler-registry" \
    wrangler dev -e "$name" --ip 127.0.0.1 --port "$port" --inspector-port 0 --persist-to "$(worker_state "$name" "$state")" \
    --env-file "$secrets" --show-interactive-dev-session=false
}
