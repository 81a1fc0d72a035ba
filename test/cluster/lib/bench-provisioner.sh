# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Our csi-provisioner beside the upstream one, in one run: processor time and API requests for a claim and its deletion, memory at rest, with many
# claims, and together with other sidecars, and how long a claim takes at a steady rate. kube-controller-manager, which binds, is the real one.
# Sourced by scripts/e2e.

# The controllers that have to do with claims and volumes.
readonly bench_provisioner_controllers=persistentvolume-binder-controller,persistentvolume-protection-controller,persistentvolumeclaim-protection-controller

# bench_provisioner [--counts "N..."] [--many N] [--steady N]: prints a Markdown table; fails when a limit does not hold. --many 0 leaves that part
# out, as do --counts '' and --steady 0, the number of claims at a steady rate.
bench_provisioner() {
  local counts many steady dir side count
  bench_options bench-provisioner "$@"
  counts="$bench_counts" many="$bench_many" steady="$bench_steady"
  if [[ -z ${E2E_DRIVER-} ]]; then product_ensure sample-driver; fi
  if [[ -z ${E2E_PROVISIONER-} ]]; then product_ensure csi-provisioner; fi
  if [[ -z ${E2E_ATTACHER-} ]]; then product_ensure csi-attacher; fi
  if [[ -z ${E2E_REGISTRAR-} ]]; then product_ensure csi-node-driver-registrar; fi
  binaries_ensure upstream
  binaries_ensure client-go-informer
  binaries_ensure kubernetes
  bench_provisioner_begin
  dir="$session_dir"
  for side in "${bench_sides[@]}"; do bench_provisioner_idle "$dir" "$side"; done
  for side in "${bench_sides[@]}"; do bench_provisioner_together "$dir" "$side"; done
  for count in $counts; do
    for side in "${bench_sides[@]}"; do bench_provisioner_count "$dir" "$side" "$count"; done
  done
  if ((many > 0)); then
    for side in "${bench_sides[@]}"; do bench_provisioner_many "$dir" "$side" "$many"; done
  fi
  if ((steady > 0)); then
    for side in "${bench_sides[@]}"; do
      bench_provisioner_steady "$dir" "$side" "$steady" _unlimited
      # The defaults of both.
      bench_provisioner_steady "$dir" "$side" "$steady" _default --kube-api-qps 5 --kube-api-burst 10
    done
  fi
  bench_provisioner_report "$counts" "$many" "$steady"
  bench_end
}

# One line in the audit log for each request of csi-provisioner's that is about its work, and for each write of others to claims and volumes.
bench_provisioner_begin() {
  bench_limits=([create]=33.4 [delete]=33.4 [requests]=100 [idle_anonymous]=33.4 [idle_rss]=42 [together]=33.4
    [rss_10000]=12.5 [rss_50000]=10 [p50]=66.7 [p99]=66.7)
  bench_begin provisioner <<'YAML'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: None
  resources: [{group: coordination.k8s.io}]
- level: None
  verbs: [watch]
- level: Metadata
  userGroups: ["system:serviceaccounts:csi-native"]
- level: Metadata
  verbs: [create, update, patch]
  resources: [{group: "", resources: [persistentvolumes, persistentvolumeclaims]}]
- level: None
YAML
  product_install attacher
  kubectl create -f - >/dev/null <<YAML
{apiVersion: v1, kind: Namespace, metadata: {name: bench}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: bench}
provisioner: $product_driver_name
volumeBindingMode: Immediate
YAML
}

# bench_provisioner_start DIR SIDE: driver and csi-provisioner; returns when it leads and has settled.
bench_provisioner_start() {
  bench_driver "$1"
  bench_start "$1" "$2" csi-provisioner
  bench_settle "$1" "$2"
}

# bench_provisioner_bind DIR: the controllers work. With long intervals between two looks at everything, which would take the processor.
bench_provisioner_bind() {
  controlplane_start_controller_manager "$1" --controllers "$bench_provisioner_controllers" --pvclaimbinder-sync-period 1h
  wait_until 60 'kube-controller-manager runs' process_check "$1" kube-controller-manager || die 'kube-controller-manager did not start'
}

# bench_provisioner_stop DIR SIDE: everything, and what is left in etcd.
bench_provisioner_stop() {
  if [[ -e $1/processes/kube-controller-manager ]]; then process_stop "$1" kube-controller-manager KILL; fi
  bench_stop "$1" "$2"
  bench_informer_go "$1" claims-empty
}

bench_provisioner_idle() {
  local dir="$1" side="$2"
  bench_provisioner_start "$dir" "$side"
  sleep 20
  bench_keep_memory "$dir" "$side" idle
  bench_stop "$dir" "$side"
}

# PSS of the sidecars that run beside one driver: ours are csi-provisioner, csi-attacher and csi-node-driver-registrar; upstream's registrar is not to
# be had here, so the limit is for the two that both have. The driver, which would not be ours, gets copies of its libraries, so that it shares none.
bench_provisioner_together() {
  local dir="$1" side="$2" name sum=0 others=("$2-csi-attacher")
  local driver=("${bench_driver_command[@]}")
  mkdir -p "$dir/driver-libraries" "$dir/registration"
  ldd "${driver[0]}" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | xargs cp -t "$dir/driver-libraries"
  bench_driver_command=(env "LD_LIBRARY_PATH=$dir/driver-libraries" "${driver[@]}")
  bench_provisioner_start "$dir" "$side"
  bench_start "$dir" "$side-csi-attacher" csi-attacher
  if [[ $side == ours ]]; then
    others+=("$side-csi-node-driver-registrar")
    process_start "$dir" "$side-csi-node-driver-registrar" "$(product_path "${E2E_REGISTRAR-}" csi-node-driver-registrar)" \
      --csi-address "$dir/driver/csi.sock" --kubelet-registration-path "$dir/driver/csi.sock" --plugin-registration-path "$dir/registration" -v 2
    wait_until 20 'the registrar listens' test -S "$dir/registration/$product_driver_name-reg.sock" || die 'the registrar does not listen'
  fi
  for name in "${others[@]}"; do bench_settle "$dir" "$name"; done
  sleep 20
  for name in "$side" "${others[@]}"; do
    bench_keep "$name" pss "$(bench_memory "$dir" "$name" Pss)"
    sum=$((sum + ${bench_value[$name,pss]}))
  done
  bench_keep "$side" pss_together "$sum"
  bench_keep "$side" pss_both "$((${bench_value[$side,pss]} + ${bench_value[$side-csi-attacher,pss]}))"
  bench_stop "$dir" "$side" "${others[@]}"
  bench_driver_command=("${driver[@]}")
}

# bench_provisioner_calls DIR SIDE create|delete NAME FLAG...: does so, and keeps the processor time and the API requests of each one. The flags end with
# the number of claims.
bench_provisioner_calls() {
  local dir="$1" side="$2" what="$3" name="$4" count="${*: -1}" lines
  shift 4
  lines="$(wc -l <"$dir/logs/audit.log")"
  bench_keep_spent "$dir" "$side" "${what}_$name" "$count" "claims-$what" --rate 0 "$@"
  # Thousandths.
  bench_keep "$side" "requests_${what}_$name" "$(($(tail -n "+$((lines + 1))" "$dir/logs/audit.log" |
    grep -c "\"user\":{\"username\":\"system:serviceaccount:$product_namespace:csi-provisioner\"") * 1000 / count))"
}

bench_provisioner_count() {
  local dir="$1" side="$2" count="$3" flags
  flags=(--tag "$side-$count" --count "$count")
  bench_provisioner_start "$dir" "$side"
  bench_provisioner_bind "$dir"
  bench_provisioner_calls "$dir" "$side" create "$count" "${flags[@]}"
  bench_keep_memory "$dir" "$side" "$count"
  bench_provisioner_calls "$dir" "$side" delete "$count" "${flags[@]}"
  bench_provisioner_stop "$dir" "$side"
}

# Claims and volumes that are found at start; a thousand, or half as many as those, are made and deleted among them.
bench_provisioner_many() {
  local dir="$1" side="$2" count="$3" made=1000 flags
  if ((made > count / 2)); then made=$((count / 2)); fi
  flags=(--tag "$side-many" --count "$made")
  say "making $count claims and their volumes: $(bench_informer_go "$dir" seed --pairs "$count")"
  bench_provisioner_start "$dir" "$side"
  sleep 20
  bench_keep_memory "$dir" "$side" many
  bench_provisioner_bind "$dir"
  bench_provisioner_calls "$dir" "$side" create among "${flags[@]}"
  bench_provisioner_calls "$dir" "$side" delete among "${flags[@]}"
  bench_provisioner_stop "$dir" "$side"
}

# bench_provisioner_steady DIR SIDE COUNT SUFFIX [FLAG...]: claims at a steady rate, with a driver that takes its time.
bench_provisioner_steady() {
  local dir="$1" side="$2" count="$3" suffix="$4" lines
  shift 4
  bench_driver "$dir" --delay "CreateVolume=$bench_delay"
  bench_start "$dir" "$side" csi-provisioner "$@"
  bench_settle "$dir" "$side"
  bench_provisioner_bind "$dir"
  # The controllers have lists to read first.
  bench_informer_go "$dir" claims-create --tag "$side$suffix-first" --count 1 >&2
  lines="$(wc -l <"$dir/logs/audit.log")"
  say "$side: $(bench_informer_go "$dir" claims-create --tag "$side$suffix-steady" --count "$count" --rate "$bench_rate")"
  # Not a pipe, whose last part would keep the figures for itself.
  bench_keep_latencies "$dir" "$side" "$count" "$suffix" < <(tail -n "+$((lines + 1))" "$dir/logs/audit.log" | bench_provisioner_latencies)
  bench_provisioner_stop "$dir" "$side"
}

# From the end of the first update of a claim, with which the controller hands it to csi-provisioner, to the end of the create of its volume.
bench_provisioner_latencies() {
  sed -nE -e '/"code":20[01]/!d' \
    -e "s/.*\"verb\":\"update\".*\"objectRef\":\{\"resource\":\"persistentvolumeclaims\",[^}]*\"uid\":\"([^\"]*)\".*$bench_stamp.*/\1 begin \2 \3 \4/p" \
    -e "s/.*\"verb\":\"create\".*\"objectRef\":\{\"resource\":\"persistentvolumes\",\"name\":\"pvc-([^\"]*)\".*$bench_stamp.*/\1 end \2 \3 \4/p" |
    bench_latencies
}

# bench_provisioner_rows DESCRIPTION NAME
bench_provisioner_rows() {
  bench_row "$1, processor ms a claim" "create_$2" 1000 create
  bench_row "$1, processor ms a deletion" "delete_$2" 1000 delete
  bench_row "$1, API requests a claim" "requests_create_$2" 1000 requests
  bench_row "$1, API requests a deletion" "requests_delete_$2" 1000 requests
}

# bench_provisioner_report COUNTS MANY STEADY
bench_provisioner_report() {
  local count
  bench_heading
  bench_row 'idle, anonymous MiB' anonymous_idle 1024 idle_anonymous
  bench_row 'idle, RSS MiB' rss_idle 1024 idle_rss
  bench_row 'csi-provisioner and csi-attacher of one driver, with csi-node-driver-registrar beside ours, PSS MiB' pss_both 1024 together
  bench_row 'all three of ours, but only two of upstream, PSS MiB' pss_together 1024
  for count in $1; do
    bench_provisioner_rows "$count claims" "$count"
    bench_row "$count claims, RSS MiB" "rss_$count" 1024 "rss_$count"
    bench_row "$count claims, anonymous MiB" "anonymous_$count" 1024
  done
  if (($2 > 0)); then
    bench_row "$2 claims with volumes found at start, RSS MiB" rss_many 1024 "rss_$2"
    bench_row "$2 claims with volumes found at start, anonymous MiB" anonymous_many 1024
    bench_provisioner_rows "$2 claims with volumes found at start" among
  fi
  if (($3 > 0)); then
    bench_row "$3 claims, $bench_rate a second, driver takes $bench_delay: claim updated to volume created, p50 ms" p50_unlimited 1000 p50
    bench_row "the same, p99 ms" p99_unlimited 1000 p99
    # Most of it is the wait for the five requests a second that both may send: no limit.
    bench_row "the same with the API limits that are the default, p50 ms" p50_default 1000
    bench_row "the same with the API limits that are the default, p99 ms" p99_default 1000
  fi
  bench_provisioner_together_report
}

# What the row of the sum is made of.
bench_provisioner_together_report() {
  local name
  echo
  echo '| beside the others | PSS MiB |'
  echo '|---|---:|'
  for name in ours ours-csi-attacher ours-csi-node-driver-registrar upstream upstream-csi-attacher; do
    awk -v name="$name" -v kib="${bench_value[$name,pss]}" 'BEGIN {
      if (name !~ /-/) name = name "-csi-provisioner"
      sub(/-/, ": ", name)
      printf "| %s | %.1f |\n", name, kib / 1024 }'
  done
}
