# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Programs that are started again when they end, as kubelet does with containers, and kills at random moments. Sourced by scripts/e2e.

# The pause before a restart.
readonly supervisor_pause=0.2

# supervisor_start DIR NAME COMMAND...: process_start, for ever. DIR/supervised/NAME holds the id of the running program and when it was
# started; logs/supervisor.log tells of each end.
supervisor_start() {
  local dir="$1" name="$2"
  shift 2
  mkdir -p "$dir/supervised"
  # shellcheck disable=SC2016  # expanded inside
  process_start "$dir" "$name" bash -uc "$(declare -f process_start_time)"'
    record="$1/supervised/$2" log="$1/logs/supervisor.log" name="$2" pause="$3" pid=""
    shift 3
    trap '\''trap "" TERM; rm -f "$record"; [[ -z $pid ]] || { kill "$pid" 2>/dev/null; wait "$pid"; }; exit 0'\'' TERM
    while :; do
      "$@" &
      pid=$!
      printf "%s %s\n" "$pid" "$(process_start_time "$pid")" >"$record"
      status=0
      wait "$pid" || status=$?
      rm -f "$record"
      printf "%s %s %s ended with %s\n" "$(date -u +%T.%3N)" "$name" "$pid" "$status" >>"$log"
      sleep "$pause"
    done' supervisor "$dir" "$name" "$supervisor_pause" "$@"
}

# supervisor_program DIR NAME: the id of the program while it runs.
supervisor_program() {
  local pid start
  read -r pid start 2>/dev/null <"$1/supervised/$2" || return 1
  [[ $(process_start_time "$pid") == "$start" ]] || return 1
  printf '%s' "$pid"
}

# supervisor_restarts DIR NAME: how often it has ended so far.
supervisor_restarts() {
  local count
  count="$(grep -c " $2 [0-9]* ended with " "$1/logs/supervisor.log" 2>/dev/null)" || true
  # Before the first end there is no log.
  printf '%d' "${count:-0}"
}

# supervisor_moments SEED SECONDS COUNT NAME...: lines "MILLISECONDS NAME" in order of time.
supervisor_moments() {
  local seed="$1" seconds="$2" count="$3" name i
  shift 3
  {
    # In here: a subshell does not inherit the seed.
    RANDOM=$seed
    for name; do
      for ((i = 0; i < count; i++)); do
        printf '%d %s\n' "$(((RANDOM * 32768 + RANDOM) % (seconds * 1000)))" "$name"
      done
    done
  } | sort -n -k 1,1 -k 2
}

# supervisor_kill_at_random DIR SEED SECONDS COUNT NAME...: supervisor_kill for each program at COUNT random moments of the next seconds, which
# depend on the seed only.
supervisor_kill_at_random() {
  local dir="$1"
  shift
  supervisor_moments "$@" >"$dir/kills"
  supervisor_kill "$dir"
}

# supervisor_kill_every DIR MILLISECONDS NAME: supervisor_kill for an hour, or until process "killer" is stopped.
supervisor_kill_every() {
  local dir="$1" interval="$2" name="$3" moment
  for ((moment = interval; moment < 3600000; moment += interval)); do printf '%d %s\n' "$moment" "$name"; done >"$dir/kills"
  supervisor_kill "$dir"
}

# supervisor_kill DIR: kills with SIGKILL at the moments in DIR/kills; process "killer" does it and leaves a line for each kill in logs/kills.log.
supervisor_kill() {
  local dir="$1"
  : >"$dir/logs/kills.log"
  # shellcheck disable=SC2016  # expanded inside
  process_start "$dir" killer bash -euc "$(declare -f process_start_time supervisor_program now_ms)"'
    dir="$1" begun="$(now_ms)"
    while read -r moment name; do
      pause=$((begun + moment - $(now_ms)))
      if ((pause > 0)); then sleep "$((pause / 1000)).$(printf %03d "$((pause % 1000))")"; fi
      # Between two lives there is nothing to kill.
      until pid="$(supervisor_program "$dir" "$name")" && kill -KILL "$pid" 2>/dev/null; do sleep 0.01; done
      printf "%s %s %s\n" "$(date -u +%T.%3N)" "$name" "$pid" >>"$dir/logs/kills.log"
      # The next kill of this program meets its next life.
      while supervisor_program "$dir" "$name" >/dev/null; do sleep 0.01; done
    done <"$dir/kills"' killer "$dir"
}
