# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the benchmarks of the sidecars share: ours and the upstream program, one after the other on the same API server, with the same arguments and
# the same driver; figures from /proc and from the audit log; a table with limits. Sourced by scripts/e2e.

# E2E_SIDES=ours measures one side alone: no comparison, for work on it.
read -ra bench_sides <<<"${E2E_SIDES:-ours upstream}"
readonly bench_rate=20 bench_delay=50ms
# The limits, ours in percent of upstream's, by name.
declare -A bench_limits=()
# By side and name of the figure.
declare -A bench_value=()
bench_failed=0
# The sample driver's program.
bench_driver_command=()

# bench_options COMMAND [--counts "N..."] [--many N] [--steady N]: sets bench_counts, bench_many and bench_steady.
bench_options() {
  local command="$1"
  shift
  bench_counts='1000 3000 10000' bench_many=50000 bench_steady=600
  while (($# > 0)); do
    case $1 in
      --counts) bench_counts="${2?--counts needs numbers}" && shift 2 ;;
      --many) bench_many="${2:?--many needs a number}" && shift 2 ;;
      --steady) bench_steady="${2:?--steady needs a number}" && shift 2 ;;
      *) usage_error "$command does not know $1" ;;
    esac
  done
}

# bench_begin PROGRAM: an API server on its own, since controllers would act on what is made there; the rights of manifests/PROGRAM; the audit
# policy comes from standard input.
bench_begin() {
  session_begin ''
  PATH="$(binaries_dir kubernetes):$PATH"
  export PATH KUBECONFIG="$session_dir/admin.kubeconfig"
  # Every write stays in etcd until the API server compacts it away, minutes later.
  export ETCD_QUOTA_BACKEND_BYTES=$((8 << 30))
  cat >"$session_dir/bench-policy.yaml"
  E2E_AUDIT_POLICY="$session_dir/bench-policy.yaml" controlplane_start "$session_dir" api-only
  product_install "$1"
  # That of test/bench/client_go_informer.
  product_driver_name=bench.csi-native.io
  bench_driver_command=("$(product_path "${E2E_DRIVER-}" sample-driver)")
}

# bench_driver DIR [FLAG...]: the sample driver with its controller service alone and no volumes, called driver.
bench_driver() {
  local dir="$1"
  shift
  rm -rf "$dir/driver"
  mkdir -p "$dir/driver/state"
  process_start "$dir" driver "${bench_driver_command[@]}" --mode controller --endpoint "unix://$dir/driver/csi.sock" \
    --state-dir "$dir/driver/state" --driver-name "$product_driver_name" --node-id id-of-node-0001.example.com "$@"
  wait_until 20 'the driver listens' product_socket_ready "$dir" driver || die 'the driver does not listen'
}

# bench_start DIR SIDE PROGRAM [FLAG...]: PROGRAM (csi-provisioner, csi-attacher) of that side as process SIDE; returns when it leads. The limits of
# its API client would hide everything else.
bench_start() {
  local dir="$1" side="$2" program="$3" given
  shift 3
  case $program in
    csi-provisioner) given="${E2E_PROVISIONER-}" ;;
    csi-attacher) given="${E2E_ATTACHER-}" ;;
    *) die "no benchmark starts $program" ;;
  esac
  if [[ $side == upstream* ]]; then given=upstream; fi
  kubeconfig_for_account "$dir/$program.kubeconfig" "$product_namespace" "$program"
  process_start "$dir" "$side" "$(product_path "$given" "$program")" --csi-address "$dir/driver/csi.sock" \
    --kubeconfig "$dir/$program.kubeconfig" --leader-election --leader-election-namespace "$product_namespace" \
    --http-endpoint "127.0.0.1:$(port_reserve "$dir")" --kube-api-qps 10000 --kube-api-burst 10000 --timeout 30s -v 2 "$@"
  wait_until 60 "$side leads" bench_leads "$dir" "$side" || die "$side does not lead"
}

# Its Lease is that of its predecessor, as both have the name of this machine.
bench_leads() {
  process_check "$1" "$2" || die "$2 did not start"
  grep -qE 'successfully acquired lease|became leader' "$1/logs/$2.log"
}

# bench_settle DIR SIDE: until it has taken less than a tenth of a core for ten seconds, then ten more.
bench_settle() {
  local before now=-1000000
  while :; do
    before="$now"
    now="$(bench_cpu "$1" "$2")"
    if ((now - before < 1000)); then break; fi
    sleep 10
  done
  sleep 10
}

# bench_stop DIR SIDE...: these, and the driver.
bench_stop() {
  local dir="$1" side
  shift
  for side; do
    process_stop "$dir" "$side" TERM 20 || say "$side had to be killed"
    rm -f "$dir/logs/$side.log"
  done
  process_stop "$dir" driver || true
}

# Milliseconds of processor time so far.
bench_cpu() {
  local pid stat
  pid="$(process_id "$1" "$2")" || die "$2 ended"
  stat="$(<"/proc/$pid/stat")"
  # shellcheck disable=SC2086  # a list of words
  set -- ${stat##*) }
  printf '%d' "$(((${12} + ${13}) * 1000 / $(getconf CLK_TCK)))"
}

# bench_memory DIR SIDE FIELD: of /proc/PID/smaps_rollup, KiB.
bench_memory() {
  local pid
  pid="$(process_id "$1" "$2")" || die "$2 ended"
  awk -v field="$3:" '$1 == field { print $2 }' "/proc/$pid/smaps_rollup"
}

# bench_keep SIDE NAME VALUE
bench_keep() {
  bench_value[$1,$2]="$3"
  say "$1: $2 $3"
}

# bench_keep_memory DIR SIDE SUFFIX: RSS and anonymous memory.
bench_keep_memory() {
  bench_keep "$2" "rss_$3" "$(bench_memory "$1" "$2" Rss)"
  bench_keep "$2" "anonymous_$3" "$(bench_memory "$1" "$2" Anonymous)"
}

# bench_keep_spent DIR SIDE NAME COUNT COMMAND FLAG...: the microseconds of processor time that each of COUNT takes while the Go program does COMMAND,
# until the process is quiet again.
bench_keep_spent() {
  local dir="$1" side="$2" name="$3" count="$4" before after
  shift 4
  before="$(bench_cpu "$dir" "$side")"
  say "$side: $(bench_informer_go "$dir" "$@")"
  bench_settle "$dir" "$side"
  after="$(bench_cpu "$dir" "$side")"
  bench_keep "$side" "$name" "$(((after - before) * 1000 / count))"
}

# bench_keep_latencies DIR SIDE COUNT [SUFFIX]: p50 and p99 of that many lines of microseconds from standard input.
bench_keep_latencies() {
  local dir="$1" side="$2" count="$3" suffix="${4-}" measured
  sort -n >"$dir/latencies"
  measured="$(wc -l <"$dir/latencies")"
  ((measured == count)) || die "the audit log tells of $measured instead of $count"
  bench_keep "$side" "p50$suffix" "$(sed -n "$(((count + 1) / 2))p" "$dir/latencies")"
  bench_keep "$side" "p99$suffix" "$(sed -n "$(((count * 99 + 99) / 100))p" "$dir/latencies")"
}

# bench_latencies: from lines "KEY begin|end HOUR MINUTE SECOND" the microseconds between the first begin and the first end of each key that has
# both, one a line.
bench_latencies() {
  awk '{ time = ($3 * 60 + $4) * 60 + $5 }
    !(($1, $2) in first) { first[$1, $2] = time; if ($2 == "begin") keys[$1] }
    END {
      for (key in keys) {
        if (!((key, "end") in first)) continue
        took = first[key, "end"] - first[key, "begin"]
        if (took < -43200) took += 86400
        printf "%d\n", took * 1e6
      }
    }'
}

# What an audit event says of its end: hour, minute and second, as groups of a sed expression.
readonly bench_stamp='"stageTimestamp":"[0-9-]*T([0-9]{2}):([0-9]{2}):([0-9]{2}\.[0-9]{6})Z"'

bench_heading() {
  echo
  echo "| | csi-native | upstream | ours in % | at most |"
  echo '|---|---:|---:|---:|---:|'
}

# bench_row DESCRIPTION NAME UNIT-DIVISOR [LIMIT-NAME]: a row; fails the run when ours is beyond its limit.
bench_row() {
  local ours="${bench_value[ours,$2]}" upstream="${bench_value[upstream,$2]}" limit="${bench_limits[${4:-none}]--}"
  awk -v what="$1" -v ours="$ours" -v upstream="$upstream" -v divisor="$3" -v limit="$limit" 'BEGIN {
    # Nothing to compare with: that is beyond, too.
    percent = upstream > 0 ? 100 * ours / upstream : 99999
    bad = limit != "-" && percent > limit
    printf "| %s | %.2f | %.2f | %.1f | %s%s |\n", what, ours / divisor, upstream / divisor, percent, limit, bad ? ", **beyond**" : ""
    exit bad }' || bench_failed=1
}

# bench_end: the run fails when a limit did not hold.
bench_end() {
  ((bench_failed == 0)) || die 'a limit does not hold'
  session_succeeded=1
}
