# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A second Node, without kubelet: csi-volume-manager mounts the volumes of its pods, and who calls these functions does the rest of kubelet's work:
# binds pods, plays their containers, posts their statuses, ends them. Sourced by scripts/e2e; needs KUBECONFIG.
#
# Driver, csi-node-driver-registrar and csi-volume-manager run in a mount namespace of their own, so that no mount outlives it. Kubelet's folder is
# DIR/second/kubelet, inside and outside; what is mounted in it is there inside only.

readonly second_node_name=e2e-second-node
# Not its name: who mixes them up is found out.
readonly second_node_id="id-of-$second_node_name"
readonly second_node_programs=(csi-volume-manager second-registrar second-driver)

second_node_root() { printf '%s/second/kubelet' "$1"; }
second_node_socket() { printf '%s/plugins/%s/csi.sock' "$(second_node_root "$1")" "$product_driver_name"; }
# Where a pod's containers find a volume with a filesystem, and a block volume.
second_node_mount() { printf '%s/pods/%s/volumes/kubernetes.io~csi/%s/mount' "$(second_node_root "$1")" "$2" "$3"; }
second_node_device() { printf '%s/pods/%s/volumeDevices/kubernetes.io~csi/%s' "$(second_node_root "$1")" "$2" "$3"; }

# second_node_start DIR STATE [DRIVER-FLAG...]: returns when the Node is Ready and the driver is registered. STATE is where the driver keeps its
# volumes: the same folder as that of the driver's controller.
second_node_start() {
  local dir="$1" state="$2"
  shift 2
  need_root 'a node without kubelet' 'csi-volume-manager mounts'
  need unshare util-linux nsenter util-linux losetup util-linux
  product_install volumemanager
  kubeconfig_for_account "$dir/csi-volume-manager.kubeconfig" "$product_namespace" csi-volume-manager
  node_object_start "$dir" "$second_node_name"
  mkdir -p "$(second_node_root "$dir")"/{plugins_registry,plugins/"$product_driver_name"}
  # shellcheck disable=SC2016  # expanded inside
  process_start "$dir" second-node unshare --mount --propagation private bash -c ': >"$1/second/ready" && exec sleep infinity' second-node "$dir"
  wait_until 10 'there is a mount namespace' second_node_namespace_ready "$dir" || die 'there is no mount namespace for the second node'
  second_node_start_driver "$dir" "$state" "$@"
  second_node_start_manager "$dir"
  second_node_process_start "$dir" second-registrar "$(product_path "${E2E_REGISTRAR-}" csi-node-driver-registrar)" \
    --csi-address "$(second_node_socket "$dir")" --kubelet-registration-path "$(second_node_socket "$dir")" \
    --plugin-registration-path "$(second_node_root "$dir")/plugins_registry" -v 5
  wait_until 30 'csi-volume-manager has registered the driver' second_node_ready "$dir" || die 'the driver is not registered'
}

second_node_namespace_ready() {
  process_check "$1" second-node || die 'the mount namespace did not start'
  [[ -e $1/second/ready ]]
}

# second_node_run DIR COMMAND...: inside.
second_node_run() {
  local holder
  holder="$(process_id "$1" second-node)" || die 'there is no second node'
  shift
  nsenter --target "$holder" --mount --wdns=/ -- "$@"
}

# second_node_process_start DIR NAME COMMAND...: process_start inside.
second_node_process_start() {
  local dir="$1" name="$2" holder
  shift 2
  holder="$(process_id "$dir" second-node)" || die 'there is no second node'
  process_start "$dir" "$name" nsenter --target "$holder" --mount --wdns=/ -- "$@"
}

second_node_start_driver() {
  local dir="$1" state="$2"
  shift 2
  # A Unix socket's path has 107 bytes at most, and the registrar's is nine longer than this one.
  (($(second_node_socket "$dir" | wc -c) <= 107 - 9)) || die "the name of the instance's folder is too long: $dir"
  if [[ -n $product_topology_key ]]; then set -- --topology "$product_topology_key=$second_node_id" "$@"; fi
  second_node_process_start "$dir" second-driver "$(product_path "${E2E_DRIVER-}" sample-driver)" --mode node \
    --endpoint "unix://$(second_node_socket "$dir")" --state-dir "$state" --driver-name "$product_driver_name" \
    --node-id "$second_node_id" --log "$dir/logs/second-driver.calls" "$@"
  wait_until 20 'the driver of the second node listens' second_node_driver_ready "$dir" || die 'the driver does not listen'
}

second_node_driver_ready() {
  process_check "$1" second-driver || die 'the driver of the second node did not start'
  [[ -S $(second_node_socket "$1") ]]
}

# second_node_start_manager DIR: csi-volume-manager with the token and the rights of its ServiceAccount. With the usual delay the volumes of pods
# that vanished while it was down would stay mounted for another minute.
second_node_start_manager() {
  second_node_process_start "$1" csi-volume-manager "$(product_path "${E2E_VOLUME_MANAGER-}" csi-volume-manager)" \
    --kubeconfig "$1/csi-volume-manager.kubeconfig" --root-dir "$(second_node_root "$1")" --hostname-override "$second_node_name" \
    --force-deleted-pod-unmount-delay 0s -v 5
}

second_node_ready() {
  second_node_check "$1"
  product_driver_registered "$second_node_name"
}

second_node_check() {
  local name
  for name in "${second_node_programs[@]}"; do
    process_check "$1" "$name" || die "$name ended"
  done
}

# second_node_mounted DIR UID VOLUME MODE: a container could start.
second_node_mounted() {
  case $4 in
    Filesystem) second_node_mounts "$1" | grep -qxF "$(second_node_mount "$1" "$2" "$3")" ;;
    Block) second_node_run "$1" test -b "$(second_node_device "$1" "$2" "$3")" ;;
  esac
}

# What is mounted in kubelet's folder, one path a line. csi-volume-manager binds the folder itself, to share what is mounted in it.
second_node_mounts() {
  local holder
  holder="$(process_id "$1" second-node)" || die 'the mount namespace of the second node ended'
  awk -v root="$(second_node_root "$1")/" 'index($5, root) == 1 { print $5 }' "/proc/$holder/mountinfo"
}

# What is left of volumes on the node, in its object and among its attachments, one thing a line.
second_node_volumes_left() {
  local dir="$1" root
  root="$(second_node_root "$dir")"
  second_node_mounts "$dir" | sed 's/^/mount: /'
  # Nothing but folders that all volumes share; vol_data.json would be among the rest.
  find "$root/pods" "$root/plugins/kubernetes.io/csi" -mindepth 1 \
    ! -path '*/csi/volumeDevices' ! -path '*/csi/volumeDevices/staging' ! -path '*/csi/volumeDevices/publish' \
    ! -path "*/kubernetes.io/csi/$product_driver_name" 2>/dev/null | sed 's/^/in the folder of kubelet: /'
  kubectl get node "$second_node_name" -o jsonpath='{range .status.volumesInUse[*]}in use: {@}{"\n"}{end}' || echo 'kubectl failed'
  kubectl get node "$second_node_name" -o jsonpath='{range .status.volumesAttached[*]}attached: {.name}{"\n"}{end}' || echo 'kubectl failed'
  loop_devices_of "$dir" | sed 's/^/loop device: /'
}

# second_node_called DIR METHOD FIELD VALUE [FIELD VALUE]...: the node's driver has answered such a call with success.
second_node_called() {
  local calls
  calls="$(grep -F "\"method\":\"/csi.v1.Node/$2\"" "$1/logs/second-driver.calls" | grep -F '"code":"OK"')" || return 1
  shift 2
  while (($# > 0)); do
    calls="$(grep -F "\"$1\":\"$2\"" <<<"$calls")" || return 1
    shift 2
  done
}

# second_node_pod NAMESPACE NAME CLAIM MODE: a pod that no scheduler places.
second_node_pod() {
  local use='volumeMounts: [{name: volume, mountPath: /volume}]'
  if [[ $4 == Block ]]; then use='volumeDevices: [{name: volume, devicePath: /dev/volume}]'; fi
  cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: "$2", namespace: "$1"}
spec:
  nodeName: $second_node_name
  tolerations: [{operator: Exists}]
  containers: [{name: main, image: never-pulled, $use}]
  volumes: [{name: volume, persistentVolumeClaim: {claimName: "$3"}}]
YAML
}

# second_node_pod_status NAMESPACE POD running|terminated: what kubelet would say of the pod's only container, "main".
second_node_pod_status() {
  local phase state now
  now="$(date -u +%FT%TZ)"
  case $3 in
    running) phase=Running state="{\"running\":{\"startedAt\":\"$now\"}}" ;;
    terminated) phase=Succeeded state="{\"terminated\":{\"exitCode\":0,\"finishedAt\":\"$now\"}}" ;;
  esac
  kubectl patch pod "$2" --namespace "$1" --subresource status --type merge --patch "{\"status\":{\"phase\":\"$phase\",
    \"containerStatuses\":[{\"name\":\"main\",\"image\":\"none\",\"imageID\":\"\",\"ready\":false,\"restartCount\":0,\"state\":$state}]}}" >/dev/null
}

# Ends what second_node_start started and takes its objects away. Fails when csi-volume-manager does not end by itself.
second_node_stop() {
  local dir="$1" status=0
  process_stop "$dir" csi-volume-manager TERM 20 || status=1
  product_stop_processes "$dir" second-registrar second-driver
  process_stop "$dir" second-node KILL || true
  process_stop "$dir" "node-$second_node_name" || true
  node_object_delete "$second_node_name"
  return "$status"
}
