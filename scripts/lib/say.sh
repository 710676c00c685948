# shellcheck shell=bash
# What the scripts say: one line a step, with its time, and a readable failure. Sourced, never run.

# Milliseconds since the epoch.
now_ms() {
  local microseconds=${EPOCHREALTIME/[.,]/}
  echo $((microseconds / 1000))
}

# Milliseconds as a person says them: 0.3 s, 12.1 s, 3 min 02 s.
duration() {
  local ms=$1
  if ((ms < 60000)); then
    printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
  else
    printf '%d min %02d s' $((ms / 60000)) $((ms % 60000 / 1000))
  fi
}

# The time since a now_ms.
since() {
  duration $(($(now_ms) - $1))
}

say() {
  printf '%s\n' "$*"
}

# An error of the script's own: what is wrong, and what to do next.
fail() {
  local message=$1 next=${2:-}
  printf '\n%s: %s\n' "${0##*/}" "$message" >&2
  if [[ -n $next ]]; then
    printf '%s: next: %s\n' "${0##*/}" "$next" >&2
  fi
  exit 1
}

# The last lines of a log, indented, on standard error.
show_tail() {
  local log=$1 lines=${2:-30}
  if [[ -s $log ]]; then
    printf '  the last lines of its log:\n' >&2
    tail -n "$lines" -- "$log" | sed $'s/\e\\[[0-9;]*m//g; s/^/  | /' >&2
  else
    printf '  it wrote nothing to its log\n' >&2
  fi
}

# A step is a line with what is done, then how long it took.
step_begin() {
  step_started=$(now_ms)
  printf '  %-58s ' "$1"
}

step_end() {
  printf '%12s\n' "$(since "$step_started")"
}

step_failed() {
  printf 'failed after %s\n' "$(since "$step_started")"
}
