# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A real node: containerd, CNI and kubelet in a mount and a process namespace of their own. Sourced by scripts/e2e.
#
# Inside the namespace /var/lib/kubelet, /run, /var/lib/cni and /var/log are the node's own (DIR/node/... and a tmpfs), so that everything has its
# usual path and nothing meets another node, or a kubelet of this machine. All mounts vanish with the namespace. From outside,
# DIR/node/kubelet is that /var/lib/kubelet without what is mounted in it; sockets work through it.

readonly node_name=e2e-node
readonly node_kubelet_root=/var/lib/kubelet

# node_start DIR: returns when the node of the control plane in DIR is Ready.
node_start() {
  local dir="$1" started
  started="$(now_ms)"
  need_root 'a real node' 'kubelet and containerd mount'
  need containerd containerd ctr containerd runc runc unshare util-linux nsenter util-linux ip iproute2 iptables iptables \
    losetup util-linux
  [[ -x /usr/lib/cni/ptp && -x /usr/lib/cni/host-local ]] ||
    die 'missing: /usr/lib/cni/ptp (Debian package containernetworking-plugins). scripts/bootstrap --e2e installs it'
  images_ensure images
  say "starting a node in $dir"
  node_namespace_start "$dir"
  node_containerd_start "$dir"
  node_kubelet_start "$dir"
  wait_until 60 'the node is ready' node_ready "$dir" || die 'the node is not ready'
  say "node $node_name up in $(seconds $(($(now_ms) - started))) s"
}

# node_running DIR: the instance has a node.
node_running() { process_id "$1" node >/dev/null; }

# node_namespace_start DIR: process "node" holds the namespaces; its only child is their process 1.
node_namespace_start() {
  local dir="$1" own
  for own in /run /var/log /var/lib/cni "$node_kubelet_root"; do
    [[ $dir/ != "$own"/* ]] || die "$dir cannot hold a node: a node has a $own of its own"
  done
  mkdir -p "$dir"/node/{kubelet,cni-state,cni,containerd} "$dir/logs/node" "$node_kubelet_root" /var/lib/cni
  # The machine's file may be a link into its /run.
  cat /etc/resolv.conf >"$dir/node/resolv.conf" 2>/dev/null || : >"$dir/node/resolv.conf"
  # Private first: on many machines / is shared, and our mounts would appear there.
  # shellcheck disable=SC2016  # expanded inside
  process_start "$dir" node unshare --mount --pid --fork --kill-child --mount-proc --propagation private bash -euc '
    mount -t tmpfs -o mode=755 tmpfs /run
    mount --bind "$1/node/kubelet" "$2"
    mount --bind "$1/node/cni-state" /var/lib/cni
    mount --bind "$1/logs/node" /var/log
    # What images become is written once and thrown away; on a disk containerd synchronises every step of it.
    for part in content.v1.content snapshotter.v1.overlayfs metadata.v1.bolt; do
      mkdir -p "$1/node/containerd/io.containerd.$part"
      mount -t tmpfs -o mode=700 tmpfs "$1/node/containerd/io.containerd.$part"
    done
    mount --make-rshared /
    : >"$1/node/ready"
    exec "$3"' node "$dir" "$node_kubelet_root" "$(images_dir images)/pause"
  wait_until 10 'there is a namespace' node_namespace_ready "$dir" || die 'there is no namespace for the node'
}

node_namespace_ready() {
  process_check "$1" node || die 'the namespace of the node did not start'
  [[ -e $1/node/ready && -n $(node_init "$1") ]]
}

# node_init DIR: the id, seen from here, of process 1 of the node.
node_init() {
  local holder
  holder="$(process_id "$1" node)" || return 1
  pgrep -P "$holder"
}

# node_run DIR COMMAND...: inside the node.
node_run() {
  local init
  init="$(node_init "$1")" || die 'there is no node'
  shift
  nsenter --target "$init" --mount --pid --wdns=/ -- "$@"
}

# node_process_start DIR NAME COMMAND...: process_start inside the node.
node_process_start() {
  local dir="$1" name="$2" init
  shift 2
  init="$(node_init "$dir")" || die 'there is no node'
  process_start "$dir" "$name" nsenter --target "$init" --mount --pid --wdns=/ -- "$@"
}

node_containerd_start() {
  local dir="$1" subnet cni=/usr/lib/cni
  subnet="$(node_subnet "$dir")"
  cat >"$dir/node/cni/10-ptp.conflist" <<EOF_CNI
{"cniVersion": "0.4.0", "name": "csi-native", "plugins": [
  {"type": "ptp", "mtu": 1400,
   "ipam": {"type": "host-local", "dataDir": "/run/cni-addresses", "ranges": [[{"subnet": "$subnet"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
EOF_CNI
  cat >"$dir/node/containerd.toml" <<EOF_TOML
version = 2
root = "$dir/node/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$images_pause"
  restrict_oom_score_adj = true
  disable_apparmor = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$cni"
    conf_dir = "$dir/node/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
EOF_TOML
  node_process_start "$dir" containerd containerd --config "$dir/node/containerd.toml"
  wait_until 20 'containerd answers' node_containerd_ready "$dir" || die 'containerd does not answer'
  node_import "$dir" "$(images_dir images)"/{pause,busybox}.tar
}

node_containerd_ready() {
  process_check "$1" containerd || die 'containerd did not start'
  node_run "$1" ctr --connect-timeout 2s version >/dev/null 2>&1
}

# node_import DIR ARCHIVE...
node_import() {
  local dir="$1" archive
  shift
  for archive; do
    node_run "$dir" ctr --namespace k8s.io images import "$archive" >>"$dir/logs/import.log" 2>&1 ||
      die "cannot import $archive (logs/import.log)"
  done
}

# The addresses of pods: nodes that run side by side share this machine's network, and a reserved port is one number that each has alone.
node_subnet() {
  local port
  port="$(port_reserve "$1")"
  printf '10.%d.%d.0/24' "$((100 + (port - 20000) / 256))" "$(((port - 20000) % 256))"
}

# The node's address: one of this machine's; kubelet does not take 127.0.0.1.
node_address() {
  local address
  address="$(ip -o -4 address show scope global up | awk '{ sub("/.*", "", $4); print $4; exit }')"
  [[ -n $address ]] || die 'this machine has no IPv4 address besides 127.0.0.1; kubelet needs one'
  printf '%s' "$address"
}

node_kubelet_start() {
  local dir="$1" address port health_port server
  address="$(node_address)"
  port="$(port_reserve "$dir")"
  health_port="$(port_reserve "$dir")"
  certs_issue "$dir" node "/O=system:nodes/CN=system:node:$node_name" clientAuth
  certs_issue "$dir" kubelet "/CN=$node_name" serverAuth "IP:$address,DNS:$node_name"
  server="$(controlplane_kubectl "$dir" config view --minify -o jsonpath='{.clusters[0].cluster.server}')"
  kubeconfig_for_certificate "$dir" node "$server"
  cat >"$dir/node/kubelet.yaml" <<EOF_KUBELET
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: false}, x509: {clientCAFile: "$dir/pki/ca.crt"}}
tlsCertFile: "$dir/pki/kubelet.crt"
tlsPrivateKeyFile: "$dir/pki/kubelet.key"
address: $address
port: $port
readOnlyPort: 0
healthzPort: $health_port
volumePluginDir: $node_kubelet_root/volumeplugins
resolvConf: "$dir/node/resolv.conf"
# Works with cgroup v1 and without systemd.
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
cgroupsPerQOS: false
enforceNodeAllocatable: []
# A test machine's disk may be rather full.
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, nodefs.inodesFree: 1%, imagefs.available: 1%, imagefs.inodesFree: 1%}
imageGCHighThresholdPercent: 100
# How soon the attach controller learns what is in use, so how soon a pod starts. The default is 10 s.
nodeStatusUpdateFrequency: ${E2E_NODE_STATUS_FREQUENCY:-1s}
# What waits for kubelet's watch of its own pods shall not wait for a poll.
syncFrequency: 10s
serializeImagePulls: false
maxPods: 200
EOF_KUBELET
  node_kubelet_run "$dir" "$address"
}

# node_kubelet_run DIR ADDRESS: with what node_kubelet_start has written.
node_kubelet_run() {
  local dir="$1" address="$2"
  node_process_start "$dir" kubelet "$(binaries_dir kubernetes)/kubelet" --config "$dir/node/kubelet.yaml" --kubeconfig "$dir/node.kubeconfig" \
    --root-dir "$node_kubelet_root" --cert-dir "$dir/pki" --hostname-override "$node_name" --node-ip "$address" -v "${E2E_KUBELET_V:-2}"
}

# node_kubelet_restart DIR: kubelet alone; containers, driver and mounts stay.
node_kubelet_restart() {
  process_stop "$1" kubelet KILL
  node_kubelet_run "$1" "$(node_address)"
}

node_ready() {
  process_check "$1" kubelet || die 'kubelet did not start'
  process_check "$1" containerd || die 'containerd did not start'
  [[ $(controlplane_kubectl "$1" get node "$node_name" \
    -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}{.spec.taints}' 2>/dev/null) == True ]]
}

# node_stop DIR: ends everything in the node, at once, and takes away what outlives its namespaces.
node_stop() {
  local dir="$1" init name
  init="$(node_init "$dir" || true)"
  if [[ -n $init ]]; then
    # With process 1 the kernel ends all others. The programs that entered the namespace end with the ones that they started there.
    kill -KILL "$init" 2>/dev/null || true
    wait_until 20 'all processes of the node are gone' node_process_gone "$init" || true
  fi
  for name in kubelet containerd node; do
    process_stop "$dir" "$name" KILL 10 || true
  done
  node_cgroups_remove "$dir"
}

node_process_gone() { ! process_start_time "$1" >/dev/null; }

# The cgroups of the node's containers: containerd's folders say which they were. Nodes share the folder above them.
node_cgroups_remove() {
  local dir="$1" container
  for container in "$dir"/node/containerd/io.containerd.grpc.v1.cri/{containers,sandboxes}/*; do
    [[ -d $container ]] || continue
    wait_until 5 "the cgroups of ${container##*/} are removed" node_cgroup_remove "${container##*/}" || true
  done
}

# Fails as long as a process in one of them is ending.
node_cgroup_remove() {
  local cgroup left=0
  for cgroup in /sys/fs/cgroup/k8s.io/"$1" /sys/fs/cgroup/*/k8s.io/"$1"; do
    [[ -d $cgroup ]] || continue
    find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || true
    [[ ! -d $cgroup ]] || left=1
  done
  return "$left"
}
