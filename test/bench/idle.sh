#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What idle processes cost: memory, threads, descriptors and wakeups, as rows of a Markdown table.
#
#   test/bench/idle.sh [--seconds N] NAME=PID...
#
# RSS, PSS and anonymous memory are from /proc/PID/smaps_rollup, taken at the end (so it needs the processes' user, or root). Anonymous
# memory is what the process alone pays: heap and stacks, no program text. A wakeup is a voluntary context switch of any of its threads,
# counted over N seconds (default 60), or as long as it took on a busy machine, and given for one minute.

set -euo pipefail

usage() {
  echo 'usage: test/bench/idle.sh [--seconds N] NAME=PID...' >&2
  exit 2
}

# Voluntary context switches of all threads of process $1, each as `thread count`.
switches() {
  local status
  for status in "/proc/$1/task"/*/status; do
    awk '/^Pid:/ { id = $2 } /^voluntary_ctxt_switches:/ { print id, $2 }' "$status" 2>/dev/null || true
  done
}

# How much the counters in $2 are above those in $1. A thread that is new counts from nought; one that has ended is not counted.
switches_between() {
  awk 'NR == FNR { before[$1] = $2; next } { sum += $2 - before[$1] } END { print sum + 0 }' <(printf '%s\n' "$1") <(printf '%s\n' "$2")
}

# milliseconds since the epoch
now_ms() { printf '%s' "$((${EPOCHREALTIME/[.,]/} / 1000))"; }

# The value of field $2 of /proc/PID/smaps_rollup, in MiB.
rollup_mib() { awk -v field="$2:" '$1 == field { printf "%.1f", $2 / 1024 }' "/proc/$1/smaps_rollup"; }

main() {
  local seconds=60 process pid name threads descriptors wakeups
  declare -A before begun
  if [[ ${1-} == --seconds ]]; then
    seconds="${2-}"
    [[ $seconds =~ ^[1-9][0-9]*$ ]] || usage
    shift 2
  fi
  (($# > 0)) || usage
  for process; do
    [[ $process =~ ^[^=]+=[0-9]+$ ]] || usage
    pid="${process##*=}"
    if [[ ! -r /proc/$pid/smaps_rollup ]]; then
      echo "idle.sh: no process $pid, or not ours" >&2
      exit 1
    fi
    before[$process]="$(switches "$pid")"
    begun[$process]="$(now_ms)"
  done
  sleep "$seconds"
  echo '| process | RSS MiB | PSS MiB | anonymous MiB | threads | descriptors | wakeups/min |'
  echo '|---|---:|---:|---:|---:|---:|---:|'
  for process; do
    pid="${process##*=}"
    name="${process%=*}"
    # The counters first: reading smaps takes time.
    wakeups="$(($(switches_between "${before[$process]}" "$(switches "$pid")") * 60000 / ($(now_ms) - begun[$process])))"
    threads="$(awk '/^Threads:/ { print $2 }' "/proc/$pid/status")"
    descriptors="$(find "/proc/$pid/fd" -mindepth 1 | wc -l)"
    printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$name" "$(rollup_mib "$pid" Rss)" "$(rollup_mib "$pid" Pss)" \
      "$(rollup_mib "$pid" Anonymous)" "$threads" "$descriptors" "$wakeups"
  done
}

main "$@"
