# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A session: one instance that lives as long as this script does. Whatever way the script ends, everything it started is stopped. Sourced
# by scripts/e2e.

session_dir=''
session_succeeded=0
session_child=''
session_external=''

# session_begin [DIR]: creates the instance; from here on the script's end takes it down.
session_begin() {
  trap session_end EXIT
  # Signals end the script by way of `exit`, so that session_end runs.
  trap 'exit 130' INT
  trap 'exit 143' TERM
  trap 'exit 129' HUP
  session_dir="$(instance_create "${1-}")"
}

# session_with_cluster KUBECONFIG: a session with KUBECONFIG and kubectl in the environment, on that cluster or on a new one.
session_with_cluster() {
  local bin
  if [[ -n $1 ]]; then
    [[ -r $1 ]] || die "cannot read the kubeconfig $1"
    session_external=yes
    KUBECONFIG="$(readlink -f "$1")"
  fi
  binaries_ensure kubernetes
  bin="$(binaries_dir kubernetes)"
  session_begin ''
  export PATH="$bin:$PATH"
  if [[ -n $session_external ]]; then
    export KUBECONFIG
    say "using the cluster of $KUBECONFIG: $(kubectl config view --minify -o jsonpath='{.clusters[0].cluster.server}')"
    kubectl get --raw /readyz >/dev/null || die "the cluster of $KUBECONFIG does not answer"
  else
    controlplane_start "$session_dir"
    export KUBECONFIG="$session_dir/admin.kubeconfig"
  fi
}

# Keep the instance after the script.
session_leave_running() {
  trap - EXIT INT TERM HUP
  session_dir=''
}

session_end() {
  local status=$?
  trap - EXIT
  trap '' INT TERM HUP
  set +e
  session_stop_child
  if [[ $(type -t session_cleanup) == function ]]; then session_cleanup; fi
  if [[ -n $session_dir && -e $session_dir/instance ]]; then
    instance_stop "$session_dir"
    # Somebody who pressed Ctrl-C does not look for a reason.
    if [[ -z $(ls -A "$session_dir/logs") ]]; then
      instance_remove "$session_dir"
    elif [[ -z ${E2E_KEEP-} ]] && ((status == 130 || (status == 0 && session_succeeded))); then
      instance_remove "$session_dir"
    else
      instance_remove "$session_dir" keep-logs
      say "logs are in $session_dir/logs"
    fi
  fi
  exit "$status"
}

# Ends the command that `foreground` runs. Not by `wait`: inside a trap that interrupted another `wait` it can wait for ever.
session_stop_child() {
  local tries
  [[ -n $session_child ]] || return 0
  for ((tries = 0; tries < 200; tries++)); do
    process_start_time "$session_child" >/dev/null || return 0
    if ((tries % 20 == 0)); then kill -TERM "$session_child" 2>/dev/null; fi
    sleep 0.05
  done
  kill -KILL "$session_child" 2>/dev/null
}

# foreground COMMAND...: runs it on our terminal so that a signal to this script is acted upon at once, not when the command ends.
foreground() {
  local status=0
  # A shell makes background commands ignore SIGINT; Ctrl-C must reach this one.
  env --default-signal=INT,QUIT "$@" <&0 &
  session_child=$!
  wait "$session_child" || status=$?
  session_child=''
  return "$status"
}
