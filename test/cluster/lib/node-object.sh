# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A Node without a kubelet: the scheduler binds pods to it, nothing runs them. Enough for everything in a claim's life that needs a node.
# Sourced by scripts/e2e; needs KUBECONFIG.

# Keeps all pods but ours away, which matters on a cluster that is not ours.
readonly node_object_taint=csi-native/object-only

# node_object_create DIR NAME DRIVER NODE-ID TOPOLOGY-KEY TOPOLOGY-VALUE: node_object_start, and the driver is registered. Without a topology
# key the driver has none.
node_object_create() {
  local dir="$1" name="$2" driver="$3" id="$4" key="$5" value="$6"
  node_object_start "$dir" "$name"
  kubectl label node "$name" "${key:-csi-native/no-topology}=$value" >/dev/null
  kubectl create -f - >/dev/null <<EOF
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: $name}
spec:
  drivers: [{name: $driver, nodeID: $id, topologyKeys: [$key]}]
EOF
}

# node_object_start DIR NAME: a Ready Node. A process in DIR keeps it ready, as kubelet's heartbeat would.
node_object_start() {
  local dir="$1" name="$2"
  kubectl create -f - >/dev/null <<EOF
apiVersion: v1
kind: Node
metadata: {name: $name, labels: {kubernetes.io/hostname: $name}}
spec:
  taints: [{key: $node_object_taint, effect: NoSchedule}]
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: $name, namespace: kube-node-lease}
spec: {holderIdentity: $name, leaseDurationSeconds: 40, renewTime: "$(node_object_now)"}
EOF
  kubectl patch node "$name" --subresource status --type merge --patch-file /dev/stdin >/dev/null <<EOF
status:
  capacity: {cpu: "64", memory: 256Gi, pods: "1000"}
  allocatable: {cpu: "64", memory: 256Gi, pods: "1000"}
  conditions:
  - {type: Ready, status: "True", reason: Declared, message: an object without a kubelet,
     lastHeartbeatTime: "$(date -u +%FT%TZ)", lastTransitionTime: "$(date -u +%FT%TZ)"}
EOF
  process_start "$dir" "node-$name" bash -c "$(declare -f node_object_now)"'
    while sleep 10; do
      "$1" --kubeconfig "$2" patch lease "$3" --namespace kube-node-lease --type merge \
        --patch "{\"spec\":{\"renewTime\":\"$(node_object_now)\"}}"
    done' heartbeat "$(command -v kubectl)" "$KUBECONFIG" "$name"
  wait_until 30 "node $name is free of its not-ready taint" node_object_ready "$name"
}

node_object_now() { date -u +%FT%T.%6NZ; }

node_object_ready() {
  local taints
  taints="$(kubectl get node "$1" -o jsonpath='{.spec.taints[*].key}')"
  [[ $taints == "$node_object_taint" ]]
}

node_object_delete() {
  kubectl delete --ignore-not-found "node/$1" "csinode/$1" >/dev/null
  kubectl delete --ignore-not-found --namespace kube-node-lease "lease/$1" >/dev/null
}
