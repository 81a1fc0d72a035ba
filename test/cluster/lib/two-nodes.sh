# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Two nodes of one control plane: the real one with kubelet, and the second one with csi-volume-manager in its place. A sample driver each on the
# same volumes, one csi-provisioner and one csi-attacher for both. Sourced by scripts/e2e; needs KUBECONFIG.

# What two_nodes_restart can start again.
readonly two_nodes_parts=(kubelet driver second-driver csi-volume-manager)

two_nodes_start() {
  local dir="$1"
  product_ensure_stack volume-manager
  node_start "$dir"
  product_install_driver
  # Folders as volumes: making a filesystem would take most of the time.
  product_start_node_driver "$dir" --other-nodes "$second_node_id"
  product_start_sidecars "$dir"
  second_node_start "$dir" "$(product_node_state "$dir")"
}

# two_nodes_restart DIR PART [FLAG...]: kills one of the parts and starts it again; a driver with the flags besides its usual ones. What runs beside
# it stays. With "kubelet" a node that was started alone will do.
two_nodes_restart() {
  local dir="$1" part="$2"
  shift 2
  case $part in
    kubelet)
      node_kubelet_restart "$dir"
      wait_until 60 'the node is ready' node_ready "$dir" || die 'the node is not ready'
      ;;
    driver)
      process_stop "$dir" driver KILL
      rm -f "$(product_node_socket "$dir")"
      product_start_node_driver "$dir" --other-nodes "$second_node_id" "$@"
      ;;
    second-driver)
      process_stop "$dir" second-driver KILL
      rm -f "$(second_node_socket "$dir")"
      second_node_start_driver "$dir" "$(product_node_state "$dir")" "$@"
      ;;
    csi-volume-manager)
      process_stop "$dir" csi-volume-manager KILL
      second_node_start_manager "$dir"
      ;;
    *) usage_error "no part of an instance is called '$part': ${two_nodes_parts[*]}" ;;
  esac
}
