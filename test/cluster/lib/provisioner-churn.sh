# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# csi-provisioner with the real controllers: clones and restores of filesystem and block volumes, with upstream's csi-snapshotter and
# snapshot-controller for the snapshots; many claims at once; and claims that come and go while csi-provisioner is killed all the time. It has the
# rights of its ServiceAccount, the driver has no node service and nothing uses the volumes. Sourced by scripts/e2e.

readonly provisioner_churn_kill_interval=2000
readonly provisioner_churn_modes=(Filesystem Block)
readonly provisioner_churn_round=20
# A process that was killed no later than this after an answer of the driver may not have saved the volume yet.
readonly provisioner_churn_gap=500
provisioner_churn_namespace=''
# What the driver has kept of volumes that were lost in the known gap.
provisioner_churn_lost=''
provisioner_churn_summary=()

# provisioner_churn [--claims N] [--churn N]: N claims at once, and N that come and go. Fails when one is not as it should be or something is left.
provisioner_churn() {
  local dir="$session_dir" claims=1000 churn=500
  while (($# > 0)); do
    case $1 in
      --claims) claims="${2:?--claims needs a number}" && shift 2 ;;
      --churn) churn="${2:?--churn needs a number}" && shift 2 ;;
      *) usage_error "provisioner-churn does not know $1" ;;
    esac
  done
  [[ -z $session_external ]] || die 'provisioner-churn needs a cluster of its own; run it without --kubeconfig, E2E_KUBECONFIG and KUBECONFIG'
  provisioner_churn_prepare "$dir"
  provisioner_churn_copies "$dir"
  provisioner_churn_crowd "$dir" "$claims"
  provisioner_churn_storm "$dir" plain "$churn"
  provisioner_churn_restart "$dir" --hold-claims
  provisioner_churn_storm "$dir" held "$churn"
  provisioner_churn_finish "$dir"
  printf 'provisioner-churn: %s\n' "${provisioner_churn_summary[@]}"
  echo 'provisioner-churn: passed, nothing is left'
}

# ---- what there is before

provisioner_churn_prepare() {
  local dir="$1" path partner flags crds
  if [[ -z ${E2E_DRIVER-} ]]; then product_ensure sample-driver; fi
  if [[ -z ${E2E_PROVISIONER-} ]]; then product_ensure csi-provisioner; fi
  binaries_ensure upstream
  crds="$e2e_repository/test/conformance/cluster/snapshot-crds.yaml"
  kubectl create -f "$crds" -f "$cluster_source/snapshots/classes.yaml" >/dev/null
  wait_until 30 'the API server knows snapshots' provisioner_churn_knows_snapshots || die 'the API server does not serve snapshots'
  product_install_driver
  path="$(product_path "${E2E_DRIVER-}" sample-driver)"
  mkdir -p "$dir/driver/state"
  # Calls take their time, so that csi-provisioner is also killed while they run; they have their effect all the same.
  process_start "$dir" driver "$path" --mode controller --endpoint "unix://$dir/driver/csi.sock" --state-dir "$dir/driver/state" \
    --driver-name "$product_driver_name" --node-id id-of-no-node --log "$dir/logs/driver.calls" \
    --delay CreateVolume=500ms --finish CreateVolume --delay DeleteVolume=200ms
  wait_until 20 'the driver listens' product_socket_ready "$dir" driver || die 'the driver does not listen'
  # Partners, with every right: theirs are not what is tested.
  for partner in snapshot-controller csi-snapshotter; do
    flags=()
    if [[ $partner == csi-snapshotter ]]; then flags=(--csi-address "$dir/driver/csi.sock"); fi
    process_start "$dir" "$partner" "$(binaries_dir upstream)/$partner" --kubeconfig "$dir/admin.kubeconfig" -v 4 "${flags[@]}"
  done
  product_install provisioner
  kubeconfig_for_account "$dir/csi-provisioner.kubeconfig" "$product_namespace" csi-provisioner
  provisioner_churn_start "$dir"
  provisioner_churn_namespace="csi-native-churn-$(printf '%04x%04x' "$RANDOM" "$RANDOM")"
  product_create_namespace "$provisioner_churn_namespace"
  kubectl create -f - >/dev/null <<YAML
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: $provisioner_churn_namespace}
provisioner: $product_driver_name
volumeBindingMode: Immediate
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: $provisioner_churn_namespace}
driver: $product_driver_name
deletionPolicy: Delete
YAML
}

provisioner_churn_knows_snapshots() { kubectl get volumesnapshots,volumesnapshotcontents,volumesnapshotclasses --all-namespaces >/dev/null 2>&1; }

# provisioner_churn_start DIR [FLAG...]: csi-provisioner, started again when it ends. The limits of its API client would hide everything else.
provisioner_churn_start() {
  local dir="$1"
  shift
  port_reserve "$dir" >"$dir/csi-provisioner.port"
  supervisor_start "$dir" csi-provisioner "$(product_path "${E2E_PROVISIONER-}" csi-provisioner)" --csi-address "$dir/driver/csi.sock" \
    --kubeconfig "$dir/csi-provisioner.kubeconfig" --leader-election --leader-election-namespace "$product_namespace" \
    --http-endpoint "127.0.0.1:$(<"$dir/csi-provisioner.port")" --kube-api-qps 500 --kube-api-burst 1000 --retry-interval-max 10s \
    --snapshot-orphan-sweep-interval 5s -v 5 "$@"
  wait_until 60 'csi-provisioner leads' provisioner_churn_leads "$dir" || die 'csi-provisioner does not lead'
}

provisioner_churn_leads() {
  supervisor_program "$1" csi-provisioner >/dev/null || return 1
  http_get "$(<"$1/csi-provisioner.port")" /healthz/leader-election | grep -q '^HTTP/1.[01] 200'
}

provisioner_churn_restart() {
  product_stop_processes "$1" csi-provisioner
  provisioner_churn_start "$@"
}

# ---- claims

# provisioner_churn_claim NAME LABEL MODE [SOURCE-KIND SOURCE-NAME]: a claim as YAML; labels tell of which step it is.
provisioner_churn_claim() {
  local source=''
  case ${4-} in
    PersistentVolumeClaim) source="dataSource: {kind: PersistentVolumeClaim, name: $5}" ;;
    VolumeSnapshot) source="dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: $5}" ;;
  esac
  cat <<YAML
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $1, namespace: $provisioner_churn_namespace, labels: {step: $2}}
spec:
  storageClassName: $provisioner_churn_namespace
  accessModes: [ReadWriteOnce]
  volumeMode: $3
  resources: {requests: {storage: 1Mi}}
  $source
YAML
}

# provisioner_churn_mixed LABEL NUMBER: every other one is a block volume; of ten, two are clones and two are restores.
provisioner_churn_mixed() {
  local mode="${provisioner_churn_modes[$2 % 2]}" source=()
  case $(($2 % 10)) in
    6 | 7) source=(PersistentVolumeClaim "source-${mode,,}") ;;
    8 | 9) source=(VolumeSnapshot "snapshot-${mode,,}") ;;
  esac
  provisioner_churn_claim "$1-$2" "$1" "$mode" "${source[@]}"
}

provisioner_churn_kubectl() { kubectl --namespace "$provisioner_churn_namespace" "$@"; }

# provisioner_churn_bound LABEL COUNT: there are that many claims of the step, and all are bound.
provisioner_churn_bound() {
  local phases
  process_check "$session_dir" driver || provisioner_churn_fail 'the driver ended'
  phases="$(provisioner_churn_kubectl get persistentvolumeclaims -l "step=$1" -o jsonpath='{range .items[*]}{.status.phase}{"\n"}{end}')" || return 1
  (($(wc -l <<<"$phases") == $2)) && ! grep -qvx Bound <<<"$phases"
}

# provisioner_churn_check DIR LABEL: each claim of the step has exactly one volume, its own, which the driver has.
provisioner_churn_check() {
  local dir="$1" wrong
  provisioner_churn_driver "$dir" >"$dir/driver-volumes"
  kubectl get persistentvolumes -o jsonpath='{range .items[*]}{.metadata.name} {.spec.claimRef.uid} {.spec.csi.volumeHandle} {.spec.volumeMode} {.status.phase}{"\n"}{end}' >"$dir/volumes"
  provisioner_churn_kubectl get persistentvolumeclaims -l "step=$2" \
    -o jsonpath='{range .items[*]}{.metadata.name} {.metadata.uid} {.spec.volumeName} {.spec.volumeMode}{"\n"}{end}' >"$dir/claims"
  wrong="$(awk '
    FILENAME ~ /driver-volumes$/ { made[$2]++; name[$1] = $2; next }
    FILENAME ~ /\/volumes$/ { if ($1 in handle) print "two volumes " $1; handle[$1] = $3; of[$1] = $2; mode[$1] = $4; phase[$1] = $5; owned[$2]++; used[$3]++; next }
    {
      if ($3 != "pvc-" $2) print $1 " has volume " $3 " and not pvc-" $2
      if (of[$3] != $2 || mode[$3] != $4 || phase[$3] != "Bound") print $1 ": its volume is of claim " of[$3] ", " mode[$3] ", " phase[$3]
      if (owned[$2] != 1) print $1 " has " owned[$2] + 0 " volumes in the API"
      if (used[handle[$3]] != 1) print $1 ": the volume of the driver is used " used[handle[$3]] + 0 " times"
      if (name[handle[$3]] != "pvc-" $2 || made["pvc-" $2] != 1) print $1 ": the driver has " made["pvc-" $2] + 0 " volumes for it"
    }' "$dir/driver-volumes" "$dir/volumes" "$dir/claims")"
  [[ -z $wrong ]] || provisioner_churn_fail "claims are not as they should be: $(head -n 5 <<<"$wrong")"
}

# The driver's volumes, "ID NAME" a line. Some may be on their way out.
provisioner_churn_driver() {
  { find "$1/driver/state/volumes" -mindepth 2 -maxdepth 2 -name description.json -exec sed -nE 's/^ *"(id|name)": "([^"]*)".*/\1 \2/p' {} + || true; } 2>/dev/null |
    awk '$1 == "id" { id = $2 } $1 == "name" && id != "" { print id, $2; id = "" }'
}

# No claim and no volume is left in the API but the sources.
provisioner_churn_gone() {
  local claims volumes
  claims="$(provisioner_churn_kubectl get persistentvolumeclaims -o name)" || return 1
  volumes="$(kubectl get persistentvolumes -o jsonpath='{range .items[*]}{.spec.claimRef.name}{"\n"}{end}')" || return 1
  [[ -z $(grep -vE '/source-' <<<"$claims"; grep -v '^source-' <<<"$volumes") ]]
}

# provisioner_churn_left DIR: volumes that the driver has beside those of the sources, and those that are known to be lost: "ID NAME" a line.
provisioner_churn_left() {
  local dir="$1" sources
  sources="$(kubectl get persistentvolumes -o jsonpath='{range .items[*]}{.spec.csi.volumeHandle}{"\n"}{end}')"
  provisioner_churn_driver "$dir" | grep -vF -f <(printf '%s\n' "$sources" "$provisioner_churn_lost" | cut -d ' ' -f 1 | grep .) || true
}

# ---- clones and restores

# Sources with something in them, snapshots of that, something else in the sources, clones and restores.
provisioner_churn_copies() {
  local dir="$1" mode begun
  begun="$(now_ms)"
  for mode in "${provisioner_churn_modes[@]}"; do provisioner_churn_claim "source-${mode,,}" sources "$mode"; done | kubectl create -f - >/dev/null
  wait_until 60 'the sources are bound' provisioner_churn_bound sources 2 || provisioner_churn_fail 'the sources are not bound'
  provisioner_churn_check "$dir" sources
  for mode in "${provisioner_churn_modes[@]}"; do
    provisioner_churn_write "$dir" "source-${mode,,}" "before the snapshot, $mode"
    cat <<YAML
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: snapshot-${mode,,}, namespace: $provisioner_churn_namespace}
spec:
  volumeSnapshotClassName: $provisioner_churn_namespace
  source: {persistentVolumeClaimName: source-${mode,,}}
YAML
  done | kubectl create -f - >/dev/null
  wait_until 90 'the snapshots are ready' provisioner_churn_snapshots_ready || provisioner_churn_fail 'the snapshots are not ready'
  for mode in "${provisioner_churn_modes[@]}"; do provisioner_churn_write "$dir" "source-${mode,,}" "after the snapshot, $mode"; done
  {
    for mode in "${provisioner_churn_modes[@]}"; do
      provisioner_churn_claim "clone-${mode,,}" copies "$mode" PersistentVolumeClaim "source-${mode,,}"
      provisioner_churn_claim "restore-${mode,,}" copies "$mode" VolumeSnapshot "snapshot-${mode,,}"
    done
    provisioner_churn_claim converted converted Filesystem VolumeSnapshot snapshot-block
  } | kubectl create -f - >/dev/null
  wait_until 60 'the copies are bound' provisioner_churn_bound copies 4 || provisioner_churn_fail 'the copies are not bound'
  provisioner_churn_check "$dir" copies
  for mode in "${provisioner_churn_modes[@]}"; do
    provisioner_churn_holds "$dir" "clone-${mode,,}" "after the snapshot, $mode"
    provisioner_churn_holds "$dir" "restore-${mode,,}" "before the snapshot, $mode"
  done
  wait_until 30 'another mode than the snapshot has is refused' provisioner_churn_refused converted ||
    provisioner_churn_fail 'a snapshot of a block volume is restored with a filesystem, although nobody allowed that'
  provisioner_churn_kubectl delete persistentvolumeclaims -l 'step in (copies, converted)' --wait=false >/dev/null
  wait_until 60 'the copies are gone' provisioner_churn_gone || provisioner_churn_fail 'copies are left'
  provisioner_churn_nothing_left "$dir"
  provisioner_churn_summary+=("2 clones and 2 restores, filesystem and block, have what they should have; a conversion was refused ($(seconds $(($(now_ms) - begun))) s)")
}

# The file in the driver that is the volume of a claim, or a file in its folder.
provisioner_churn_file() {
  local dir="$1" handle
  handle="$(kubectl get persistentvolume "$(provisioner_churn_kubectl get persistentvolumeclaim "$2" -o jsonpath='{.spec.volumeName}')" \
    -o jsonpath='{.spec.csi.volumeHandle}')"
  if [[ -f $dir/driver/state/volumes/$handle/image ]]; then
    printf '%s/driver/state/volumes/%s/image' "$dir" "$handle"
  else
    printf '%s/driver/state/volumes/%s/data/content' "$dir" "$handle"
  fi
}

# provisioner_churn_write DIR CLAIM TEXT: at the beginning of the volume.
provisioner_churn_write() { printf '%-40s\n' "$3" | dd of="$(provisioner_churn_file "$1" "$2")" conv=notrunc status=none; }

provisioner_churn_holds() {
  local found
  found="$(head -c 40 "$(provisioner_churn_file "$1" "$2")" | sed 's/ *$//')" || true
  [[ $found == "$3" ]] || provisioner_churn_fail "$2 holds '$found' instead of '$3'"
}

provisioner_churn_snapshots_ready() {
  [[ $(provisioner_churn_kubectl get volumesnapshots -o jsonpath='{.items[*].status.readyToUse}') == 'true true' ]]
}

# An event tells why, and the driver was never asked.
provisioner_churn_refused() {
  local uid
  uid="$(provisioner_churn_kubectl get persistentvolumeclaim "$1" -o jsonpath='{.metadata.uid}')"
  [[ -n $uid ]] && ! grep -qF "$uid" "$session_dir/logs/driver.calls" &&
    [[ -n $(provisioner_churn_kubectl get events --field-selector "involvedObject.name=$1,reason=ProvisioningFailed" -o name) ]]
}

# ---- many at once

# They are there before csi-provisioner starts.
provisioner_churn_crowd() {
  local dir="$1" count="$2" i begun bound
  product_stop_processes "$dir" csi-provisioner
  for ((i = 0; i < count; i++)); do provisioner_churn_mixed crowd "$i"; done | kubectl create -f - >/dev/null
  begun="$(now_ms)"
  provisioner_churn_start "$dir"
  wait_until 300 "$count claims are bound" provisioner_churn_bound crowd "$count" || provisioner_churn_fail 'claims are not bound'
  bound="$(now_ms)"
  provisioner_churn_check "$dir" crowd
  provisioner_churn_kubectl delete persistentvolumeclaims -l step=crowd --wait=false >/dev/null
  wait_until 300 "$count claims and volumes are gone" provisioner_churn_gone || provisioner_churn_fail 'claims or volumes are left'
  provisioner_churn_nothing_left "$dir"
  provisioner_churn_summary+=("$count claims at once: bound after $(seconds $((bound - begun))) s, gone after $(seconds $(($(now_ms) - bound))) s")
}

provisioner_churn_nothing_left() {
  local left
  left="$(provisioner_churn_left "$1")"
  [[ -z $left ]] || provisioner_churn_fail "left in the driver: $left"
}

# ---- claims that come and go while csi-provisioner is killed

# provisioner_churn_storm DIR plain|held COUNT: a round of claims every few seconds. Of four, one is deleted at once, one in the next round, one
# four rounds later, and one when all are there and bound.
provisioner_churn_storm() {
  local dir="$1" label="$2" count="$3" begun i first next kept kills lost
  begun="$(now_ms)"
  say "$count claims come and go ($label), csi-provisioner is killed every $((provisioner_churn_kill_interval / 1000)) s"
  supervisor_kill_every "$dir" "$provisioner_churn_kill_interval" csi-provisioner
  for ((first = 0; first < count; first += provisioner_churn_round)); do
    next="$(($(now_ms) + 2500))"
    for ((i = first; i < first + provisioner_churn_round && i < count; i++)); do provisioner_churn_mixed "$label" "$i"; done | kubectl create -f - >/dev/null
    provisioner_churn_delete "$label" 0 "$first" "$count"
    provisioner_churn_delete "$label" 1 "$((first - provisioner_churn_round))" "$count"
    provisioner_churn_delete "$label" 2 "$((first - 4 * provisioner_churn_round))" "$count"
    while (($(now_ms) < next)); do sleep 0.1; done
  done
  provisioner_churn_delete "$label" 1 "$((first - provisioner_churn_round))" "$count"
  for ((i = 4; i > 0; i--)); do provisioner_churn_delete "$label" 2 "$((first - i * provisioner_churn_round))" "$count"; done
  kept=$((count / 4))
  wait_until 180 "the $kept others are bound" provisioner_churn_bound "$label" "$kept" || provisioner_churn_fail 'claims are not bound'
  provisioner_churn_check "$dir" "$label"
  provisioner_churn_delete "$label" 3 0 "$count" "$count"
  wait_until 180 'claims and volumes are gone' provisioner_churn_gone || provisioner_churn_fail 'claims or volumes are left'
  process_stop "$dir" killer KILL || true
  kills="$(wc -l <"$dir/logs/kills.log")"
  wait_until 60 'csi-provisioner leads' provisioner_churn_leads "$dir" || provisioner_churn_fail 'csi-provisioner does not lead any more'
  ! provisioner_churn_ended_otherwise "$dir" || provisioner_churn_fail 'csi-provisioner ended by itself (logs/supervisor.log)'
  # What was not finished is finished now.
  wait_until 60 'claims and volumes are gone' provisioner_churn_gone || provisioner_churn_fail 'claims or volumes are left'
  provisioner_churn_check_created "$dir" "$label" "$count"
  # The driver may still be at what a process asked for that is dead now.
  sleep 2
  lost="$(provisioner_churn_left "$dir")"
  case $label in
    held) [[ -z $lost ]] || provisioner_churn_fail "left in the driver, in spite of --hold-claims: $lost" ;;
    plain) provisioner_churn_check_lost "$dir" "$lost" ;;
  esac
  provisioner_churn_summary+=("$count claims came and went, $label: $kills kills in $(seconds $(($(now_ms) - begun))) s, $(grep -c . <<<"$lost" || true) volumes lost in the driver")
  provisioner_churn_lost+="$lost"$'\n'
}

# provisioner_churn_delete LABEL REST FIRST COUNT [LENGTH]: of LENGTH claims (default: a round) from FIRST those with that rest of their number by 4.
provisioner_churn_delete() {
  local label="$1" rest="$2" first="$3" count="$4" i names=()
  for ((i = first; i < first + ${5:-provisioner_churn_round} && i < count; i++)); do
    if ((i >= 0 && i % 4 == rest)); then names+=("$label-$i"); fi
  done
  ((${#names[@]} == 0)) || provisioner_churn_kubectl delete persistentvolumeclaims --wait=false --ignore-not-found "${names[@]}" >/dev/null
}

# A line for each end that was not SIGKILL.
provisioner_churn_ended_otherwise() { grep ' csi-provisioner [0-9]* ended with ' "$1/logs/supervisor.log" | grep -v ' ended with 137$'; }

# provisioner_churn_check_created DIR LABEL COUNT: as the audit log says, no claim got a second volume.
provisioner_churn_check_created() {
  local twice
  twice="$(provisioner_churn_created "$1" | sort | uniq -d)"
  [[ -z $twice ]] || provisioner_churn_fail "created more than once: $twice"
}

# Names of the volumes that were created in the API.
provisioner_churn_created() {
  sed -nE '/"code":201/s/.*"verb":"create".*"objectRef":\{"resource":"persistentvolumes","name":"([^"]*)".*/\1/p' "$1/logs/audit.log"
}

# provisioner_churn_check_lost DIR LINES: without --hold-claims a volume is lost, as upstream's, when the process dies after CreateVolume was sent and
# before the volume was saved, and the claim is gone before the next one looks. Anything else is a leak: a volume that was saved, or whose
# process lived on after the answer.
provisioner_churn_check_lost() {
  local dir="$1" id name
  [[ -n $2 ]] || return 0
  provisioner_churn_created "$dir" >"$dir/created"
  while read -r id name; do
    ! grep -qxF "$name" "$dir/created" || provisioner_churn_fail "lost although it was saved: $id $name"
    grep -F '"method":"/csi.v1.Controller/CreateVolume"' "$dir/logs/driver.calls" | grep -F "\"name\":\"$name\"" | tail -n 1 |
      sed -nE 's/.*"unixMicros":([0-9]+).*/\1/p' | awk -v gap="$provisioner_churn_gap" '
        NR == FNR { split($1, part, ":"); kill[++kills] = ((part[1] * 60 + part[2]) * 60 + part[3]) * 1000; next }
        # From the beginning of the call, which takes half a second and some more.
        { answered = $1 / 1000 % 86400000; for (i in kill) if (kill[i] >= answered - 700 && kill[i] <= answered + gap) found = 1 }
        END { exit !found }' "$dir/logs/kills.log" - ||
      provisioner_churn_fail "lost although csi-provisioner was not killed then: $id $name"
  done <<<"$2"
}

# ---- the end

provisioner_churn_finish() {
  local dir="$1"
  provisioner_churn_kubectl delete volumesnapshots,persistentvolumeclaims --all --wait=false >/dev/null
  wait_until 90 'everything is gone' provisioner_churn_empty || provisioner_churn_fail 'objects are left'
  [[ -z $(provisioner_churn_left "$dir") ]] || provisioner_churn_fail "left in the driver: $(provisioner_churn_left "$dir")"
  [[ -z $(ls -A "$dir/driver/state/snapshots") ]] || provisioner_churn_fail "snapshots are left in the driver"
  smoke_check_forbidden "$dir" csi-provisioner || provisioner_churn_fail 'the manifest does not allow what csi-provisioner asked for'
  product_stop_processes "$dir" csi-provisioner csi-snapshotter snapshot-controller
  process_stop "$dir" driver || true
}

provisioner_churn_empty() {
  local objects
  objects="$(kubectl get persistentvolumes,persistentvolumeclaims,volumesnapshots,volumesnapshotcontents --all-namespaces -o name)" || return 1
  [[ -z $objects ]]
}

provisioner_churn_fail() {
  {
    provisioner_churn_kubectl get persistentvolumeclaims,volumesnapshots -o wide
    kubectl get persistentvolumes,volumesnapshotcontents -o yaml
    provisioner_churn_kubectl get persistentvolumeclaims,volumesnapshots -o yaml
    provisioner_churn_kubectl get events --sort-by .lastTimestamp
  } >"$session_dir/logs/objects.txt" 2>&1 || true
  grep '^[EF]' "$session_dir/logs/csi-provisioner.log" | tail -n 5 | cut -c -300 | sed 's/^/csi-provisioner: /' >&2 || true
  die "provisioner-churn: $* (objects and events: logs/objects.txt)"
}
