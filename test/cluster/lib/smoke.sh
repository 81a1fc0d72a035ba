# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The smoke test. First part: csi-provisioner, with nothing but the rights of its own ServiceAccount, makes volumes for claims of both binding
# modes and takes them away again; the scheduler, the controllers and the API server are the real ones. The other parts are in node-smoke.sh and
# volume-manager-smoke.sh. Sourced by scripts/e2e.

smoke_times=()
smoke_namespace=''
smoke_node=''
smoke_owns_installation=''
smoke_owns_driver=''

smoke_parts=()

# smoke_check_parts [PART...]: before anything is started. Without a part: all that can run here; parts that cannot are named.
smoke_check_parts() {
  local part
  smoke_parts=("$@")
  ((${#smoke_parts[@]} > 0)) || smoke_parts=(control-plane node volume-manager)
  for part in "${smoke_parts[@]}"; do
    case $part in
      control-plane) ;;
      node | volume-manager)
        if [[ -n $session_external ]]; then
          (($# == 0)) || die "smoke $part: $smoke_node_needs"
        else
          need_root "smoke: its part $part" 'volumes are mounted; "scripts/e2e smoke control-plane" is the part that does not need it'
        fi
        ;;
      *) usage_error "smoke has no part '$part'" ;;
    esac
  done
}

readonly smoke_node_needs='needs a node of its own, with driver and mounts; run it without --kubeconfig, E2E_KUBECONFIG and KUBECONFIG'

# smoke [PART...]
smoke() {
  local dir="$session_dir" started part ran=()
  started="$(now_ms)"
  smoke_check_parts "$@"
  for part in "${smoke_parts[@]}"; do
    case $part in
      control-plane) smoke_control_plane "$dir" ;;
      node)
        [[ -z $session_external ]] || continue
        smoke_on_node "$dir"
        ;;
      volume-manager)
        [[ -z $session_external ]] || continue
        smoke_volume_manager "$dir"
        ;;
    esac
    ran+=("$part")
  done
  smoke_time 'total' "$started"
  smoke_report
  echo "smoke: passed ($(join_by ', ' "${ran[@]}")), nothing is left"
  if [[ -n $session_external ]] && ((${#ran[@]} < ${#smoke_parts[@]})); then
    echo "smoke: NOT RUN on this cluster: node and volume-manager; each $smoke_node_needs"
  fi
}

# Pods on a node without kubelet, first in peace, then with csi-volume-manager killed.
smoke_volume_manager() {
  local dir="$1" begun
  begun="$(now_ms)"
  product_ensure_stack volume-manager
  vm_smoke_prepare "$dir"
  smoke_time 'second node and csi-volume-manager ready' "$begun"
  vm_smoke "$dir"
  vm_smoke_killed "$dir"
  vm_smoke_finish "$dir"
}

# Pods on a real node, first in peace, then while the sidecars are killed.
smoke_on_node() {
  local dir="$1" seed="${E2E_SEED:-$RANDOM}" begun
  begun="$(now_ms)"
  product_ensure_stack
  node_smoke_prepare "$dir"
  smoke_time 'node, driver and three sidecars ready' "$begun"
  node_smoke "$dir" 2
  node_smoke_killed "$dir" "$seed" "${E2E_KILL_SECONDS:-60}" "${E2E_KILLS:-20}"
  node_smoke_finish "$dir"
}

# smoke_control_plane DIR
smoke_control_plane() {
  local dir="$1" claims="${E2E_CLAIMS:-50}" begun suffix provisioner port
  ((claims >= 2)) || die "E2E_CLAIMS must be 2 at least"
  suffix="$(printf '%04x%04x' "$RANDOM" "$RANDOM")"
  smoke_namespace="csi-native-smoke-$suffix"
  smoke_node="csi-native-smoke-$suffix"

  if [[ -z ${E2E_DRIVER-} ]]; then product_ensure sample-driver; fi
  if [[ -z ${E2E_PROVISIONER-} ]]; then product_ensure csi-provisioner; fi
  if [[ ${E2E_PROVISIONER-} == upstream ]]; then binaries_ensure upstream; fi
  provisioner="$(product_path "${E2E_PROVISIONER-}" csi-provisioner)"

  begun="$(now_ms)"
  smoke_prepare "$suffix"
  product_start_driver "$dir" driver "$smoke_node"
  kubeconfig_for_account "$dir/csi-provisioner.kubeconfig" "$product_namespace" csi-provisioner
  port="$(port_reserve "$dir")"
  product_start_provisioner "$dir" csi-provisioner "$provisioner" driver "$dir/csi-provisioner.kubeconfig" "$port"
  smoke_time 'driver and csi-provisioner ready' "$begun"

  begun="$(now_ms)"
  smoke_objects "$suffix" "$((claims / 2))" "$((claims - claims / 2))" | kubectl create -f - >/dev/null
  smoke_time "$claims claims created" "$begun"
  wait_until 60 'all Immediate claims are bound' smoke_bound "immediate" "$((claims / 2))" || smoke_fail 'claims are not bound'
  smoke_time 'Immediate claims bound' "$begun"
  wait_until 60 'all WaitForFirstConsumer claims are bound' smoke_bound "wait" "$((claims - claims / 2))" ||
    smoke_fail 'claims are not bound'
  smoke_time 'WaitForFirstConsumer claims bound' "$begun"

  begun="$(now_ms)"
  smoke_check_objects "$dir" "$suffix" "$claims"
  smoke_check_server "$port"
  smoke_time 'objects checked' "$begun"

  begun="$(now_ms)"
  kubectl delete pods --all --namespace "$smoke_namespace" --force --grace-period 0 >/dev/null 2>&1
  kubectl delete persistentvolumeclaims --all --namespace "$smoke_namespace" --wait=false >/dev/null
  wait_until 60 'all claims and volumes are gone' smoke_gone || smoke_fail 'objects are left'
  smoke_time 'everything deleted' "$begun"
  smoke_check_nothing_left "$dir"
  if [[ -z $session_external ]]; then smoke_check_audit "$dir" "$claims"; fi
  # Still the processes that we started: neither has crashed on the way.
  process_check "$dir" csi-provisioner || smoke_fail 'csi-provisioner ended'
  process_check "$dir" driver || smoke_fail 'the driver ended'
  if [[ -z $session_external ]]; then smoke_control_plane_end "$dir"; fi
}

# Steps with the time since their start, for the table at the end.
smoke_time() { smoke_times+=("$1" "$(($(now_ms) - $2))"); }

smoke_report() {
  printf '%-46s %s\n' step seconds
  printf '%-46s %s\n' ---- -------
  set -- "${smoke_times[@]}"
  while (($# > 0)); do
    printf '%-46s %s\n' "$1" "$(seconds "$2")"
    shift 2
  done
}

smoke_fail() {
  {
    kubectl get persistentvolumeclaims,pods --namespace "$smoke_namespace" -o wide
    kubectl get persistentvolumes -o wide
    kubectl get events --namespace "$smoke_namespace" --sort-by .lastTimestamp
  } >"$session_dir/logs/objects.txt" 2>&1 || true
  tail -n 5 "$session_dir/logs/csi-provisioner.log" 2>/dev/null | cut -c -300 >&2 || true
  die "smoke: $* (objects and events: logs/objects.txt)"
}

# What has to be there before the claims.
smoke_prepare() {
  local suffix="$1" mode
  # What was there before stays.
  kubectl get namespace "$product_namespace" >/dev/null 2>&1 || smoke_owns_installation=yes
  kubectl get csidriver "$product_driver_name" >/dev/null 2>&1 || smoke_owns_driver=yes
  product_install provisioner
  node_object_create "$session_dir" "$smoke_node" "$product_driver_name" "$smoke_node" "$product_topology_key" "$smoke_node"
  kubectl create namespace "$smoke_namespace" >/dev/null
  wait_until 20 'the namespace has its ServiceAccount' kubectl get serviceaccount default --namespace "$smoke_namespace" \
    -o name >/dev/null 2>&1
  # Without it the attach controller would wait for an attacher.
  kubectl apply -f - >/dev/null <<EOF
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: $product_driver_name}
spec: {attachRequired: false}
EOF
  for mode in Immediate WaitForFirstConsumer; do
    kubectl create -f - >/dev/null <<EOF
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: $(smoke_class "$mode" "$suffix"), labels: {csi-native/smoke: "$suffix"}}
provisioner: $product_driver_name
volumeBindingMode: $mode
reclaimPolicy: Delete
mountOptions: [noatime]
parameters: {csi.storage.k8s.io/fstype: ext4}
EOF
  done
}

smoke_class() {
  case $1 in
    Immediate) printf 'csi-native-immediate-%s' "$2" ;;
    *) printf 'csi-native-wait-%s' "$2" ;;
  esac
}

# The claims, as one document: $2 Immediate ones and $3 that wait for their pod; every fifth asks for a block volume.
smoke_objects() {
  local i
  for ((i = 0; i < $2; i++)); do
    smoke_claim "immediate-$i" "$(smoke_class Immediate "$1")" "$i"
  done
  for ((i = 0; i < $3; i++)); do
    smoke_claim "wait-$i" "$(smoke_class WaitForFirstConsumer "$1")" "$i"
    smoke_pod "wait-$i" "$i"
  done
}

smoke_claim() {
  cat <<EOF
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $1, namespace: $smoke_namespace, labels: {mode: ${1%-*}}}
spec:
  storageClassName: $2
  accessModes: [ReadWriteOnce]
  volumeMode: $(smoke_volume_mode "$3")
  resources: {requests: {storage: $((1 + $3 % 3))Mi}}
EOF
}

smoke_volume_mode() {
  if (($1 % 5 == 4)); then printf Block; else printf Filesystem; fi
}

smoke_pod() {
  local use='volumeMounts: [{name: volume, mountPath: /volume}]'
  if [[ $(smoke_volume_mode "$2") == Block ]]; then use='volumeDevices: [{name: volume, devicePath: /dev/volume}]'; fi
  cat <<EOF
---
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: $smoke_namespace}
spec:
  nodeSelector: {kubernetes.io/hostname: $smoke_node}
  tolerations: [{key: $node_object_taint, operator: Exists}]
  containers: [{name: main, image: never-pulled, $use}]
  volumes: [{name: volume, persistentVolumeClaim: {claimName: $1}}]
EOF
}

# smoke_bound MODE COUNT: that many claims of this mode are Bound.
smoke_bound() {
  local phases bound=0 phase
  process_check "$session_dir" csi-provisioner || smoke_fail 'csi-provisioner ended'
  process_check "$session_dir" driver || smoke_fail 'the driver ended'
  phases="$(kubectl get persistentvolumeclaims --namespace "$smoke_namespace" -l "mode=$1" -o jsonpath='{.items[*].status.phase}')"
  for phase in $phases; do
    if [[ $phase == Bound ]]; then bound=$((bound + 1)); fi
  done
  ((bound == $2))
}

# Every claim has exactly the volume it asked for, field by field.
smoke_check_objects() {
  local dir="$1" suffix="$2" claims="$3" name uid volume mode size class wrong=0 line expected id
  declare -A volumes=() held=() owned=()
  while IFS='|' read -r name line; do
    if [[ -n $name ]]; then volumes[$name]="$line"; fi
  done < <(kubectl get persistentvolumes -o go-template-file=<(smoke_volume_template))
  for id in $(product_volumes "$dir" driver); do
    held[$id]=yes
  done
  while IFS='|' read -r name uid volume mode size class; do
    line="${volumes[$volume]-none}"
    # The driver's id of the volume is its own choice; that it knows it is checked below.
    id="${line##*|}"
    expected="$smoke_namespace/$name/$uid|$class|Delete|ReadWriteOnce|$size|$mode|noatime|$product_driver_name|"
    if [[ $mode == Filesystem ]]; then expected+=ext4; fi
    expected+="|$product_driver_name|annotated|external-provisioner.volume.kubernetes.io/finalizer|identity|"
    if [[ -n $product_topology_key ]]; then expected+="$product_topology_key=$smoke_node"; fi
    expected+="|$id"
    if [[ $volume != "pvc-$uid" || $line != "$expected" ]]; then
      say "claim $name has volume $volume"$'\n'"  with   $line"$'\n'"  wanted $expected"
      wrong=$((wrong + 1))
    fi
    if [[ -z $id || -z ${held[$id]-} || -n ${owned[$id]-} ]]; then
      say "claim $name: the driver has no volume '$id', or it belongs to another claim too"
      wrong=$((wrong + 1))
    fi
    owned[${id:-none}]=yes
  done < <(kubectl get persistentvolumeclaims --namespace "$smoke_namespace" -o go-template='{{range .items}}{{.metadata.name}}|{{
    .metadata.uid}}|{{.spec.volumeName}}|{{.spec.volumeMode}}|{{.spec.resources.requests.storage}}|{{.spec.storageClassName}}{{"\n"}}{{end}}')
  ((wrong == 0)) || smoke_fail "$wrong volumes are not as they should be"
  ((${#owned[@]} == claims)) || smoke_fail "${#owned[@]} claims with a volume instead of $claims"
  ((${#held[@]} == claims)) || smoke_fail "the driver has ${#held[@]} volumes instead of $claims"
}

# A line for each volume of a CSI driver: name|claim|class|...|handle, in the order smoke_check_objects expects.
smoke_volume_template() {
  cat <<'EOF'
{{range .items}}{{if .spec.csi}}{{$a := .metadata.annotations}}{{.metadata.name}}|{{
with .spec.claimRef}}{{.namespace}}/{{.name}}/{{.uid}}{{end}}|{{.spec.storageClassName}}|{{.spec.persistentVolumeReclaimPolicy}}|{{
range .spec.accessModes}}{{.}}{{end}}|{{.spec.capacity.storage}}|{{.spec.volumeMode}}|{{range .spec.mountOptions}}{{.}}{{end}}|{{
.spec.csi.driver}}|{{with .spec.csi.fsType}}{{.}}{{end}}|{{index $a "pv.kubernetes.io/provisioned-by"}}|{{
if and (eq (index $a "volume.kubernetes.io/provisioner-deletion-secret-name") "") (eq (index $a "volume.kubernetes.io/provisioner-deletion-secret-namespace") "")
}}annotated{{end}}|{{range .metadata.finalizers}}{{if ne . "kubernetes.io/pv-protection"}}{{.}}{{end}}{{end}}|{{
if index .spec.csi.volumeAttributes "storage.kubernetes.io/csiProvisionerIdentity"}}identity{{end}}|{{
with .spec.nodeAffinity}}{{range .required.nodeSelectorTerms}}{{range .matchExpressions}}{{.key}}={{range .values}}{{.}}{{end}}{{end}}{{end}}{{end
}}|{{.spec.csi.volumeHandle}}
{{end}}{{end}}
EOF
}

smoke_check_server() {
  local metrics
  metrics="$(http_get "$1" /metrics)"
  grep -q '^csi_sidecar_operations_seconds_count{.*CreateVolume' <<<"$metrics" || smoke_fail 'no CreateVolume calls in /metrics'
  grep -q '^controller_persistentvolumeclaim_provision_total{' <<<"$metrics" || smoke_fail 'no provisioned claims in /metrics'
}

smoke_gone() {
  local left
  left="$(kubectl get persistentvolumeclaims --namespace "$smoke_namespace" -o name
    kubectl get persistentvolumes -o jsonpath='{range .items[*]}{.spec.csi.driver} {.metadata.name}{"\n"}{end}' |
      { grep "^$product_driver_name " || true; })"
  [[ -z $left ]]
}

smoke_check_nothing_left() {
  local left
  left="$(product_volumes "$1" driver)"
  [[ -z $left ]] || smoke_fail "the driver still has volumes: $left"
  left="$(kubectl get volumeattachments -o jsonpath='{range .items[*]}{.spec.nodeName} {.metadata.name}{"\n"}{end}' |
    { grep "^$smoke_node " || true; })"
  [[ -z $left ]] || smoke_fail "VolumeAttachments are left: $left"
}

# The audit log says who wrote: every volume was created and deleted by the ServiceAccount, and nothing that it asked for was forbidden.
smoke_check_audit() {
  local log="$1/logs/audit.log" account="system:serviceaccount:$product_namespace:csi-provisioner" creates others
  creates="$(grep '"verb":"create"' "$log" | grep '"objectRef":{"resource":"persistentvolumes",' | grep '"code":201')"
  others="$(grep -cv "\"user\":{\"username\":\"$account\"" <<<"$creates" || true)"
  ((others == 0)) || smoke_fail "$others volumes were not created by $account"
  (($(wc -l <<<"$creates") == $2)) || smoke_fail "$(wc -l <<<"$creates") volumes were created instead of $2"
  smoke_check_forbidden "$1" csi-provisioner || smoke_fail 'the manifests do not allow what csi-provisioner asked for'
}

# smoke_check_forbidden DIR ACCOUNT: fails, and says what, when the API server refused something that this ServiceAccount asked for.
smoke_check_forbidden() {
  local account="system:serviceaccount:$product_namespace:$2" forbidden
  forbidden="$(grep "\"user\":{\"username\":\"$account\"" "$1/logs/audit.log" | grep '"code":403' |
    sed -E 's/.*"requestURI":"([^"]*)","verb":"([^"]*)".*/\2 \1/' | sort -u)" || true
  [[ -z $forbidden ]] || {
    say "forbidden to $2: $forbidden"
    return 1
  }
}

# Stops the programs of the first part and takes its objects away.
smoke_control_plane_end() {
  # No kubelet ends these pods, and no claim goes before its pod.
  kubectl delete pods --all --namespace "$smoke_namespace" --force --grace-period 0 >/dev/null 2>&1
  kubectl delete namespace "$smoke_namespace" --ignore-not-found --timeout 60s >/dev/null
  wait_until 20 'the volumes are gone' smoke_gone
  process_stop "$1" csi-provisioner || true
  process_stop "$1" driver || true
  kubectl delete storageclass -l "csi-native/smoke=${smoke_node##*-}" --ignore-not-found >/dev/null
  process_stop "$1" "node-$smoke_node" || true
  node_object_delete "$smoke_node"
}

# What the session's end removes from a cluster that outlives it.
session_cleanup() {
  [[ -n $session_external && -n $smoke_namespace ]] || return 0
  smoke_control_plane_end "$session_dir"
  if [[ -n $smoke_owns_driver ]]; then kubectl delete csidriver "$product_driver_name" --ignore-not-found >/dev/null; fi
  if [[ -n $smoke_owns_installation ]]; then product_uninstall; fi
}
