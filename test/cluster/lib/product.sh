# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Our programs (or the ones given instead) as processes of an instance. Sourced by scripts/e2e.

readonly product_build="${E2E_BUILD:-$e2e_repository/build/release}"
readonly product_manifests="${E2E_MANIFESTS:-$e2e_repository/manifests}"
readonly product_namespace=csi-native
product_installed=()

# What the sample driver calls itself, and the key of its topology.
product_driver_name="${E2E_DRIVER_NAME:-sample.csi-native.io}"
readonly product_topology_key="${E2E_TOPOLOGY_KEY-topology.sample.csi-native.io/node}"

# product_ensure PROGRAM...: all of them are in the build folder and up to date. A build folder that was named (E2E_BUILD) is taken as it is.
product_ensure() {
  local program
  if [[ -z ${E2E_BUILD-} ]]; then
    "$e2e_repository/scripts/build" release "$@" >&2 || die 'the build failed'
  fi
  for program; do
    [[ -x $product_build/bin/$program ]] || die "there is no $product_build/bin/$program"
  done
}

# product_path VALUE PROGRAM: the file to run: ours when VALUE is empty, the upstream one when it is "upstream", else VALUE itself.
product_path() {
  local dir
  case $1 in
    '') printf '%s/bin/%s' "$product_build" "$2" ;;
    upstream)
      dir="$(binaries_dir upstream)"
      printf '%s/%s' "$dir" "$2"
      ;;
    *)
      [[ -x $1 ]] || die "cannot run $1"
      printf '%s' "$1"
      ;;
  esac
}

# product_install ACCOUNT-FOLDER: the ServiceAccount and the rights from manifests/FOLDER, without the workloads.
product_install() {
  local file files=()
  for file in "$product_manifests/$1"/*.yaml; do
    case ${file##*/} in
      kustomization.yaml | deployment*.yaml | daemonset*.yaml) ;;
      *) files+=(-f "$file") ;;
    esac
  done
  ((${#files[@]} > 0)) && [[ -e ${files[1]} ]] || die "no manifests in $product_manifests/$1"
  product_installed=("${files[@]}")
  kubectl apply "${files[@]}" >/dev/null
}

# Takes back what product_install added.
product_uninstall() {
  kubectl delete --ignore-not-found "${product_installed[@]}" >/dev/null
}

# product_start_driver DIR NAME NODE-ID [FLAG...]: the sample driver, listening on DIR/NAME/csi.sock, its volumes in DIR/NAME/state, a line for
# each call in logs/NAME.calls.
product_start_driver() {
  local dir="$1" name="$2" node="$3" path
  shift 3
  path="$(product_path "${E2E_DRIVER-}" sample-driver)"
  if [[ -n $product_topology_key ]]; then set -- --topology "$product_topology_key=$node" "$@"; fi
  mkdir -p "$dir/$name/state"
  process_start "$dir" "$name" "$path" --endpoint "unix://$dir/$name/csi.sock" --state-dir "$dir/$name/state" \
    --driver-name "$product_driver_name" --node-id "$node" --log "$dir/logs/$name.calls" "$@"
  wait_until 20 "$name listens" product_socket_ready "$dir" "$name"
}

product_socket_ready() {
  process_check "$1" "$2" || die "$2 did not start"
  [[ -S $1/$2/csi.sock ]]
}

# product_start_provisioner DIR NAME PATH DRIVER KUBECONFIG PORT [FLAG...]: csi-provisioner for the driver called DRIVER; returns when its
# HTTP server answers that it leads.
product_start_provisioner() {
  local dir="$1" name="$2" path="$3" driver="$4" kubeconfig="$5" port="$6"
  shift 6
  process_start "$dir" "$name" "$path" --csi-address "$dir/$driver/csi.sock" --kubeconfig "$kubeconfig" \
    --leader-election --leader-election-namespace "$product_namespace" --http-endpoint "127.0.0.1:$port" \
    --feature-gates Topology=true -v 5 "$@"
  wait_until 45 "$name leads" product_provisioner_ready "$dir" "$name" "$port"
}

product_provisioner_ready() {
  local holder lease="${product_driver_name//[^A-Za-z0-9-]/-}"
  process_check "$1" "$2" || die "$2 did not start"
  http_get "$3" /healthz/leader-election | grep -q '^HTTP/1.[01] 200' || return 1
  holder="$(kubectl get lease "$lease" --namespace "$product_namespace" -o jsonpath='{.spec.holderIdentity}' 2>/dev/null)" || return 1
  [[ -n $holder ]]
}

# product_volumes DIR NAME: the ids of the volumes that the driver NAME has, one a line.
product_volumes() {
  [[ -d $1/$2/state/volumes ]] || die "the sample driver keeps no $1/$2/state/volumes"
  ls -A "$1/$2/state/volumes"
}
