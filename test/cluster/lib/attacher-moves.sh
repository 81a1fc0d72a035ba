# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Pods move between two nodes while csi-attacher is killed again and again: the attach-detach controller, which decides who has a volume and refuses it
# to a second node, is the real one; csi-attacher has the rights of its ServiceAccount. The nodes are objects: nothing on them mounts anything, so
# a pod that is deleted is gone at once. Sourced by scripts/e2e.

# Each move takes all pods of a round along.
readonly attacher_moves_pods=4
readonly attacher_moves_nodes=(moves-a moves-b)
attacher_moves_namespace=''
attacher_moves_refused=0

# attacher_moves [--moves N]: fails when a volume was at two nodes at once, a second node was not refused, or something is left.
attacher_moves() {
  local dir="$session_dir" moves=200 rounds=0 seed="${E2E_SEED:-$RANDOM}" kills="${E2E_KILLS:-40}" seconds="${E2E_KILL_SECONDS:-120}" begun
  if [[ ${1-} == --moves ]]; then
    moves="${2:?--moves needs a number}"
    shift 2
  fi
  (($# == 0)) || usage_error "attacher-moves does not know $1"
  [[ -z $session_external ]] || die 'attacher-moves needs a cluster of its own; run it without --kubeconfig, E2E_KUBECONFIG and KUBECONFIG'
  attacher_moves_prepare "$dir"
  # The first round moves nothing.
  attacher_moves_round "$dir" 0
  begun="$(now_ms)"
  say "moving pods at least $moves times and killing csi-attacher $kills times in the next $seconds s (seed $seed)"
  supervisor_kill_at_random "$dir" "$seed" "$seconds" "$kills" csi-attacher
  while ((rounds * attacher_moves_pods < moves)) || process_id "$dir" killer >/dev/null; do
    rounds=$((rounds + 1))
    attacher_moves_round "$dir" "$rounds"
  done
  say "$((rounds * attacher_moves_pods)) moves in $(seconds $(($(now_ms) - begun))) s"
  attacher_moves_finish "$dir" "$rounds" "$kills"
  echo "attacher-moves: passed: $((rounds * attacher_moves_pods)) moves, $kills kills, a second node refused $attacher_moves_refused times, nothing is left"
}

# Two nodes, the driver, csi-provisioner and csi-attacher, and a bound claim for each pod.
attacher_moves_prepare() {
  local dir="$1" node i path
  if [[ -z ${E2E_DRIVER-} ]]; then product_ensure sample-driver; fi
  if [[ -z ${E2E_PROVISIONER-} ]]; then product_ensure csi-provisioner; fi
  if [[ -z ${E2E_ATTACHER-} ]]; then product_ensure csi-attacher; fi
  if [[ ${E2E_PROVISIONER-} == upstream || ${E2E_ATTACHER-} == upstream ]]; then binaries_ensure upstream; fi
  product_install_driver
  path="$(product_path "${E2E_DRIVER-}" sample-driver)"
  mkdir -p "$dir/driver/state"
  # Without topology: volumes can be reached from both nodes. Calls take their time, so that csi-attacher is also killed while they run.
  process_start "$dir" driver "$path" --mode controller --endpoint "unix://$dir/driver/csi.sock" --state-dir "$dir/driver/state" \
    --driver-name "$product_driver_name" --node-id "id-of-${attacher_moves_nodes[0]}" --other-nodes "id-of-${attacher_moves_nodes[1]}" \
    --log "$dir/logs/driver.calls" --delay ControllerPublishVolume=200ms --delay ControllerUnpublishVolume=200ms
  wait_until 20 'the driver listens' product_socket_ready "$dir" driver || die 'the driver does not listen'
  for node in "${attacher_moves_nodes[@]}"; do
    node_object_create "$dir" "$node" "$product_driver_name" "id-of-$node" '' ''
    # As kubelet does: the attach-detach controller leaves other nodes alone.
    kubectl annotate node "$node" volumes.kubernetes.io/controller-managed-attach-detach=true >/dev/null
  done
  product_start_controllers "$dir" "$dir/driver/csi.sock"
  wait_until 60 'csi-provisioner and csi-attacher lead' product_controllers_ready "$dir" || die 'the sidecars do not work'
  attacher_moves_namespace="csi-native-moves-$(printf '%04x%04x' "$RANDOM" "$RANDOM")"
  product_create_namespace "$attacher_moves_namespace"
  {
    printf 'apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: "%s"}\nprovisioner: %s\nvolumeBindingMode: Immediate\n' \
      "$attacher_moves_namespace" "$product_driver_name"
    for ((i = 1; i <= attacher_moves_pods; i++)); do attacher_moves_claim "$i"; done
  } | kubectl create -f - >/dev/null
  wait_until 60 'the claims are bound' attacher_moves_bound || attacher_moves_fail 'claims are not bound'
}

attacher_moves_claim() {
  cat <<YAML
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "claim-$1", namespace: $attacher_moves_namespace}
spec:
  storageClassName: $attacher_moves_namespace
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Mi}}
YAML
}

# attacher_moves_pod NUMBER ROUND NODE
attacher_moves_pod() {
  cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: "pod-$1-$2", namespace: $attacher_moves_namespace, labels: {round: "$2"}}
spec:
  nodeName: $3
  tolerations: [{operator: Exists}]
  containers: [{name: main, image: never-pulled, volumeMounts: [{name: volume, mountPath: /volume}]}]
  volumes: [{name: volume, persistentVolumeClaim: {claimName: "claim-$1"}}]
YAML
}

attacher_moves_bound() {
  (($(kubectl get persistentvolumeclaims --namespace "$attacher_moves_namespace" -o jsonpath='{range .items[*]}{.status.phase}{"\n"}{end}' |
    grep -cx Bound || true) == attacher_moves_pods))
}

# attacher_moves_round DIR ROUND: all pods, now on the other node. Their successors are made while they still run, and so are refused at first.
attacher_moves_round() {
  local dir="$1" round="$2" node="${attacher_moves_nodes[$2 % 2]}" before="${attacher_moves_nodes[($2 + 1) % 2]}" i
  process_check "$dir" driver || attacher_moves_fail 'the driver ended'
  for ((i = 1; i <= attacher_moves_pods; i++)); do attacher_moves_pod "$i" "$round" "$node"; done | kubectl create -f - >/dev/null
  if ((round > 0)); then
    wait_until 60 "the volumes are refused to $node" attacher_moves_are_refused "$round" ||
      attacher_moves_fail "$node, the second one, is not refused the volumes of $before"
    attacher_moves_refused=$((attacher_moves_refused + attacher_moves_pods))
    attacher_moves_attached "$before" || attacher_moves_fail "the volumes are not at $before alone, whose pods still run"
    kubectl delete pods --namespace "$attacher_moves_namespace" -l "round=$((round - 1))" --force --grace-period 0 >/dev/null 2>&1
  fi
  wait_until 120 "the volumes are attached to $node" attacher_moves_attached "$node" || attacher_moves_fail "the volumes are not attached to $node"
}

# The attach-detach controller has said so to each pod of the round.
attacher_moves_are_refused() {
  (($(kubectl get events --namespace "$attacher_moves_namespace" --field-selector reason=FailedAttachVolume \
    -o jsonpath='{range .items[*]}{.involvedObject.name} {.message}{"\n"}{end}' |
    grep 'Multi-Attach error for volume' | cut -d ' ' -f 1 | sort -u | grep -c -- "-$1\$") == attacher_moves_pods))
}

# attacher_moves_attached NODE: all volumes are attached there, and no attachment is about another node.
attacher_moves_attached() {
  local attachments i expected=''
  attachments="$(kubectl get volumeattachments -o jsonpath='{range .items[*]}{.spec.nodeName} {.status.attached}{"\n"}{end}')" || return 1
  for ((i = 0; i < attacher_moves_pods; i++)); do expected+="$1 true"$'\n'; done
  [[ $attachments == "${expected%$'\n'}" ]]
}

# attacher_moves_finish DIR ROUNDS KILLS: everything is deleted, nothing is left, and the driver's record is in order.
attacher_moves_finish() {
  local dir="$1" rounds="$2" kills="$3" restarts
  kubectl delete pods --all --namespace "$attacher_moves_namespace" --force --grace-period 0 >/dev/null 2>&1
  wait_until 60 'nothing is attached' attacher_moves_none volumeattachments || attacher_moves_fail 'attachments are left'
  [[ -z $(attacher_moves_published "$dir") ]] || attacher_moves_fail "published in the driver: $(attacher_moves_published "$dir")"
  kubectl delete persistentvolumeclaims --all --namespace "$attacher_moves_namespace" --wait=false >/dev/null
  # They would stay if they had a finalizer.
  wait_until 60 'the volumes are gone' attacher_moves_none persistentvolumes persistentvolumeclaims volumeattachments ||
    attacher_moves_fail 'objects are left'
  [[ -z $(product_volumes "$dir" driver) ]] || attacher_moves_fail "left in the driver: $(product_volumes "$dir" driver)"
  attacher_moves_check_calls "$dir" "$rounds"
  wait_until 30 'the sidecars work' product_controllers_ready "$dir" || attacher_moves_fail 'a sidecar does not work any more'
  restarts="$(supervisor_restarts "$dir" csi-attacher)"
  ((restarts == kills && $(grep -c ' csi-attacher ' "$dir/logs/kills.log") == kills)) ||
    attacher_moves_fail "csi-attacher ended $restarts times instead of $kills (logs/supervisor.log)"
  smoke_check_forbidden "$dir" csi-attacher || attacher_moves_fail 'the manifest does not allow what csi-attacher asked for'
  product_stop_processes "$dir" csi-attacher csi-provisioner
  process_stop "$dir" driver || true
}

# attacher_moves_none KIND...: in no namespace.
attacher_moves_none() {
  local kind objects
  for kind; do
    objects="$(kubectl get "$kind" --all-namespaces -o name)" || return 1
    [[ -z $objects ]] || return 1
  done
}

# The successful calls that attach and detach, in the order in which the driver did them: "+ VOLUME NODE" and "- VOLUME NODE".
attacher_moves_calls() {
  sed -nE -e '/"method":"\/csi\.v1\.Controller\/Controller(Unp|P)ublishVolume"/!d' -e '/"code":"OK"/!d' \
    -e 's/.*"volume_id":"([^"]*)".*/\1 &/' -e 's/^([^ ]*) .*"node_id":"([^"]*)".*/\1 \2 &/' \
    -e 's/^([^ ]* [^ ]*) .*ControllerPublishVolume.*/+ \1/p' -e 's/^([^ ]* [^ ]*) .*ControllerUnpublishVolume.*/- \1/p' "$1/logs/driver.calls"
}

# What the driver has published, as its record of calls says.
attacher_moves_published() {
  attacher_moves_calls "$1" | awk '$1 == "+" { at[$2 " at " $3] } $1 == "-" { delete at[$2 " at " $3] } END { for (one in at) print one }'
}

# attacher_moves_check_calls DIR ROUNDS: no volume was at two nodes at once, nor did the driver have to refuse that; each was as often at each node as
# its pods.
attacher_moves_check_calls() {
  local dir="$1" rounds="$2" wrong
  wrong="$(attacher_moves_calls "$dir" | awk -v pods="$attacher_moves_pods" -v rounds="$2" '
    $1 == "+" && !(($2, $3) in at) {
      if (count[$2] > 0) print $2 " at " $3 " while it was at another node"
      at[$2, $3]; count[$2]++; moves[$2]++
    }
    $1 == "-" && (($2, $3) in at) { delete at[$2, $3]; count[$2]-- }
    END {
      for (one in moves) { seen++; if (moves[one] != rounds + 1) print one " was attached " moves[one] " times instead of " rounds + 1 }
      if (seen != pods) print seen + 0 " volumes were attached instead of " pods
    }')"
  [[ -z $wrong ]] || attacher_moves_fail "the driver's record: $wrong"
  ! grep -F 'Controller/ControllerPublishVolume"' "$dir/logs/driver.calls" | grep -qF '"code":"FailedPrecondition"' ||
    attacher_moves_fail 'the driver had to refuse a second node'
}

attacher_moves_fail() {
  {
    kubectl get pods,persistentvolumeclaims --namespace "$attacher_moves_namespace" -o wide
    kubectl get nodes,persistentvolumes,volumeattachments,csinodes -o yaml
    kubectl get events --namespace "$attacher_moves_namespace" --sort-by .lastTimestamp
  } >"$session_dir/logs/objects.txt" 2>&1 || true
  grep '^[EF]' "$session_dir/logs/csi-attacher.log" | tail -n 5 | cut -c -300 | sed 's/^/csi-attacher: /' >&2 || true
  die "attacher-moves: $* (objects and events: logs/objects.txt)"
}
