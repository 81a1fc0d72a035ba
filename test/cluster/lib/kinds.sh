# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Every kind that lib/kube has a client for, on a real API server beside kubectl. Sourced by scripts/e2e.

# The definitions of custom resources: Go module of upstream/, file in it.
readonly kinds_definitions=(
  github.com/kubernetes-csi/external-snapshotter/client/v8 config/crd/snapshot.storage.k8s.io_volumesnapshots.yaml
  github.com/kubernetes-csi/external-snapshotter/client/v8 config/crd/snapshot.storage.k8s.io_volumesnapshotclasses.yaml
  github.com/kubernetes-csi/external-snapshotter/client/v8 config/crd/snapshot.storage.k8s.io_volumesnapshotcontents.yaml
  github.com/kubernetes-csi/external-snapshotter/client/v8 config/crd/groupsnapshot.storage.k8s.io_volumegroupsnapshots.yaml
  github.com/kubernetes-csi/external-snapshotter/client/v8 config/crd/groupsnapshot.storage.k8s.io_volumegroupsnapshotclasses.yaml
  github.com/kubernetes-csi/external-snapshotter/client/v8 config/crd/groupsnapshot.storage.k8s.io_volumegroupsnapshotcontents.yaml
  sigs.k8s.io/gateway-api config/crd/standard/gateway.networking.k8s.io_referencegrants.yaml
)

# kinds_module MODULE: the folder of its source, in the version that upstream/ pins; fetched when it is not there.
kinds_module() {
  (cd "$cluster_source/upstream" && go_build mod download "$1" && go_build list -m -f '{{.Dir}}' "$1")
}

# kinds: nobody else writes to the API server, so every difference is ours or kubectl's.
kinds() {
  local dir module folder arguments=()
  product_ensure kinds_check
  need_go
  set -- "${kinds_definitions[@]}"
  while (($# > 0)); do
    if [[ $1 != "${module-}" ]]; then
      module="$1"
      folder="$(kinds_module "$module")" || die "there is no source of $module"
    fi
    arguments+=(--definition "$folder/$2")
    shift 2
  done
  session_begin ''
  dir="$session_dir"
  controlplane_start "$dir" api-only
  foreground "$product_build/bin/kinds_check" --kubeconfig "$dir/admin.kubeconfig" --kubectl "$(binaries_dir kubernetes)/kubectl" \
    --texts "$cluster_source/kinds/kinds.json" "${arguments[@]}" || die 'kinds: objects are not what they should be'
  session_succeeded=1
}
