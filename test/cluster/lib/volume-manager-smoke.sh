# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The smoke test's part on a node without kubelet: the real attach controller and our csi-attacher attach, csi-volume-manager mounts at kubelet's
# paths, one pod writes, a second one reads it, everything is undone; then the same with csi-volume-manager killed in between. Sourced by scripts/e2e.

# Of the claims 1, 2, ... of a round.
readonly vm_smoke_kinds=(Filesystem Filesystem Block)
vm_smoke_namespace=''
# How often programs had ended before this part.
declare -A vm_smoke_restarts=()
# Of the round that runs: volumes and their handles by claim, UIDs by pod.
declare -A vm_smoke_pv=() vm_smoke_handle=() vm_smoke_uid=()

# vm_smoke_prepare DIR: the driver's controller with csi-provisioner and csi-attacher, the second node, a namespace, a class.
vm_smoke_prepare() {
  local dir="$1" name
  vm_smoke_namespace="csi-native-volume-manager-$(printf '%04x%04x' "$RANDOM" "$RANDOM")"
  product_install_driver
  # With images even a volume with a filesystem has a loop device that can be forgotten.
  product_start_driver "$dir" controller "$second_node_id" --mode controller --backing image
  for name in csi-provisioner csi-attacher; do vm_smoke_restarts[$name]="$(supervisor_restarts "$dir" "$name")"; done
  product_start_controllers "$dir" "$dir/controller/csi.sock"
  second_node_start "$dir" "$dir/controller/state" --backing image
  wait_until 60 'csi-provisioner and csi-attacher lead' product_controllers_ready "$dir" || die 'the sidecars do not work'
  product_create_namespace "$vm_smoke_namespace"
  product_create_class "$vm_smoke_namespace" "$second_node_id"
}

# vm_smoke DIR: one round in peace.
vm_smoke() {
  local dir="$1" begun
  begun="$(now_ms)"
  vm_smoke_use "$dir" peace
  smoke_time 'volumes mounted, written, read by second pods' "$begun"
  begun="$(now_ms)"
  vm_smoke_delete_pods write-peace-1 read-peace-1 write-peace-2 read-peace-2
  vm_smoke_complete_pods write-peace-3 read-peace-3
  vm_smoke_undo "$dir"
  smoke_time 'everything undone' "$begun"
}

# vm_smoke_killed DIR: csi-volume-manager is killed while volumes are mounted, and started again after some pods have ended.
vm_smoke_killed() {
  local dir="$1" begun
  begun="$(now_ms)"
  vm_smoke_use "$dir" killed
  process_stop "$dir" csi-volume-manager KILL
  vm_smoke_delete_pods write-killed-2 read-killed-2
  # Nobody will ever tell csi-volume-manager that their containers have ended.
  vm_smoke_complete_pods write-killed-3 read-killed-3
  vm_smoke_mounted "$dir" || vm_smoke_fail 'a volume is not mounted any more'
  second_node_start_manager "$dir"
  wait_until 30 'csi-volume-manager has registered the driver again' second_node_ready "$dir" || vm_smoke_fail 'no driver after the restart'
  vm_smoke_delete_pods write-killed-1 read-killed-1
  smoke_time 'the same, csi-volume-manager killed and restarted' "$begun"
  begun="$(now_ms)"
  vm_smoke_undo "$dir"
  smoke_time 'everything undone' "$begun"
}

# vm_smoke_finish DIR: all programs are those that were started, and end when they are asked to; what they did was theirs to do.
vm_smoke_finish() {
  local dir="$1" name
  second_node_check "$dir"
  process_check "$dir" controller || vm_smoke_fail 'the driver ended'
  for name in csi-provisioner csi-attacher; do
    (($(supervisor_restarts "$dir" "$name") == vm_smoke_restarts[$name])) || vm_smoke_fail "$name ended by itself (logs/supervisor.log)"
  done
  for name in csi-provisioner csi-attacher csi-volume-manager; do
    smoke_check_forbidden "$dir" "$name" || vm_smoke_fail "the manifests do not allow what $name asked for"
  done
  second_node_stop "$dir" || vm_smoke_fail 'csi-volume-manager did not end when it was told to'
  product_stop_processes "$dir" csi-attacher csi-provisioner controller
  kubectl delete storageclass "$vm_smoke_namespace" >/dev/null
}

# vm_smoke_use DIR ROUND: claims, a pod for each that writes, a second pod for each that reads while the first one still has the volume.
vm_smoke_use() {
  local dir="$1" round="$2" name volume handle i=0 kind
  vm_smoke_pv=() vm_smoke_handle=() vm_smoke_uid=()
  for kind in "${vm_smoke_kinds[@]}"; do
    vm_smoke_claim "$round-$((i += 1))" "$kind"
  done | kubectl create -f - >/dev/null
  wait_until 60 'the claims are bound' vm_smoke_bound || vm_smoke_fail 'claims are not bound'
  while read -r name volume; do
    vm_smoke_pv[$name]="$volume"
  done < <(kubectl get persistentvolumeclaims --namespace "$vm_smoke_namespace" \
    -o jsonpath='{range .items[*]}{.metadata.name} {.spec.volumeName}{"\n"}{end}')
  for name in "${!vm_smoke_pv[@]}"; do
    handle="$(kubectl get persistentvolume "${vm_smoke_pv[$name]}" -o jsonpath='{.spec.csi.volumeHandle}')"
    vm_smoke_handle[$name]="$handle"
  done
  vm_smoke_start_pods "$dir" write
  for name in "${!vm_smoke_pv[@]}"; do
    vm_smoke_write "$dir" "$name"
    second_node_pod_status "$vm_smoke_namespace" "write-$name" running
  done
  vm_smoke_start_pods "$dir" 'read'
  for name in "${!vm_smoke_pv[@]}"; do
    vm_smoke_read "$dir" "$name"
    second_node_pod_status "$vm_smoke_namespace" "read-$name" running
  done
}

vm_smoke_claim() {
  cat <<YAML
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "$1", namespace: $vm_smoke_namespace}
spec:
  storageClassName: $vm_smoke_namespace
  accessModes: [ReadWriteOnce]
  volumeMode: $2
  resources: {requests: {storage: "$node_smoke_bytes"}}
YAML
}

# Filesystem or Block.
vm_smoke_kind() { printf '%s' "${vm_smoke_kinds[${1##*-} - 1]}"; }

vm_smoke_bound() {
  local phases
  vm_smoke_alive
  phases="$(kubectl get persistentvolumeclaims --namespace "$vm_smoke_namespace" -o jsonpath='{.items[*].status.phase}')"
  [[ $phases == "$(printf 'Bound %.0s' "${vm_smoke_kinds[@]}" | sed 's/ $//')" ]]
}

# vm_smoke_start_pods DIR WORK: a pod for each claim, on the second node without the scheduler; returns when their containers could start, after a
# look at what the driver was asked for.
vm_smoke_start_pods() {
  local dir="$1" work="$2" claim name uid
  for claim in "${!vm_smoke_pv[@]}"; do
    second_node_pod "$vm_smoke_namespace" "$work-$claim" "$claim" "$(vm_smoke_kind "$claim")"
  done | kubectl create -f - >/dev/null
  while read -r name uid; do
    vm_smoke_uid[$name]="$uid"
  done < <(kubectl get pods --namespace "$vm_smoke_namespace" -o jsonpath='{range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}')
  wait_until 60 "the volumes of the pods that $work are mounted" vm_smoke_mounted "$dir" || vm_smoke_fail 'volumes are not mounted'
  for claim in "${!vm_smoke_pv[@]}"; do
    vm_smoke_check_paths "$dir" "$work-$claim" "$claim"
  done
}

# All pods of the round have their volumes.
vm_smoke_mounted() {
  local pod claim
  vm_smoke_alive
  for pod in "${!vm_smoke_uid[@]}"; do
    claim="${pod#*-}"
    second_node_mounted "$1" "${vm_smoke_uid[$pod]}" "${vm_smoke_pv[$claim]}" "$(vm_smoke_kind "$claim")" || return 1
  done
}

vm_smoke_alive() {
  process_check "$session_dir" controller || vm_smoke_fail 'the driver ended'
  process_check "$session_dir" second-driver || vm_smoke_fail 'the driver of the second node ended'
}

# vm_smoke_check_paths DIR POD CLAIM: the driver was told exactly the paths that kubelet uses.
vm_smoke_check_paths() {
  local dir="$1" uid="${vm_smoke_uid[$2]}" volume="${vm_smoke_pv[$3]}" handle="${vm_smoke_handle[$3]}" csi staging target
  csi="$(second_node_root "$dir")/plugins/kubernetes.io/csi"
  case $(vm_smoke_kind "$3") in
    Filesystem)
      staging="$csi/$product_driver_name/$(printf '%s' "$handle" | sha256sum | cut -d ' ' -f 1)/globalmount"
      target="$(second_node_mount "$dir" "$uid" "$volume")"
      ;;
    Block)
      staging="$csi/volumeDevices/staging/$volume"
      target="$csi/volumeDevices/publish/$volume/$uid"
      ;;
  esac
  second_node_called "$dir" NodeStageVolume volume_id "$handle" staging_target_path "$staging" ||
    vm_smoke_fail "volume $volume was not staged at $staging"
  second_node_called "$dir" NodePublishVolume volume_id "$handle" staging_target_path "$staging" target_path "$target" ||
    vm_smoke_fail "volume $volume was not published at $target"
}

# The container of the first pod.
vm_smoke_write() {
  local dir="$1" claim="$2" uid="${vm_smoke_uid[write-$2]}" volume="${vm_smoke_pv[$2]}"
  case $(vm_smoke_kind "$claim") in
    Filesystem) second_node_run "$dir" bash -c 'echo "$1" >"$2/content"' write "$claim" "$(second_node_mount "$dir" "$uid" "$volume")" ;;
    Block)
      printf '%-512s' "$claim" | second_node_run "$dir" dd of="$(second_node_device "$dir" "$uid" "$volume")" bs=512 count=1 conv=fsync status=none
      ;;
  esac || vm_smoke_fail "cannot write to volume $volume"
}

# The container of the second pod: finds what the first one wrote, in a volume of the size that was asked for.
vm_smoke_read() {
  local dir="$1" claim="$2" uid="${vm_smoke_uid[read-$2]}" volume="${vm_smoke_pv[$2]}" path content='' bytes=0
  case $(vm_smoke_kind "$claim") in
    Filesystem)
      path="$(second_node_mount "$dir" "$uid" "$volume")"
      content="$(second_node_run "$dir" cat "$path/content")" || true
      bytes="$(second_node_run "$dir" stat --file-system --format '%b * %S' "$path")" || true
      # Without what the filesystem takes for itself.
      ((bytes > node_smoke_bytes / 2 && bytes <= node_smoke_bytes)) || vm_smoke_fail "volume $volume has $((bytes)) bytes"
      ;;
    Block)
      path="$(second_node_device "$dir" "$uid" "$volume")"
      content="$(second_node_run "$dir" dd if="$path" bs=512 count=1 status=none | tr -d ' \0')" || true
      bytes="$(second_node_run "$dir" blockdev --getsize64 "$path")" || true
      ((bytes == node_smoke_bytes)) || vm_smoke_fail "volume $volume has $bytes bytes"
      ;;
  esac
  [[ $content == "$claim" ]] || vm_smoke_fail "volume $volume holds '$content' instead of '$claim'"
}

# vm_smoke_delete_pods POD...: they are deleted, so their containers end. The objects stay until vm_smoke_undo, as kubelet's do until the volumes are
# unmounted.
vm_smoke_delete_pods() {
  local pod
  kubectl delete pods "$@" --namespace "$vm_smoke_namespace" --wait=false >/dev/null
  for pod; do
    second_node_pod_status "$vm_smoke_namespace" "$pod" terminated
  done
}

# vm_smoke_complete_pods POD...: their containers end, and they are deleted afterwards: the API server removes such an object at once.
vm_smoke_complete_pods() {
  local pod
  for pod; do
    second_node_pod_status "$vm_smoke_namespace" "$pod" terminated
  done
  kubectl delete pods "$@" --namespace "$vm_smoke_namespace" --wait=false >/dev/null
}

# vm_smoke_undo DIR: all pods have ended; waits until their volumes are unmounted, and until after deleting the claims nothing is left.
vm_smoke_undo() {
  local dir="$1"
  wait_until 90 'all volumes are unmounted' vm_smoke_unmounted "$dir" || vm_smoke_fail "$(vm_smoke_left "$dir")"
  kubectl delete pods --all --namespace "$vm_smoke_namespace" --force --grace-period 0 >/dev/null 2>&1
  kubectl delete persistentvolumeclaims --all --namespace "$vm_smoke_namespace" --wait=false >/dev/null
  wait_until 60 'nothing is left' vm_smoke_nothing_left "$dir" || vm_smoke_fail "$(vm_smoke_left "$dir")"
}

vm_smoke_unmounted() {
  local mounts
  vm_smoke_alive
  mounts="$(second_node_mounts "$1")"
  [[ -z $mounts ]]
}

# vm_smoke_left DIR: what is left, one thing a line.
vm_smoke_left() {
  local dir="$1"
  kubectl get pods,persistentvolumeclaims --namespace "$vm_smoke_namespace" -o name || echo 'kubectl failed'
  # With their finalizers: an object that is only kept by one is told by it.
  kubectl get persistentvolumes,volumeattachments \
    -o jsonpath='{range .items[*]}{.kind}/{.metadata.name} {.status.phase} {.metadata.finalizers}{"\n"}{end}' || echo 'kubectl failed'
  product_volumes "$dir" controller | sed 's/^/volume in the driver: /'
  second_node_volumes_left "$dir"
}

vm_smoke_nothing_left() {
  local left
  left="$(vm_smoke_left "$1")"
  [[ -z $left ]]
}

vm_smoke_fail() {
  local name
  {
    kubectl get pods,persistentvolumeclaims --namespace "$vm_smoke_namespace" -o wide
    kubectl get persistentvolumes,volumeattachments,csinodes -o wide
    kubectl get events --namespace "$vm_smoke_namespace" --sort-by .lastTimestamp
    kubectl get pods --namespace "$vm_smoke_namespace" -o yaml
    kubectl get persistentvolumes,volumeattachments,csinodes,nodes -o yaml
    second_node_mounts "$session_dir"
    find "$(second_node_root "$session_dir")"
  } >"$session_dir/logs/objects.txt" 2>&1 || true
  for name in csi-provisioner csi-attacher csi-volume-manager; do
    grep '^[EF]' "$session_dir/logs/$name.log" | tail -n 3 | cut -c -300 | sed "s/^/$name: /" >&2 || true
  done
  die "smoke on a node without kubelet: $* (objects, events, mounts: logs/objects.txt)"
}
