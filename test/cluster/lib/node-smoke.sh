# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The smoke test's part on a real node: pods write to volumes that our three sidecars provisioned, attached and registered, other pods read the
# content back, and afterwards nothing is left; then the same while the sidecars are killed. Sourced by scripts/e2e.

readonly node_smoke_sidecars=(csi-provisioner csi-attacher csi-node-driver-registrar)
# Every combination of volume mode and binding mode.
readonly node_smoke_kinds=(Filesystem-Immediate Filesystem-WaitForFirstConsumer Block-Immediate Block-WaitForFirstConsumer)
# The kernel driver's ext4 wants some room.
readonly node_smoke_bytes=16777216

node_smoke_namespace=''

# node_smoke_prepare DIR: the node, the driver, the sidecars, a namespace and a class for each binding mode.
node_smoke_prepare() {
  local dir="$1" mode
  node_smoke_namespace="csi-native-node-$(printf '%04x%04x' "$RANDOM" "$RANDOM")"
  if ! node_running "$dir"; then node_start "$dir"; fi
  product_install_driver
  # With images even a volume with a filesystem has a loop device that can be forgotten.
  product_start_node_driver "$dir" --backing image
  product_start_sidecars "$dir"
  product_create_namespace "$node_smoke_namespace"
  for mode in Immediate WaitForFirstConsumer; do
    kubectl create -f - >/dev/null <<YAML
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: "$(node_smoke_class "$mode")"}
provisioner: $product_driver_name
volumeBindingMode: $mode
YAML
  done
}

node_smoke_class() { printf '%s-%s' "$node_smoke_namespace" "${1,,}"; }

# node_smoke DIR COUNT: COUNT claims of each kind at once, written, read back, deleted.
node_smoke() {
  local dir="$1" count="$2" begun kinds=() i
  for ((i = 0; i < count; i++)); do kinds+=("${node_smoke_kinds[@]}"); done
  begun="$(now_ms)"
  node_smoke_round first "${kinds[@]}" | kubectl create -f - >/dev/null
  node_smoke_wait write first
  smoke_time "${#kinds[@]} pods have written" "$begun"
  begun="$(now_ms)"
  node_smoke_readers first "${kinds[@]}" | kubectl create -f - >/dev/null
  node_smoke_wait read first
  smoke_time "${#kinds[@]} pods have read it back" "$begun"
  node_smoke_check_volumes "$dir" "${#kinds[@]}"
  begun="$(now_ms)"
  node_smoke_delete first
  wait_until 60 'nothing is left' node_smoke_nothing_left "$dir" || node_smoke_fail "$(node_smoke_left "$dir")"
  smoke_time 'everything deleted' "$begun"
}

# node_smoke_killed DIR SEED SECONDS KILLS: pods come and go while each sidecar is killed that many times; the same end.
node_smoke_killed() {
  local dir="$1" seed="$2" seconds="$3" kills="$4" begun rounds=0 name killed
  begun="$(now_ms)"
  say "killing each of ${node_smoke_sidecars[*]} $kills times in the next $seconds s (seed $seed)"
  supervisor_kill_at_random "$dir" "$seed" "$seconds" "$kills" "${node_smoke_sidecars[@]}"
  while process_id "$dir" killer >/dev/null; do
    rounds=$((rounds + 1))
    node_smoke_round "killed-$rounds" "${node_smoke_kinds[@]}" | kubectl create -f - >/dev/null
    node_smoke_wait write "killed-$rounds"
    node_smoke_readers "killed-$rounds" "${node_smoke_kinds[@]}" | kubectl create -f - >/dev/null
    node_smoke_wait read "killed-$rounds"
    # Their end is not waited for: the next round begins meanwhile.
    node_smoke_delete "killed-$rounds"
  done
  for name in "${node_smoke_sidecars[@]}"; do
    killed="$(grep -c " $name " "$dir/logs/kills.log" || true)"
    ((killed == kills)) || node_smoke_fail "$name was killed $killed times instead of $kills"
  done
  smoke_time "$rounds rounds of ${#node_smoke_kinds[@]} claims, $((kills * ${#node_smoke_sidecars[@]})) kills" "$begun"
  begun="$(now_ms)"
  wait_until 90 'nothing is left' node_smoke_nothing_left "$dir" || node_smoke_fail "$(node_smoke_left "$dir")"
  smoke_time 'everything deleted' "$begun"
}

# node_smoke_finish DIR: the sidecars end when they are asked to; what they did was theirs to do.
node_smoke_finish() {
  local dir="$1" name restarts
  wait_until 30 'the sidecars work' product_sidecars_ready "$dir" || node_smoke_fail 'a sidecar does not work any more'
  for name in "${node_smoke_sidecars[@]}"; do
    # Each end was one of ours: none has crashed, or left, by itself.
    restarts="$(supervisor_restarts "$dir" "$name")"
    ((restarts == $(grep -c " $name " "$dir/logs/kills.log" 2>/dev/null || true))) ||
      node_smoke_fail "$name ended $restarts times (logs/supervisor.log)"
  done
  for name in csi-provisioner csi-attacher; do
    smoke_check_forbidden "$dir" "$name" || node_smoke_fail "the manifests do not allow what $name asked for"
  done
  product_stop_sidecars "$dir"
  process_stop "$dir" driver || true
}

# node_smoke_round ROUND KIND...: claims and the pods that write, as one document.
node_smoke_round() {
  local round="$1" kind i=0 name
  shift
  for kind; do
    name="$round-$((i += 1))"
    cat <<YAML
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "$name", namespace: $node_smoke_namespace, labels: {round: "$round"}}
spec:
  storageClassName: $(node_smoke_class "${kind#*-}")
  accessModes: [ReadWriteOnce]
  volumeMode: ${kind%-*}
  resources: {requests: {storage: "$node_smoke_bytes"}}
YAML
    case $kind in
      Filesystem-*) node_smoke_pod write "$round" "$name" "$kind" "echo $name >/volume/content && sync" ;;
      *) node_smoke_pod write "$round" "$name" "$kind" "echo $name | dd of=/dev/volume bs=512 count=1 conv=sync,fsync" ;;
    esac
  done
}

# node_smoke_readers ROUND KIND...: pods that fail unless they find what the first ones wrote.
node_smoke_readers() {
  local round="$1" kind i=0 name script
  shift
  for kind; do
    name="$round-$((i += 1))"
    case $kind in
      # A filesystem of the size that was asked for, not the node's own.
      Filesystem-*)
        # shellcheck disable=SC2016  # expanded in the pod
        script='[ "$(cat /volume/content)" = '"$name"' ] && [ "$(df -P -k /volume | awk "END { print (\$2 <= '"$((node_smoke_bytes / 1024))"') }")" = 1 ]'
        ;;
      *)
        # shellcheck disable=SC2016
        script='[ "$(dd if=/dev/volume bs=512 count=1 | tr -d "\0")" = '"$name"' ] && [ "$(blockdev --getsize64 /dev/volume)" = '"$node_smoke_bytes"' ]'
        ;;
    esac
    node_smoke_pod 'read' "$round" "$name" "$kind" "$script"
  done
}

# node_smoke_pod WORK ROUND NAME KIND SCRIPT: a pod that runs the script once with the claim called NAME.
node_smoke_pod() {
  local use='volumeMounts: [{name: volume, mountPath: /volume}]'
  if [[ $4 == Block-* ]]; then use='volumeDevices: [{name: volume, devicePath: /dev/volume}]'; fi
  cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: "$1-$3", namespace: $node_smoke_namespace, labels: {round: "$2", work: "$1"}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  # On another node, an object only, they would never start.
  nodeSelector: {kubernetes.io/hostname: $node_name}
  containers:
  - name: main
    image: $images_busybox
    imagePullPolicy: Never
    command: [sh, -ec, '$5']
    $use
  volumes: [{name: volume, persistentVolumeClaim: {claimName: "$3"}}]
YAML
}

# node_smoke_wait WORK ROUND: all pods of this work and round have succeeded.
node_smoke_wait() {
  wait_until 120 "the pods of round $2 that $1 have ended" node_smoke_ended "$1" "$2" || node_smoke_fail "pods that should $1 do not end"
}

node_smoke_ended() {
  local phases phase
  process_check "$session_dir" driver || node_smoke_fail 'the driver ended'
  # One line for each pod; none at all is a failure of kubectl.
  phases="$(kubectl get pods --namespace "$node_smoke_namespace" -l "work=$1,round=$2" -o jsonpath='{.items[*].status.phase}')" || return 1
  [[ -n $phases ]] || return 1
  for phase in $phases; do
    case $phase in
      Succeeded) ;;
      Failed) node_smoke_fail "a pod that should $1 failed" ;;
      *) return 1 ;;
    esac
  done
}

node_smoke_delete() {
  kubectl delete pods,persistentvolumeclaims --namespace "$node_smoke_namespace" -l "round=$1" --wait=false >/dev/null
}

# Each claim has its volume: in the driver, bound, attached with the node's id by way of our attacher.
node_smoke_check_volumes() {
  local dir="$1" count="$2" bound held
  bound="$(kubectl get persistentvolumes -o jsonpath='{range .items[?(@.status.phase=="Bound")]}{.spec.csi.driver}{"\n"}{end}' |
    grep -cxF "$product_driver_name" || true)"
  ((bound == count)) || node_smoke_fail "$bound bound volumes instead of $count"
  held="$(product_volumes "$dir" driver | wc -l)"
  ((held == count)) || node_smoke_fail "the driver has $held volumes instead of $count"
}

# node_smoke_left DIR: what is left of volumes, one thing a line.
node_smoke_left() {
  local dir="$1"
  kubectl get pods,persistentvolumeclaims --namespace "$node_smoke_namespace" -o name || echo 'kubectl failed'
  # With their finalizers: an object that is only kept by one is told by it.
  kubectl get persistentvolumes,volumeattachments \
    -o jsonpath='{range .items[*]}{.kind}/{.metadata.name} {.status.phase} {.metadata.finalizers}{"\n"}{end}' || echo 'kubectl failed'
  node_volumes_left "$dir"
}

node_smoke_nothing_left() {
  local left
  left="$(node_smoke_left "$1")"
  [[ -z $left ]]
}

node_smoke_fail() {
  local name
  {
    kubectl get pods,persistentvolumeclaims --namespace "$node_smoke_namespace" -o wide
    kubectl get persistentvolumes,volumeattachments,csinodes -o wide
    kubectl get events --namespace "$node_smoke_namespace" --sort-by .lastTimestamp
    kubectl get persistentvolumes,volumeattachments,csinodes -o yaml
    cat "/proc/$(node_init "$session_dir")/mountinfo"
  } >"$session_dir/logs/objects.txt" 2>&1 || true
  for name in "${node_smoke_sidecars[@]}"; do
    grep '^[EF]' "$session_dir/logs/$name.log" | tail -n 3 | cut -c -300 | sed "s/^/$name: /" >&2 || true
  done
  die "smoke on a node: $* (objects, events, mounts: logs/objects.txt)"
}
