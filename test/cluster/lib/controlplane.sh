# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# etcd, kube-apiserver, kube-controller-manager and kube-scheduler of one throw-away cluster. Sourced by scripts/e2e.
#
# Works as any user, without systemd, containers or a network: everything listens on 127.0.0.1. Everything asks for client certificates,
# etcd too, because later kubelet runs as root and obeys this cluster.

# controlplane_start DIR [api-only]: returns when the API server answers and the controllers work; with api-only there are no controllers
# and no scheduler, so that nobody but the caller changes objects. DIR/admin.kubeconfig is the way in.
controlplane_start() {
  local dir="$1" extent="${2:-whole}" bin started etcd_port peer_port api_port server
  started="$(now_ms)"
  need openssl openssl setsid util-linux
  binaries_ensure kubernetes
  bin="$(binaries_dir kubernetes)"
  say "starting a control plane in $dir"
  certs_create "$dir"
  etcd_port="$(port_reserve "$dir")"
  peer_port="$(port_reserve "$dir")"
  api_port="$(port_reserve "$dir")"
  server="https://127.0.0.1:$api_port"
  kubeconfig_for_certificate "$dir" admin "$server"
  kubeconfig_for_certificate "$dir" kube-controller-manager "$server"
  kubeconfig_for_certificate "$dir" kube-scheduler "$server"
  controlplane_audit_policy >"$dir/audit-policy.yaml"

  process_start "$dir" etcd "$bin/etcd" --name e2e --data-dir "$dir/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls "https://127.0.0.1:$etcd_port" --advertise-client-urls "https://127.0.0.1:$etcd_port" \
    --listen-peer-urls "https://127.0.0.1:$peer_port" --initial-advertise-peer-urls "https://127.0.0.1:$peer_port" \
    --initial-cluster "e2e=https://127.0.0.1:$peer_port" \
    --client-cert-auth --trusted-ca-file "$dir/pki/ca.crt" --cert-file "$dir/pki/etcd.crt" --key-file "$dir/pki/etcd.key" \
    --peer-client-cert-auth --peer-trusted-ca-file "$dir/pki/ca.crt" --peer-cert-file "$dir/pki/etcd.crt" \
    --peer-key-file "$dir/pki/etcd.key"

  # shellcheck disable=SC2054  # some values hold commas
  local apiserver_flags=(
    --etcd-servers "https://127.0.0.1:$etcd_port" --etcd-cafile "$dir/pki/ca.crt"
    --etcd-certfile "$dir/pki/apiserver-etcd.crt" --etcd-keyfile "$dir/pki/apiserver-etcd.key"
    --bind-address 127.0.0.1 --secure-port "$api_port" --advertise-address 127.0.0.1 --cert-dir "$dir/pki"
    # The address would be 127.0.0.1, which is not allowed in an Endpoints object.
    --endpoint-reconciler-type none
    --tls-cert-file "$dir/pki/apiserver.crt" --tls-private-key-file "$dir/pki/apiserver.key" --client-ca-file "$dir/pki/ca.crt"
    --kubelet-client-certificate "$dir/pki/apiserver-kubelet.crt" --kubelet-client-key "$dir/pki/apiserver-kubelet.key"
    --kubelet-preferred-address-types InternalIP
    --service-cluster-ip-range 10.0.0.0/24
    --service-account-issuer https://kubernetes.default.svc.cluster.local
    --service-account-key-file "$dir/pki/service-account.pub" --service-account-signing-key-file "$dir/pki/service-account.key"
    --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged
    # High enough that it is never this server that limits what we measure.
    --max-requests-inflight 3000 --max-mutating-requests-inflight 1000
    --audit-policy-file "$dir/audit-policy.yaml" --audit-log-path "$dir/logs/audit.log" --audit-log-maxsize 100000
  )
  if [[ -n ${E2E_APISERVER_FLAGS-} ]]; then
    # shellcheck disable=SC2206  # a list of words by definition
    apiserver_flags+=($E2E_APISERVER_FLAGS)
  fi
  process_start "$dir" kube-apiserver "$bin/kube-apiserver" "${apiserver_flags[@]}"
  wait_until 60 "the API server is ready" controlplane_ready "$dir" || return

  if [[ $extent == api-only ]]; then
    say "API server up in $(seconds $(($(now_ms) - started))) s"
    return
  fi

  controlplane_start_controller_manager "$dir"
  # The same for the scheduler.
  cat >"$dir/kube-scheduler.yaml" <<EOF
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: "$dir/kube-scheduler.kubeconfig", qps: 500, burst: 1000}
EOF
  process_start "$dir" kube-scheduler "$bin/kube-scheduler" --config "$dir/kube-scheduler.yaml" --secure-port 0

  wait_until 30 "the controllers work" controlplane_controllers_ready "$dir" || return
  say "control plane up in $(seconds $(($(now_ms) - started))) s"
}

# controlplane_start_controller_manager DIR [FLAG...]
controlplane_start_controller_manager() {
  local dir="$1"
  shift
  # Its own client-side limits would hide those of the programs under test.
  process_start "$dir" kube-controller-manager "$(binaries_dir kubernetes)/kube-controller-manager" \
    --kubeconfig "$dir/kube-controller-manager.kubeconfig" \
    --leader-elect=false --kube-api-qps 500 --kube-api-burst 1000 --secure-port 0 --use-service-account-credentials \
    --root-ca-file "$dir/pki/ca.crt" --flex-volume-plugin-dir "$dir/flexvolume" --service-account-private-key-file "$dir/pki/service-account.key" "$@"
}

controlplane_ready() {
  # An ended process will never be ready: end the wait at once.
  process_check "$1" etcd || die "etcd did not start"
  process_check "$1" kube-apiserver || die "kube-apiserver did not start"
  controlplane_kubectl "$1" get --raw /readyz >/dev/null 2>&1
}

controlplane_controllers_ready() {
  process_check "$1" kube-controller-manager || die "kube-controller-manager did not start"
  process_check "$1" kube-scheduler || die "kube-scheduler did not start"
  # Made by a controller; without it no pod is admitted.
  controlplane_kubectl "$1" get serviceaccount default --namespace default >/dev/null 2>&1
}

controlplane_kubectl() {
  local dir="$1"
  shift
  "$(binaries_dir kubernetes)/kubectl" --kubeconfig "$dir/admin.kubeconfig" "$@"
}

# What the API server writes to its audit log: E2E_AUDIT_POLICY names a policy file of your own. Ours keeps whole bodies for the
# ServiceAccounts of namespace csi-native and for users of group csi-native:audited, and one line for each write of anybody else to the
# objects that these programs share with others, and for each pod that is made or bound.
controlplane_audit_policy() {
  if [[ -n ${E2E_AUDIT_POLICY-} ]]; then
    cat -- "$E2E_AUDIT_POLICY"
    return
  fi
  cat <<'EOF'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  userGroups: ["system:serviceaccounts:csi-native", "csi-native:audited"]
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
  resources:
  - group: ""
    resources: [persistentvolumes, persistentvolumes/status, persistentvolumeclaims, persistentvolumeclaims/status]
  - group: storage.k8s.io
    resources: ["*"]
- level: Metadata
  verbs: [create]
  resources: [{group: "", resources: [pods, pods/binding]}]
- level: None
EOF
}
