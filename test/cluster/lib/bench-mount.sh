# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# csi-volume-manager beside the real kubelet, in one run: how long after a pod is on its node has the driver published its volume. Same control
# plane, same csi-attacher, a sample driver each on the same volumes. Sourced by scripts/e2e.

bench_mount_namespace=''

# bench_mount [--pods N]: prints a Markdown table.
bench_mount() {
  local dir="$session_dir" pods=20 i node
  if [[ ${1-} == --pods ]]; then
    pods="${2:?--pods needs a number}"
    shift 2
  fi
  (($# == 0)) || usage_error "bench-mount does not know $1"
  [[ -z $session_external ]] || die 'bench-mount needs nodes of its own; run it without --kubeconfig, E2E_KUBECONFIG and KUBECONFIG'
  need_root 'bench-mount' 'volumes are mounted'
  bench_mount_prepare "$dir" "$pods"
  for node in "$node_name" "$second_node_name"; do : >"$dir/bench.$node"; done
  for ((i = 1; i <= pods; i++)); do
    # In turn, so that both meet the same machine.
    for node in "$node_name" "$second_node_name"; do
      bench_mount_pod "$dir" "$node" "$i"
    done
    say "pod $i of $pods: kubelet $(tail -n 1 "$dir/bench.$node_name") ms, csi-volume-manager $(tail -n 1 "$dir/bench.$second_node_name") ms"
  done
  bench_mount_report "$dir"
}

# Both nodes, and a bound claim for each pod.
bench_mount_prepare() {
  local dir="$1" pods="$2" node i
  two_nodes_start "$dir"
  bench_mount_namespace="csi-native-bench-$(printf '%04x%04x' "$RANDOM" "$RANDOM")"
  product_create_namespace "$bench_mount_namespace"
  for node in "$node_name" "$second_node_name"; do
    product_create_class "$bench_mount_namespace-$node" "id-of-$node"
    for ((i = 1; i <= pods; i++)); do bench_mount_claim "$node" "$i"; done | kubectl create -f - >/dev/null
  done
  wait_until 120 'the claims are bound' bench_mount_bound "$((2 * pods))" || die 'claims are not bound'
}

bench_mount_claim() {
  cat <<YAML
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "$1-$2", namespace: $bench_mount_namespace}
spec:
  storageClassName: $bench_mount_namespace-$1
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Mi}}
YAML
}

bench_mount_bound() {
  (($(kubectl get persistentvolumeclaims --namespace "$bench_mount_namespace" -o jsonpath='{range .items[*]}{.status.phase}{"\n"}{end}' |
    grep -cx Bound || true) == $1))
}

# bench_mount_pod DIR NODE NUMBER: one pod comes and goes; a line of DIR/bench.NODE has its milliseconds.
bench_mount_pod() {
  local dir="$1" node="$2" pod="$2-$3" calls bound published
  if [[ $node == "$node_name" ]]; then
    calls="$dir/logs/driver.calls"
    bench_mount_kubelet_pod "$pod" "$pod" | kubectl create -f - >/dev/null
  else
    calls="$dir/logs/second-driver.calls"
    second_node_pod "$bench_mount_namespace" "$pod" "$pod" Filesystem | kubectl create -f - >/dev/null
  fi
  wait_until 120 "the volume of $pod is published" bench_mount_published "$calls" "$pod" || die "the volume of $pod is not published"
  bound="$(bench_mount_bound_at "$dir" "$pod")"
  published="$(bench_mount_published_at "$calls" "$pod")"
  printf '%d\n' "$(((published - bound + 500) / 1000))" >>"$dir/bench.$node"
  if [[ $node != "$node_name" ]]; then second_node_pod_status "$bench_mount_namespace" "$pod" terminated; fi
  kubectl delete pod "$pod" --namespace "$bench_mount_namespace" --wait=false >/dev/null
  wait_until 120 "the volume of $pod is detached" bench_mount_detached || die "the volume of $pod is not detached"
}

bench_mount_kubelet_pod() {
  cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: "$1", namespace: $bench_mount_namespace}
spec:
  nodeName: $node_name
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: $images_busybox
    imagePullPolicy: Never
    command: [sleep, "3600"]
    volumeMounts: [{name: volume, mountPath: /volume}]
  volumes: [{name: volume, persistentVolumeClaim: {claimName: "$2"}}]
YAML
}

# Microseconds since the epoch at which the API server had stored the pod, which names its node from the beginning.
bench_mount_bound_at() {
  local time
  time="$(grep -F '"verb":"create"' "$1/logs/audit.log" | grep -F "\"resource\":\"pods\",\"namespace\":\"$bench_mount_namespace\",\"name\":\"$2\"," |
    sed -nE 's/.*"stageTimestamp":"([^"]*)".*/\1/p')"
  [[ -n $time ]] || die "the audit log does not tell when pod $2 was made"
  printf '%s' "$(($(date -d "$time" +%s%N) / 1000))"
}

# bench_mount_published_at CALLS POD: microseconds since the epoch at which the driver answered.
bench_mount_published_at() {
  grep -F '"method":"/csi.v1.Node/NodePublishVolume"' "$1" | grep -F "\"csi.storage.k8s.io/pod.name\":\"$2\"" | grep -F '"code":"OK"' |
    sed -nE '1s/.*"unixMicros":([0-9]+).*/\1/p'
}

bench_mount_published() { [[ -n $(bench_mount_published_at "$1" "$2") ]]; }

bench_mount_detached() {
  local attachments
  attachments="$(kubectl get volumeattachments -o name)" || return 1
  [[ -z $attachments ]]
}

bench_mount_report() {
  local dir="$1" node
  echo
  echo '| pods of | pods | p50 ms | max ms |'
  echo '|---|---:|---:|---:|'
  for node in "$node_name" "$second_node_name"; do
    case $node in
      "$node_name") printf '| kubelet %s, nodeStatusUpdateFrequency %s ' "$kubernetes_version" "${E2E_NODE_STATUS_FREQUENCY:-1s}" ;;
      *) printf '| csi-volume-manager ' ;;
    esac
    sort -n "$dir/bench.$node" | awk '{ v[NR] = $1 } END { m = int((NR + 1) / 2); printf "| %d | %d | %d |\n", NR, (v[m] + v[NR + 1 - m]) / 2, v[NR] }'
  done
}
