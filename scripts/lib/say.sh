# shellcheck shell=bash
# What the scripts say: one line a step, with its time, and a readable failure. Sourced, never run.

# Colors, and lines that change, are for terminals only.
live=false bold='' dim='' red='' plain=''
if [[ -t 1 && ${TERM:-dumb} != dumb ]]; then
  live=true
  if [[ -z ${NO_COLOR:-} ]]; then
    bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' plain=$'\e[0m'
  fi
fi

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

say_bold() {
  printf '%s%s%s\n' "$bold" "$*" "$plain"
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

# A command line that cannot be used: what is wrong with it, and the script's usage.
bad_usage() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  usage >&2
  exit 2
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
  step_label=$1
  step_started=$(now_ms)
  step_shown=0
  printf '  %-58s ' "$1"
}

# In a terminal, how long the step takes so far; once a second, for steps that take a while.
step_tick() {
  local seconds=$((($(now_ms) - step_started) / 1000))
  if [[ $live == true ]] && ((seconds > step_shown)); then
    step_shown=$seconds
    printf '\r  %-58s %s%12s%s' "$step_label" "$dim" "$(duration $((seconds * 1000)))" "$plain"
  fi
}

step_end() {
  step_rewind
  printf '%s%12s%s\n' "$dim" "$(since "$step_started")" "$plain"
}

# A line for what took its time without being a step:  step_took LABEL STARTED
step_took() {
  printf '  %-58s %s%12s%s\n' "$1" "$dim" "$(since "$2")" "$plain"
}

step_failed() {
  step_rewind
  printf '%sfailed after %s%s\n' "$red" "$(since "$step_started")" "$plain"
}

# The cursor goes back to where step_begin left it, and what step_tick wrote there goes away.
step_rewind() {
  if ((step_shown > 0)); then
    printf '\r  %-58s \e[K' "$step_label"
  fi
}
