# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Our programs (or the ones given instead) as processes of an instance. Sourced by scripts/e2e.

readonly product_build="${E2E_BUILD:-$e2e_repository/build/release}"
readonly product_manifests="${E2E_MANIFESTS:-$e2e_repository/manifests}"
readonly product_namespace=csi-native
product_installed=()
# Of volumes whose class names none.
product_filesystem=ext4

# Where the driver of a real node listens and keeps its state.
product_node_socket() { printf '%s/node/kubelet/plugins/%s/csi.sock' "$1" "$product_driver_name"; }
product_node_state() { printf '%s/driver/state' "$1"; }

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

# product_ensure_stack [volume-manager]: the driver, the three sidecars, and csi-volume-manager where it is asked for, except what is given instead.
product_ensure_stack() {
  if [[ -z ${E2E_DRIVER-} ]]; then product_ensure sample-driver; fi
  if [[ -z ${E2E_PROVISIONER-} ]]; then product_ensure csi-provisioner; fi
  if [[ -z ${E2E_ATTACHER-} ]]; then product_ensure csi-attacher; fi
  if [[ -z ${E2E_REGISTRAR-} ]]; then product_ensure csi-node-driver-registrar; fi
  if [[ ${1-} == volume-manager && -z ${E2E_VOLUME_MANAGER-} ]]; then product_ensure csi-volume-manager; fi
  if [[ ${E2E_PROVISIONER-} == upstream || ${E2E_ATTACHER-} == upstream ]]; then binaries_ensure upstream; fi
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

# product_install ACCOUNT-FOLDER: the ServiceAccount and the rights from manifests/FOLDER, without the workloads and the driver.
product_install() {
  local file files=()
  for file in "$product_manifests/$1"/*.yaml; do
    case ${file##*/} in
      kustomization.yaml | csidriver.yaml | deployment*.yaml | daemonset*.yaml) ;;
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

# product_create_namespace NAME: returns when pods can be made in it.
product_create_namespace() {
  kubectl create namespace "$1" >/dev/null
  wait_until 20 'the namespace has its ServiceAccount' kubectl get serviceaccount default --namespace "$1" -o name >/dev/null 2>&1
}

# product_create_class NAME NODE-ID: a class of volumes that are made at once, for the node with this id.
product_create_class() {
  local topology=''
  if [[ -n $product_topology_key ]]; then
    topology="allowedTopologies: [{matchLabelExpressions: [{key: $product_topology_key, values: [$2]}]}]"
  fi
  kubectl create -f - >/dev/null <<YAML
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: "$1"}
provisioner: $product_driver_name
volumeBindingMode: Immediate
$topology
YAML
}

# product_install_driver: the CSIDriver object of the sample driver as manifests/ has it.
product_install_driver() {
  kubectl delete csidriver "$product_driver_name" --ignore-not-found >/dev/null
  sed "s/^  name: .*/  name: $product_driver_name/" "$product_manifests/registrar/csidriver.yaml" | kubectl create -f - >/dev/null
}

# product_start_node_driver DIR [FLAG...]: the sample driver, both services, inside the node of the instance.
product_start_node_driver() {
  local dir="$1" path socket_dir="$node_kubelet_root/plugins/$product_driver_name" id="id-of-$node_name"
  shift
  path="$(product_path "${E2E_DRIVER-}" sample-driver)"
  # A Unix socket's path has 107 bytes at most, and the registrar's is nine longer than this one.
  (($(product_node_socket "$dir" | wc -c) <= 107 - 9)) || die "the name of the instance's folder is too long: $dir"
  if [[ -n $product_topology_key ]]; then set -- --topology "$product_topology_key=$id" "$@"; fi
  mkdir -p "$(product_node_state "$dir")" "$dir/node/kubelet/plugins/$product_driver_name"
  # The node's id is not its name: who mixes them up is found out.
  node_process_start "$dir" driver "$path" --endpoint "unix://$socket_dir/csi.sock" --state-dir "$(product_node_state "$dir")" \
    --driver-name "$product_driver_name" --node-id "$id" --log "$dir/logs/driver.calls" "$@"
  wait_until 20 'the driver listens' product_node_socket_ready "$dir" || die 'the driver does not listen'
}

product_node_socket_ready() {
  process_check "$1" driver || die 'the driver did not start'
  [[ -S $(product_node_socket "$1") ]]
}

# product_start_sidecars DIR: csi-provisioner, csi-attacher and csi-node-driver-registrar for the driver in the node, each with the token of its
# ServiceAccount, started again when they end. Returns when the first two lead and kubelet knows the driver.
product_start_sidecars() {
  local dir="$1" socket
  socket="$(product_node_socket "$dir")"
  product_install registrar
  product_start_controllers "$dir" "$socket"
  # It belongs to the node, and talks to no API server.
  supervisor_start "$dir" csi-node-driver-registrar "$(product_path "${E2E_REGISTRAR-}" csi-node-driver-registrar)" \
    --csi-address "$socket" --kubelet-registration-path "$node_kubelet_root/plugins/$product_driver_name/csi.sock" \
    --plugin-registration-path "$dir/node/kubelet/plugins_registry" -v 5
  wait_until 60 'the sidecars work' product_sidecars_ready "$dir" || die 'the sidecars do not work'
}

# product_start_controllers DIR SOCKET: csi-provisioner and csi-attacher for the driver behind the socket.
product_start_controllers() {
  local dir="$1" socket="$2" name port
  mkdir -p "$dir/supervised"
  for name in provisioner attacher; do
    product_install "$name"
    kubeconfig_for_account "$dir/csi-$name.kubeconfig" "$product_namespace" "csi-$name"
    port="$(port_reserve "$dir")"
    printf '%s\n' "$port" >"$dir/csi-$name.port"
  done
  supervisor_start "$dir" csi-provisioner "$(product_path "${E2E_PROVISIONER-}" csi-provisioner)" --csi-address "$socket" \
    --kubeconfig "$dir/csi-provisioner.kubeconfig" --leader-election --leader-election-namespace "$product_namespace" \
    --http-endpoint "127.0.0.1:$(<"$dir/csi-provisioner.port")" --feature-gates Topology=true --extra-create-metadata \
    --default-fstype "$product_filesystem" -v 5
  supervisor_start "$dir" csi-attacher "$(product_path "${E2E_ATTACHER-}" csi-attacher)" --csi-address "$socket" \
    --kubeconfig "$dir/csi-attacher.kubeconfig" --leader-election --leader-election-namespace "$product_namespace" \
    --http-endpoint "127.0.0.1:$(<"$dir/csi-attacher.port")" --default-fstype "$product_filesystem" -v 5
}

# Both run and lead.
product_controllers_ready() {
  local dir="$1" name
  for name in csi-provisioner csi-attacher; do
    supervisor_program "$dir" "$name" >/dev/null || return 1
    http_get "$(<"$dir/$name.port")" /healthz/leader-election | grep -q '^HTTP/1.[01] 200' || return 1
  done
}

# All of them run, the first two lead, the driver is registered.
product_sidecars_ready() {
  local dir="$1"
  process_check "$dir" driver || die 'the driver ended'
  product_controllers_ready "$dir" || return 1
  supervisor_program "$dir" csi-node-driver-registrar >/dev/null || return 1
  product_driver_registered "$node_name"
}

# product_driver_registered NODE: the driver is in its CSINode.
product_driver_registered() {
  kubectl get csinode "$1" -o jsonpath='{.spec.drivers[*].name}' 2>/dev/null | grep -qwF "$product_driver_name"
}

product_stop_sidecars() {
  product_stop_processes "$1" csi-node-driver-registrar csi-attacher csi-provisioner
}

# product_stop_processes DIR NAME...: in this order.
product_stop_processes() {
  local dir="$1" name
  shift
  for name; do
    process_stop "$dir" "$name" TERM 20 || say "$name had to be killed"
  done
}

# What is left of volumes in the driver and on the node, one thing a line.
node_volumes_left() {
  local dir="$1" init
  product_volumes "$dir" driver | sed 's/^/volume in the driver: /'
  init="$(node_init "$dir")" || die 'the node ended'
  awk -v root="$node_kubelet_root/" 'index($5, root) == 1 { print "mount: " $5 }' "/proc/$init/mountinfo"
  # These folders of kubelet stay; what they hold goes with its volume.
  find "$dir/node/kubelet/pods" "$dir/node/kubelet/plugins/kubernetes.io/csi" -mindepth 1 \
    ! -path '*/csi/volumeDevices' ! -path '*/csi/volumeDevices/staging' ! -path '*/csi/volumeDevices/publish' \
    ! -path "*/kubernetes.io/csi/$product_driver_name" 2>/dev/null | sed 's/^/in a folder of kubelet: /'
  loop_devices_of "$dir" | sed 's/^/loop device: /'
}

# product_volumes DIR NAME: the ids of the volumes that the driver NAME has, one a line.
product_volumes() {
  [[ -d $1/$2/state/volumes ]] || die "the sample driver keeps no $1/$2/state/volumes"
  ls -A "$1/$2/state/volumes"
}
