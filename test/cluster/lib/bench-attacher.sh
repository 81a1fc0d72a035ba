# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Our csi-attacher beside the upstream one, in one run: processor time for an attach and a detach, memory at rest and with many attachments, and how
# long an attach takes at a steady rate. Same control plane, same arguments, same driver, one after the other. Sourced by scripts/e2e.

# The limits, ours in percent of upstream's.
declare -rA bench_attacher_limits=([attach]=33.4 [detach]=33.4 [idle_anonymous]=33.4 [idle_rss]=42 [rss_10000]=12.5 [rss_50000]=10 [p50]=66.7 [p99]=66.7)
readonly bench_attacher_rate=20 bench_attacher_delay=50ms bench_attacher_sides=(ours upstream)
bench_attacher_failed=0
# By side and name of the figure.
declare -A bench_attacher_value=()

# bench_attacher [--counts "N..."] [--many N] [--steady N]: prints Markdown tables; fails when a limit does not hold. --many 0 leaves that part
# out, as does --counts ''; --steady is the number of attachments at a steady rate.
bench_attacher() {
  local counts='1000 3000 10000' many=50000 steady=600 dir side count
  while (($# > 0)); do
    case $1 in
      --counts) counts="${2?--counts needs numbers}" && shift 2 ;;
      --many) many="${2:?--many needs a number}" && shift 2 ;;
      --steady) steady="${2:?--steady needs a number}" && shift 2 ;;
      *) usage_error "bench-attacher does not know $1" ;;
    esac
  done
  if [[ -z ${E2E_ATTACHER-} ]]; then product_ensure csi-attacher; fi
  if [[ -z ${E2E_DRIVER-} ]]; then product_ensure sample-driver; fi
  binaries_ensure upstream
  binaries_ensure client-go-informer
  binaries_ensure kubernetes
  bench_attacher_begin
  dir="$session_dir"
  for side in "${bench_attacher_sides[@]}"; do
    bench_attacher_idle "$dir" "$side"
  done
  for count in $counts; do
    for side in "${bench_attacher_sides[@]}"; do bench_attacher_count "$dir" "$side" "$count"; done
  done
  if ((many > 0)); then
    for side in "${bench_attacher_sides[@]}"; do bench_attacher_many "$dir" "$side" "$many"; done
  fi
  if ((steady > 0)); then
    for side in "${bench_attacher_sides[@]}"; do bench_attacher_steady "$dir" "$side" "$steady"; done
  fi
  bench_attacher_report "$counts" "$many" "$steady"
  ((bench_attacher_failed == 0)) || die 'a limit does not hold'
  session_succeeded=1
}

# An API server on its own: controllers would act on what is made here. One line in the audit log for each write to attachments.
bench_attacher_begin() {
  session_begin ''
  PATH="$(binaries_dir kubernetes):$PATH"
  export PATH KUBECONFIG="$session_dir/admin.kubeconfig"
  export ETCD_QUOTA_BACKEND_BYTES=$((8 << 30))
  cat >"$session_dir/attachments-policy.yaml" <<'YAML'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [create, patch, update]
  resources: [{group: storage.k8s.io, resources: [volumeattachments, volumeattachments/status]}]
- level: None
YAML
  E2E_AUDIT_POLICY="$session_dir/attachments-policy.yaml" controlplane_start "$session_dir" api-only
  product_install attacher
  # That of test/bench/client_go_informer.
  product_driver_name=bench.csi-native.io
}

# bench_attacher_start DIR SIDE [DRIVER-FLAG...]: driver and csi-attacher; returns when it leads and has settled. Their API limits would hide
# everything else.
bench_attacher_start() {
  local dir="$1" side="$2" path="${E2E_ATTACHER-}" port
  shift 2
  if [[ $side == upstream ]]; then path=upstream; fi
  rm -rf "$dir/driver"
  mkdir -p "$dir/driver/state"
  # It keeps no volumes, so it cannot list them.
  process_start "$dir" driver "$(product_path "${E2E_DRIVER-}" sample-driver)" --mode controller --endpoint "unix://$dir/driver/csi.sock" \
    --state-dir "$dir/driver/state" --driver-name "$product_driver_name" --node-id id-of-node-0001.example.com --any-volume \
    --without LIST_VOLUMES,LIST_VOLUMES_PUBLISHED_NODES "$@"
  wait_until 20 'the driver listens' product_socket_ready "$dir" driver || die 'the driver does not listen'
  kubeconfig_for_account "$dir/csi-attacher.kubeconfig" "$product_namespace" csi-attacher
  port="$(port_reserve "$dir")"
  process_start "$dir" "$side" "$(product_path "$path" csi-attacher)" --csi-address "$dir/driver/csi.sock" \
    --kubeconfig "$dir/csi-attacher.kubeconfig" --leader-election --leader-election-namespace "$product_namespace" \
    --http-endpoint "127.0.0.1:$port" --kube-api-qps 10000 --kube-api-burst 10000 --timeout 30s -v 2
  wait_until 60 "$side leads" bench_attacher_leads "$dir" "$side" || die "$side does not lead"
  bench_attacher_settle "$dir" "$side"
}

# Its Lease is that of its predecessor, as both have the name of this machine.
bench_attacher_leads() {
  process_check "$1" "$2" || die "$2 did not start"
  grep -qE 'successfully acquired lease|became leader' "$1/logs/$2.log"
}

# bench_attacher_settle DIR SIDE: until it has taken less than a tenth of a core for ten seconds, then ten more.
bench_attacher_settle() {
  local before now=-1000000
  while :; do
    before="$now"
    now="$(bench_attacher_cpu "$1" "$2")"
    if ((now - before < 1000)); then break; fi
    sleep 10
  done
  sleep 10
}

bench_attacher_stop() {
  process_stop "$1" "$2" TERM 20 || say "$2 had to be killed"
  process_stop "$1" driver || true
  rm -f "$1/logs/$2.log"
}

# Milliseconds of processor time so far.
bench_attacher_cpu() {
  local pid stat
  pid="$(process_id "$1" "$2")" || die "$2 ended"
  stat="$(<"/proc/$pid/stat")"
  # shellcheck disable=SC2086  # a list of words
  set -- ${stat##*) }
  printf '%d' "$(((${12} + ${13}) * 1000 / $(getconf CLK_TCK)))"
}

# bench_attacher_memory DIR SIDE FIELD: of /proc/PID/smaps_rollup, KiB.
bench_attacher_memory() {
  local pid
  pid="$(process_id "$1" "$2")" || die "$2 ended"
  awk -v field="$3:" '$1 == field { print $2 }' "/proc/$pid/smaps_rollup"
}

bench_attacher_keep() {
  bench_attacher_value[$1,$2]="$3"
  say "$1: $2 $3"
}

# bench_attacher_tool DIR COMMAND FLAG...
bench_attacher_tool() {
  local dir="$1" command="attachments-$2"
  shift 2
  bench_informer_go "$dir" "$command" "$@"
}

bench_attacher_idle() {
  local dir="$1" side="$2"
  bench_attacher_start "$dir" "$side"
  sleep 20
  bench_attacher_keep "$side" idle_anonymous "$(bench_attacher_memory "$dir" "$side" Anonymous)"
  bench_attacher_keep "$side" idle_rss "$(bench_attacher_memory "$dir" "$side" Rss)"
  bench_attacher_stop "$dir" "$side"
}

# bench_attacher_calls DIR SIDE attach|detach NAME FLAG...: does so, and keeps the microseconds of processor time that each one took. The flags end with
# the number of attachments.
bench_attacher_calls() {
  local dir="$1" side="$2" what="$3" name="$4" before after
  shift 4
  before="$(bench_attacher_cpu "$dir" "$side")"
  say "$side: $(bench_attacher_tool "$dir" "$what" --rate 0 "$@")"
  bench_attacher_settle "$dir" "$side"
  after="$(bench_attacher_cpu "$dir" "$side")"
  bench_attacher_keep "$side" "${what}_$name" "$(((after - before) * 1000 / ${*: -1}))"
}

bench_attacher_count() {
  local dir="$1" side="$2" count="$3" flags
  flags=(--tag "$side-$count" --count "$count")
  bench_attacher_tool "$dir" volumes "${flags[@]}"
  bench_attacher_start "$dir" "$side"
  bench_attacher_calls "$dir" "$side" attach "$count" "${flags[@]}"
  bench_attacher_keep "$side" "rss_$count" "$(bench_attacher_memory "$dir" "$side" Rss)"
  bench_attacher_calls "$dir" "$side" detach "$count" "${flags[@]}"
  bench_attacher_stop "$dir" "$side"
  bench_attacher_tool "$dir" empty
}

# What the first one becomes by way of csi-attacher, the others are in etcd; the last thousand, or half of them, are detached and attached again.
bench_attacher_many() {
  local dir="$1" side="$2" count="$3" tag="$2-many" moved=1000 flags
  if ((moved > count / 2)); then moved=$((count / 2)); fi
  flags=(--tag "$tag" --first "$((count - moved))" --count "$moved")
  bench_attacher_tool "$dir" volumes --tag "$tag" --count 1
  bench_attacher_start "$dir" "$side"
  bench_attacher_tool "$dir" attach --tag "$tag" --count 1 --rate 0 >&2
  bench_attacher_stop "$dir" "$side"
  bench_attacher_tool "$dir" fill --tag "$tag" --count "$count"
  bench_attacher_start "$dir" "$side"
  sleep 20
  bench_attacher_keep "$side" "rss_$count" "$(bench_attacher_memory "$dir" "$side" Rss)"
  bench_attacher_keep "$side" "anonymous_$count" "$(bench_attacher_memory "$dir" "$side" Anonymous)"
  bench_attacher_calls "$dir" "$side" detach among "${flags[@]}"
  bench_attacher_calls "$dir" "$side" attach among "${flags[@]}"
  bench_attacher_stop "$dir" "$side"
  bench_attacher_tool "$dir" empty
}

# Attachments at a steady rate, with a driver that takes its time.
bench_attacher_steady() {
  local dir="$1" side="$2" count="$3" tag="$2-steady" lines measured
  bench_attacher_tool "$dir" volumes --tag "$tag" --count "$count"
  bench_attacher_start "$dir" "$side" --delay "ControllerPublishVolume=$bench_attacher_delay"
  lines="$(wc -l <"$dir/logs/audit.log")"
  say "$side: $(bench_attacher_tool "$dir" attach --tag "$tag" --count "$count" --rate "$bench_attacher_rate")"
  bench_attacher_stop "$dir" "$side"
  tail -n "+$((lines + 1))" "$dir/logs/audit.log" | bench_attacher_latencies | sort -n >"$dir/latencies"
  measured="$(wc -l <"$dir/latencies")"
  ((measured == count)) || die "the audit log tells of $measured attachments instead of $count"
  bench_attacher_keep "$side" p50 "$(sed -n "$(((count + 1) / 2))p" "$dir/latencies")"
  bench_attacher_keep "$side" p99 "$(sed -n "$(((count * 99 + 99) / 100))p" "$dir/latencies")"
  bench_attacher_tool "$dir" empty
}

# Microseconds from the end of the create to the end of the first write of the status that succeeded, which is "attached": one a line.
bench_attacher_latencies() {
  sed -nE -e '/"resource":"volumeattachments"/!d' -e '/"code":20[01]/!d' \
    -e 's/.*"verb":"create".*"name":"([^"]*)".*"stageTimestamp":"[0-9-]*T([0-9]{2}):([0-9]{2}):([0-9]{2}\.[0-9]{6})Z".*/\1 create \2 \3 \4/p' \
    -e 's/.*"verb":"(patch|update)".*"name":"([^"]*)".*"subresource":"status".*"stageTimestamp":"[0-9-]*T([0-9]{2}):([0-9]{2}):([0-9]{2}\.[0-9]{6})Z".*/\2 status \3 \4 \5/p' |
    awk '{ time = ($3 * 60 + $4) * 60 + $5 }
      $2 == "create" { created[$1] = time }
      $2 == "status" && !($1 in attached) { attached[$1] = time }
      END {
        for (name in created) {
          if (!(name in attached)) continue
          took = attached[name] - created[name]
          if (took < -43200) took += 86400
          printf "%d\n", took * 1e6
        }
      }'
}

# bench_attacher_row DESCRIPTION NAME UNIT-DIVISOR LIMIT-NAME: a row; fails the run when ours is beyond its limit.
bench_attacher_row() {
  local ours="${bench_attacher_value[ours,$2]}" upstream="${bench_attacher_value[upstream,$2]}" limit="${bench_attacher_limits[${4:-none}]--}"
  awk -v what="$1" -v ours="$ours" -v upstream="$upstream" -v divisor="$3" -v limit="$limit" 'BEGIN {
    percent = 100 * ours / upstream
    bad = limit != "-" && percent > limit
    printf "| %s | %.2f | %.2f | %.1f | %s%s |\n", what, ours / divisor, upstream / divisor, percent, limit, bad ? ", **beyond**" : ""
    exit bad }' || bench_attacher_failed=1
}

# bench_attacher_report COUNTS MANY STEADY
bench_attacher_report() {
  local count
  echo
  echo '| | csi-native | upstream | ours in % | at most |'
  echo '|---|---:|---:|---:|---:|'
  bench_attacher_row 'idle, anonymous MiB' idle_anonymous 1024 idle_anonymous
  bench_attacher_row 'idle, RSS MiB' idle_rss 1024 idle_rss
  for count in $1; do
    bench_attacher_row "$count attachments, processor ms an attach" "attach_$count" 1000 attach
    bench_attacher_row "$count attachments, processor ms a detach" "detach_$count" 1000 detach
    bench_attacher_row "$count attachments, RSS MiB" "rss_$count" 1024 "rss_$count"
  done
  if (($2 > 0)); then
    bench_attacher_row "$2 attachments found at start, RSS MiB" "rss_$2" 1024 "rss_$2"
    bench_attacher_row "$2 attachments found at start, anonymous MiB" "anonymous_$2" 1024
    bench_attacher_row "$2 attachments found at start, processor ms an attach" attach_among 1000 attach
    bench_attacher_row "$2 attachments found at start, processor ms a detach" detach_among 1000 detach
  fi
  if (($3 > 0)); then
    bench_attacher_row "$bench_attacher_rate a second, driver takes $bench_attacher_delay: created to attached, p50 ms" p50 1000 p50
    bench_attacher_row "$bench_attacher_rate a second, driver takes $bench_attacher_delay: created to attached, p99 ms" p99 1000 p99
  fi
}
