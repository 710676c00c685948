# shellcheck shell=bash
# Programs in process groups of their own, so that stopping a group stops all that it started. Sourced, never run.
#
# A script that is waiting for a program in the foreground does not see a signal before that program ends. Here every
# program runs in the background, in its own group, and the script waits for it: a trap runs at once, and ends the groups.

declare -A process_groups=()
# How long a group may take to end after TERM; more than a review needs to put its things away.
grace_seconds=12

# Starts a program:  start_group NAME LOG COMMAND...  (LOG may be - for the script's own output)
start_group() {
  local name=$1 log=$2
  shift 2
  set -m # job control gives each background program a group of its own
  if [[ $log == - ]]; then
    "$@" </dev/null &
  else
    "$@" >"$log" 2>&1 </dev/null &
  fi
  process_groups[$name]=$!
  set +m
}

# Runs a command in a directory; for start_group, where a plain `cd` would move the script.
in_directory() {
  cd -- "$1" || return
  shift
  exec "$@"
}

# Succeeds while any program of a group runs. A dead program that was not waited for yet does not count.
group_runs() {
  ps -A -o pgid=,stat= | awk -v group="$1" '$1 == group && $2 !~ /^Z/ { found = 1 } END { exit !found }'
}

# Waits for a program to end by itself, and gives its exit code:  wait_for_group NAME [MEANWHILE]
# MEANWHILE is a function that is called ten times a second until then.
wait_for_group() {
  local name=$1 meanwhile=${2:-} status=0
  if [[ -n $meanwhile ]]; then
    while kill -0 "${process_groups[$name]}" 2>/dev/null; do
      "$meanwhile"
      sleep 0.1
    done
  fi
  wait "${process_groups[$name]}" || status=$?
  # What it may have left behind is stopped too.
  stop_group "$name"
  return "$status"
}

stop_group() {
  local name=$1
  end_groups "${process_groups[$name]}"
  unset "process_groups[$name]"
}

stop_all_groups() {
  # `$!` is there for a program that was started, and not yet noted, when a signal came.
  local last=${!:-}
  end_groups "${process_groups[@]}" ${last:+"$last"}
  process_groups=()
}

# TERM, then KILL for what is still there after the grace.
end_groups() {
  local group deadline
  for group in "$@"; do
    kill -TERM -- "-$group" 2>/dev/null || true
  done
  deadline=$(($(now_ms) + grace_seconds * 1000))
  for group in "$@"; do
    while group_runs "$group"; do
      if (($(now_ms) > deadline)); then
        kill -KILL -- "-$group" 2>/dev/null || true
        break
      fi
      sleep 0.05
    done
  done
}

# Polls until a command succeeds:  wait_until NAME SECONDS COMMAND...  NAME is the group whose end ends the waiting.
# Returns 1 when the time is over, 2 when the program ended.
wait_until() {
  local name=$1 deadline=$(($(now_ms) + $2 * 1000))
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ! kill -0 "${process_groups[$name]}" 2>/dev/null; then
      return 2
    fi
    if (($(now_ms) > deadline)); then
      return 1
    fi
    step_tick
    sleep 0.1
  done
}

# Free ports of 127.0.0.1, one a line:  free_ports COUNT
# They are below those that a system hands out by itself (from 32768 on), which another program may be given before they are used.
free_ports() {
  node --eval '
    const { createServer } = require("node:net");
    const free = () => new Promise((done, failed) => {
      const port = 20000 + Math.floor(Math.random() * 12000);
      const server = createServer().listen(port, "127.0.0.1", () => done(server));
      server.once("error", (error) => (error.code === "EADDRINUSE" ? done(free()) : failed(error)));
    });
    Promise.all(Array.from({ length: Number(process.argv[1]) }, free)).then((servers) =>
      servers.forEach((server) => { console.log(server.address().port); server.close(); }));
  ' "$1"
}
