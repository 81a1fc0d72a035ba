# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Our informers beside client-go's, in one run: memory, load time and processor time with many claims and volumes in a real API server.
# Sourced by scripts/e2e.

# The limits: bytes resident a pair over the idle process, peak in percent of the steady state, cores that 5,000 events a second may take.
readonly bench_informer_pair_bytes=1536 bench_informer_peak_percent=130 bench_informer_core_percent=50
readonly bench_informer_rate=5000
bench_informer_failed=0

# bench_informer [--pairs N] [--rounds N] [--seconds N]: prints Markdown tables; fails when a limit does not hold.
bench_informer() {
  local pairs=50000 rounds=3 seconds=20 dir side round
  while (($# > 0)); do
    case $1 in
      --pairs) pairs="${2:?--pairs needs a number}" && shift 2 ;;
      --rounds) rounds="${2:?--rounds needs a number}" && shift 2 ;;
      --seconds) seconds="${2:?--seconds needs a number}" && shift 2 ;;
      *) usage_error "bench-informer does not know $1" ;;
    esac
  done
  product_ensure informer_bench
  binaries_ensure client-go-informer
  session_begin ''
  dir="$session_dir"
  # Every write stays in etcd until the API server compacts it away, minutes later.
  export ETCD_QUOTA_BACKEND_BYTES=$((8 << 30))
  # Controllers would change the objects.
  controlplane_start "$dir" api-only
  declare -A idle rss peak wall cpu core
  for side in ours everything client-go; do
    bench_informer_start "$dir" "$side" 0 "$dir/admin.kubeconfig"
    idle[$side]="$(bench_informer_status "$dir" "$side" VmRSS)"
    process_stop "$dir" "$side"
  done
  say "making $pairs claims and their volumes"
  bench_informer_go "$dir" seed --pairs "$pairs" >&2
  for ((round = 1; round <= rounds; round++)); do
    for side in ours everything client-go; do
      bench_informer_start "$dir" "$side" "$((2 * pairs))" "$dir/admin.kubeconfig"
      say "round $round, $side: $(tail -n 1 "$dir/logs/$side.log")"
      bench_informer_keep wall "$side" -lt "$(bench_informer_field "$dir" "$side" wall_us)"
      bench_informer_keep cpu "$side" -lt "$(bench_informer_field "$dir" "$side" cpu_us)"
      bench_informer_keep rss "$side" -gt "$(bench_informer_status "$dir" "$side" VmRSS)"
      bench_informer_keep peak "$side" -gt "$(bench_informer_status "$dir" "$side" VmHWM)"
      process_stop "$dir" "$side"
    done
  done
  bench_informer_load_table "$pairs"

  echo
  echo '| changes | informer | events/s | processor µs an event | of a core % | RSS MiB afterwards |'
  echo '|---|---|---:|---:|---:|---:|'
  for side in ours client-go; do
    bench_informer_start "$dir" "$side" "$((2 * pairs))" "$dir/admin.kubeconfig"
    bench_informer_churn "$dir" "$side" 'patched, as fast as the API server can' --via api --rate 0 --pairs "$pairs" --seconds "$seconds"
    bench_informer_churn "$dir" "$side" 'written into etcd' --via etcd --rate 1000 --pairs "$pairs" --seconds "$seconds"
    process_stop "$dir" "$side"
  done
  # The API server and etcd would need more than this machine for the limit's rate.
  bench_informer_replay "$dir" "$pairs"
  for ((round = 1; round <= rounds; round++)); do
    for side in ours client-go; do
      bench_informer_start "$dir" "$side" "$((2 * pairs))" "$dir/replay.kubeconfig"
      bench_informer_churn "$dir" "$side" 'replayed' --via replay --rate "$bench_informer_rate" --seconds "$seconds"
      process_stop "$dir" "$side"
    done
  done
  bench_informer_limit "percent of a core for $bench_informer_rate events a second" "${core[ours]}" "$bench_informer_core_percent"
  ((bench_informer_failed == 0)) || die 'a limit does not hold'
  session_succeeded=1
}

# bench_informer_start DIR SIDE OBJECTS KUBECONFIG: the process of that side, filled and settled; fails when it holds another number of objects.
bench_informer_start() {
  local dir="$1" side="$2" program=() objects
  case $side in
    ours) program=("$product_build/bin/informer_bench") ;;
    everything) program=("$product_build/bin/informer_bench" --keep all) ;;
    client-go) program=("$(binaries_dir client-go-informer)/client-go-informer" informer) ;;
  esac
  rm -f "$dir/logs/$side.log"
  process_start "$dir" "$side" "${program[@]}" --kubeconfig "$4"
  wait_until 300 "$side is filled" bench_informer_said "$dir" "$side" synced || die "$side is not filled"
  objects="$(bench_informer_field "$dir" "$side" objects)"
  ((objects == $3)) || die "$side has $objects objects instead of $3"
  sleep 5
}

bench_informer_said() {
  process_check "$1" "$2" || die "$2 ended"
  grep -qw "^$3" "$1/logs/$2.log"
}

# bench_informer_field DIR SIDE FIELD: of the last line that the side printed.
bench_informer_field() { grep -E '^(synced|report) ' "$1/logs/$2.log" | tail -n 1 | grep -oP "(?<= $3=)[0-9]+"; }

# bench_informer_status DIR SIDE FIELD: of /proc/PID/status, KiB.
bench_informer_status() {
  local pid
  pid="$(process_id "$1" "$2")" || die "$2 ended"
  awk -v field="$3:" '$1 == field { print $2 }' "/proc/$pid/status"
}

# bench_informer_keep ARRAY SIDE -lt|-gt VALUE: remembers the smallest or the largest value.
bench_informer_keep() {
  local -n values="$1"
  if [[ -z ${values[$2]-} ]] || test "$4" "$3" "${values[$2]}"; then values[$2]="$4"; fi
}

# bench_informer_go DIR COMMAND FLAG...: the Go program, to its end.
bench_informer_go() {
  local dir="$1" command="$2" etcd kubeconfig="$1/admin.kubeconfig"
  shift 2
  if [[ " $* " == *' --via replay '* ]]; then kubeconfig="$dir/replay.kubeconfig"; fi
  etcd="$(tr '\0' '\n' <"/proc/$(process_id "$dir" etcd)/cmdline" | grep -A 1 -x -- --advertise-client-urls | tail -n 1)"
  "$(binaries_dir client-go-informer)/client-go-informer" "$command" --kubeconfig "$kubeconfig" --etcd "$etcd" --pki "$dir/pki" "$@" ||
    die "client-go-informer $command failed"
}

# bench_informer_limit DESCRIPTION VALUE LIMIT: says when the value is above the limit.
bench_informer_limit() {
  (($2 <= $3)) && return
  say "$1: $2, limit $3"
  bench_informer_failed=1
}

# Uses the arrays of bench_informer. Memory is the largest of all rounds, time the smallest.
bench_informer_load_table() {
  local side pairs="$1" pair percent
  echo '| informer | idle RSS MiB | loaded RSS MiB | bytes a pair | peak % of loaded | load s | load processor s |'
  echo '|---|---:|---:|---:|---:|---:|---:|'
  for side in ours everything client-go; do
    pair="$(((rss[$side] - idle[$side]) * 1024 / pairs))"
    percent="$((peak[$side] * 100 / rss[$side]))"
    awk -v side="$side" -v idle="${idle[$side]}" -v rss="${rss[$side]}" -v pair="$pair" -v percent="$percent" -v wall="${wall[$side]}" \
      -v cpu="${cpu[$side]}" 'BEGIN {
        printf "| %s | %.1f | %.1f | %d | %d | %.2f | %.2f |\n", side, idle / 1024, rss / 1024, pair, percent, wall / 1e6, cpu / 1e6 }'
    [[ $side == ours ]] || continue
    bench_informer_limit 'bytes a pair' "$pair" "$bench_informer_pair_bytes"
    bench_informer_limit 'peak in percent' "$percent" "$bench_informer_peak_percent"
  done
  bench_informer_limit 'microseconds until filled, with that of client-go as the limit' "${wall[ours]}" "${wall[client-go]}"
}

# bench_informer_churn DIR SIDE DESCRIPTION FLAG...: changes objects and prints a row of what they cost the side.
bench_informer_churn() {
  local dir="$1" side="$2" description="$3" before after cpu writes seconds output
  shift 3
  bench_informer_report "$dir" "$side"
  before="$(bench_informer_field "$dir" "$side" events)"
  cpu="$(bench_informer_field "$dir" "$side" cpu_us)"
  output="$(bench_informer_go "$dir" churn "$@")"
  writes="$(grep -oP '(?<= writes=)[0-9]+' <<<"$output")"
  seconds="$(grep -oP '(?<= seconds=)[0-9.]+' <<<"$output")"
  wait_until 30 "$side has seen all changes" bench_informer_caught_up "$dir" "$side" "$((before + writes))" ||
    die "$side lost changes: $(bench_informer_field "$dir" "$side" events) events, $((before + writes)) expected"
  cpu="$(($(bench_informer_field "$dir" "$side" cpu_us) - cpu))"
  awk -v what="$description" -v side="$side" -v writes="$writes" -v seconds="$seconds" -v cpu="$cpu" \
    -v rss="$(bench_informer_status "$dir" "$side" VmRSS)" 'BEGIN {
      printf "| %s | %s | %.0f | %.1f | %.1f | %.1f |\n", what, side, writes / seconds, cpu / writes, cpu / seconds / 1e4, rss / 1024 }'
  if [[ $description == replayed ]]; then bench_informer_keep core "$side" -lt "$((cpu * bench_informer_rate / writes / 10000))"; fi
}

# bench_informer_replay DIR PAIRS: a server that makes up as many events as it is asked for, from a pair as the API server has it;
# DIR/replay.kubeconfig leads to it.
bench_informer_replay() {
  local dir="$1" port
  port="$(port_reserve "$dir")"
  process_start "$dir" replay "$(binaries_dir client-go-informer)/client-go-informer" replay --kubeconfig "$dir/admin.kubeconfig" \
    --pki "$dir/pki" --pairs "$2" --listen "127.0.0.1:$port"
  wait_until 20 'the replaying server listens' bench_informer_said "$dir" replay 'listening' || die 'the replaying server does not start'
  sed "s#server: .*#server: https://127.0.0.1:$port#" "$dir/admin.kubeconfig" >"$dir/replay.kubeconfig"
}

# bench_informer_report DIR SIDE: makes the side print a line.
bench_informer_report() {
  local dir="$1" side="$2" lines
  lines="$(wc -l <"$dir/logs/$side.log")"
  kill -USR1 "$(process_id "$dir" "$side")"
  wait_until 10 "$side reports" bench_informer_longer "$dir/logs/$side.log" "$lines" || die "$side does not report"
}

bench_informer_longer() { (($(wc -l <"$1") > $2)); }

bench_informer_caught_up() {
  local events
  bench_informer_report "$1" "$2"
  events="$(bench_informer_field "$1" "$2" events)"
  ((events <= $3)) || die "$2 has seen $events events, only $3 were caused"
  ((events == $3))
}
