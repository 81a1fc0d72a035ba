# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Our csi-attacher beside the upstream one, in one run: processor time for an attach and a detach, memory at rest and with many attachments, and how
# long an attach takes at a steady rate. Sourced by scripts/e2e.

# bench_attacher [--counts "N..."] [--many N] [--steady N]: prints Markdown tables; fails when a limit does not hold. --many 0 leaves that part
# out, as does --counts ''; --steady is the number of attachments at a steady rate.
bench_attacher() {
  local counts many steady dir side count
  bench_options bench-attacher "$@"
  counts="$bench_counts" many="$bench_many" steady="$bench_steady"
  if [[ -z ${E2E_ATTACHER-} ]]; then product_ensure csi-attacher; fi
  if [[ -z ${E2E_DRIVER-} ]]; then product_ensure sample-driver; fi
  binaries_ensure upstream
  binaries_ensure client-go-informer
  binaries_ensure kubernetes
  bench_attacher_begin
  dir="$session_dir"
  for side in "${bench_sides[@]}"; do
    bench_attacher_idle "$dir" "$side"
  done
  for count in $counts; do
    for side in "${bench_sides[@]}"; do bench_attacher_count "$dir" "$side" "$count"; done
  done
  if ((many > 0)); then
    for side in "${bench_sides[@]}"; do bench_attacher_many "$dir" "$side" "$many"; done
  fi
  if ((steady > 0)); then
    for side in "${bench_sides[@]}"; do bench_attacher_steady "$dir" "$side" "$steady"; done
  fi
  bench_attacher_report "$counts" "$many" "$steady"
  bench_end
}

# One line in the audit log for each write to attachments.
bench_attacher_begin() {
  bench_limits=([attach]=33.4 [detach]=33.4 [idle_anonymous]=33.4 [idle_rss]=42 [rss_10000]=12.5 [rss_50000]=10 [p50]=66.7 [p99]=66.7)
  bench_begin attacher <<'YAML'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [create, patch, update]
  resources: [{group: storage.k8s.io, resources: [volumeattachments, volumeattachments/status]}]
- level: None
YAML
}

# bench_attacher_start DIR SIDE [DRIVER-FLAG...]: driver and csi-attacher; returns when it leads and has settled.
bench_attacher_start() {
  local dir="$1" side="$2"
  shift 2
  # It keeps no volumes, so it cannot list them.
  bench_driver "$dir" --any-volume --without LIST_VOLUMES,LIST_VOLUMES_PUBLISHED_NODES "$@"
  bench_start "$dir" "$side" csi-attacher
  bench_settle "$dir" "$side"
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
  bench_keep_memory "$dir" "$side" idle
  bench_stop "$dir" "$side"
}

# bench_attacher_calls DIR SIDE attach|detach NAME FLAG...: does so, and keeps the processor time that each one took. The flags end with the number of
# attachments.
bench_attacher_calls() {
  local dir="$1" side="$2" what="$3" name="$4"
  shift 4
  bench_keep_spent "$dir" "$side" "${what}_$name" "${*: -1}" "attachments-$what" --rate 0 "$@"
}

bench_attacher_count() {
  local dir="$1" side="$2" count="$3" flags
  flags=(--tag "$side-$count" --count "$count")
  bench_attacher_tool "$dir" volumes "${flags[@]}"
  bench_attacher_start "$dir" "$side"
  bench_attacher_calls "$dir" "$side" attach "$count" "${flags[@]}"
  bench_keep_memory "$dir" "$side" "$count"
  bench_attacher_calls "$dir" "$side" detach "$count" "${flags[@]}"
  bench_stop "$dir" "$side"
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
  bench_stop "$dir" "$side"
  bench_attacher_tool "$dir" fill --tag "$tag" --count "$count"
  bench_attacher_start "$dir" "$side"
  sleep 20
  bench_keep_memory "$dir" "$side" many
  bench_attacher_calls "$dir" "$side" detach among "${flags[@]}"
  bench_attacher_calls "$dir" "$side" attach among "${flags[@]}"
  bench_stop "$dir" "$side"
  bench_attacher_tool "$dir" empty
}

# Attachments at a steady rate, with a driver that takes its time.
bench_attacher_steady() {
  local dir="$1" side="$2" count="$3" tag="$2-steady" lines
  bench_attacher_tool "$dir" volumes --tag "$tag" --count "$count"
  bench_attacher_start "$dir" "$side" --delay "ControllerPublishVolume=$bench_delay"
  lines="$(wc -l <"$dir/logs/audit.log")"
  say "$side: $(bench_attacher_tool "$dir" attach --tag "$tag" --count "$count" --rate "$bench_rate")"
  bench_stop "$dir" "$side"
  # Not a pipe, whose last part would keep the figures for itself.
  bench_keep_latencies "$dir" "$side" "$count" < <(tail -n "+$((lines + 1))" "$dir/logs/audit.log" | bench_attacher_latencies)
  bench_attacher_tool "$dir" empty
}

# From the end of the create to the end of the first write of the status that succeeded, which is "attached".
bench_attacher_latencies() {
  sed -nE -e '/"resource":"volumeattachments"/!d' -e '/"code":20[01]/!d' \
    -e "s/.*\"verb\":\"create\".*\"name\":\"([^\"]*)\".*$bench_stamp.*/\1 begin \2 \3 \4/p" \
    -e "s/.*\"verb\":\"(patch|update)\".*\"name\":\"([^\"]*)\".*\"subresource\":\"status\".*$bench_stamp.*/\2 end \3 \4 \5/p" |
    bench_latencies
}

# bench_attacher_report COUNTS MANY STEADY
bench_attacher_report() {
  local count
  bench_heading
  bench_row 'idle, anonymous MiB' anonymous_idle 1024 idle_anonymous
  bench_row 'idle, RSS MiB' rss_idle 1024 idle_rss
  for count in $1; do
    bench_row "$count attachments, processor ms an attach" "attach_$count" 1000 attach
    bench_row "$count attachments, processor ms a detach" "detach_$count" 1000 detach
    bench_row "$count attachments, RSS MiB" "rss_$count" 1024 "rss_$count"
  done
  if (($2 > 0)); then
    bench_row "$2 attachments found at start, RSS MiB" rss_many 1024 "rss_$2"
    bench_row "$2 attachments found at start, anonymous MiB" anonymous_many 1024
    bench_row "$2 attachments found at start, processor ms an attach" attach_among 1000 attach
    bench_row "$2 attachments found at start, processor ms a detach" detach_among 1000 detach
  fi
  if (($3 > 0)); then
    bench_row "$bench_rate a second, driver takes $bench_delay: created to attached, p50 ms" p50 1000 p50
    bench_row "$bench_rate a second, driver takes $bench_delay: created to attached, p99 ms" p99 1000 p99
  fi
}
