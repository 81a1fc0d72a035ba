# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Messages, requirements, instance folders, ports and processes. Sourced by scripts/e2e.

# Everything that belongs to running instances is below this folder: one folder (or a link to one) for each instance, and the ports they
# hold. It is short because the path of a Unix socket may not be longer than 107 bytes.
readonly e2e_root="${E2E_ROOT:-${TMPDIR:-/tmp}/csi-native-e2e.$UID}"

say() { printf 'e2e: %s\n' "$*" >&2; }

die() {
  printf 'e2e: error: %s\n' "$*" >&2
  exit 1
}

usage_error() {
  printf 'e2e: %s (see scripts/e2e help)\n' "$*" >&2
  exit 2
}

# need COMMAND PACKAGE ...: all commands exist, or names the Debian packages that are missing.
need() {
  local missing=()
  while (($# > 0)); do
    command -v "$1" >/dev/null || missing+=("$1 (Debian package $2)")
    shift 2
  done
  ((${#missing[@]} == 0)) || die "missing: $(join_by ', ' "${missing[@]}"). scripts/bootstrap --e2e installs them"
}

need_root() { ((EUID == 0)) || die "$1 needs root: $2"; }

join_by() {
  local separator="$1" first="${2-}"
  shift 2 || return 0
  printf '%s' "$first" "${@/#/$separator}"
}

# milliseconds since the epoch, without a process
now_ms() { printf '%s' "$((${EPOCHREALTIME/[.,]/} / 1000))"; }

# 12345 -> 12.3
seconds() { printf '%d.%d' "$(($1 / 1000))" "$(($1 % 1000 / 100))"; }

# wait_until SECONDS DESCRIPTION COMMAND...: repeats the command until it succeeds; fails after that time.
wait_until() {
  local deadline=$(($(now_ms) + $1 * 1000)) description="$2"
  shift 2
  until "$@"; do
    if (($(now_ms) > deadline)); then
      say "gave up waiting until $description"
      return 1
    fi
    sleep 0.2
  done
}

# ---- instance folders

# instance_create [DIR]: makes the folder of a new instance and prints its absolute path.
instance_create() {
  local dir="${1-}"
  mkdir -p "$e2e_root"
  [[ -O $e2e_root ]] || die "$e2e_root belongs to somebody else; set E2E_ROOT"
  chmod 700 "$e2e_root"
  if [[ -z $dir ]]; then
    dir="$(mktemp -d "$e2e_root/XXXXXX")"
  else
    mkdir -p "$dir"
    chmod 700 "$dir"
    dir="$(cd "$dir" && pwd)"
    [[ ! -e $dir/instance ]] || die "$dir already holds an instance; take it down first: scripts/e2e down --dir $dir"
    [[ -z $(ls -A "$dir") ]] || die "$dir is not empty"
    ln -sfn "$dir" "$e2e_root/$(printf '%s' "$dir" | cksum | cut -d ' ' -f 1)"
  fi
  mkdir -p "$dir"/{logs,processes}
  : >"$dir/instance"
  printf '%s' "$dir"
}

# The folders of all instances, one a line.
instance_list() {
  local entry
  for entry in "$e2e_root"/*; do
    if [[ -e $entry/instance ]]; then
      readlink -f "$entry"
    elif [[ -L $entry ]]; then
      rm -f "$entry"
    fi
  done
}

# instance_find [DIR]: the folder named, or the only one there is.
instance_find() {
  local dir="${1-}" all
  if [[ -n $dir ]]; then
    [[ -e $dir/instance ]] || die "$dir holds no instance"
    readlink -f "$dir"
    return
  fi
  mapfile -t all < <(instance_list)
  case ${#all[@]} in
    0) die "no instance is up" ;;
    1) printf '%s' "${all[0]}" ;;
    *) die "several instances are up, name one with --dir: ${all[*]}" ;;
  esac
}

# ---- ports

# True when something listens on TCP port $1. Read from /proc, so that no tool is needed.
port_busy() {
  local hex
  printf -v hex '%04X' "$1"
  awk -v port=":$hex" '$4 == "0A" && substr($2, length($2) - 4) == port { found = 1 } END { exit !found }' \
    /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# port_reserve DIR: prints a free port and reserves it for the instance in DIR, so that no other instance takes it meanwhile. The range
# lies below the one the kernel takes outgoing ports from.
port_reserve() {
  local dir="$1" port owner _
  mkdir -p "$e2e_root/ports"
  for _ in {1..200}; do
    port=$((20000 + RANDOM % 10000))
    owner="$e2e_root/ports/$port"
    if [[ -e $owner && ! -e $(<"$owner")/instance ]]; then rm -f "$owner"; fi
    if ! port_busy "$port" && (set -o noclobber && printf '%s\n' "$dir" >"$owner") 2>/dev/null; then
      printf '%s' "$port"
      return
    fi
  done
  die "no free TCP port between 20000 and 29999"
}

ports_release() {
  local owner
  for owner in "$e2e_root"/ports/*; do
    if [[ -e $owner && $(<"$owner") == "$1" ]]; then rm -f "$owner"; fi
  done
}

# ---- processes
#
# Each process is the leader of its own session, so Ctrl-C in a terminal does not reach it before we decide the order. Its id is kept
# with its start time: an id that the kernel gave to another process meanwhile is never signalled.

process_start_time() {
  local stat
  stat="$(cat "/proc/$1/stat" 2>/dev/null)" || return 1
  # The second field may hold spaces and parentheses: count from the last one.
  # shellcheck disable=SC2086  # a list of words
  set -- ${stat##*) }
  # A process that has ended and waits for its parent counts as gone.
  [[ $1 != Z && $1 != X ]] || return 1
  printf '%s' "${20}"
}

# process_start DIR NAME COMMAND...: runs the command in the background with its output in logs/NAME.log. KUBECONFIG is not inherited: for
# some of our programs it beats the flag.
process_start() {
  local dir="$1" name="$2" pid
  shift 2
  env -u KUBECONFIG E2E_PROCESS_OF="$dir" setsid "$@" </dev/null >>"$dir/logs/$name.log" 2>&1 &
  pid=$!
  # The shell shall not report its end.
  disown "$pid"
  printf '%s %s\n' "$pid" "$(process_start_time "$pid" || printf gone)" >"$dir/processes/$name"
}

# process_id DIR NAME: its id while it runs; fails otherwise.
process_id() {
  local pid start
  [[ -e $1/processes/$2 ]] || return 1
  read -r pid start <"$1/processes/$2"
  [[ $(process_start_time "$pid") == "$start" ]] || return 1
  printf '%s' "$pid"
}

# process_check DIR NAME: fails with the end of its log when the process has ended.
process_check() {
  process_id "$1" "$2" >/dev/null && return
  say "$2 has ended; the end of $1/logs/$2.log:"
  tail -n 15 "$1/logs/$2.log" | cut -c -300 >&2
  return 1
}

# process_stop DIR NAME [SIGNAL] [SECONDS]: signals its group, waits, then kills what is left of the group. Returns 1 when it had to kill
# a process that was asked to end.
process_stop() {
  local dir="$1" name="$2" signal="${3:-TERM}" patience="${4:-10}" pid deadline status=0
  if pid="$(process_id "$dir" "$name")"; then
    kill "-$signal" -- "-$pid" 2>/dev/null || true
    deadline=$(($(now_ms) + patience * 1000))
    while process_id "$dir" "$name" >/dev/null; do
      if (($(now_ms) > deadline)); then
        say "$name did not end within ${patience} s of SIG$signal, killing it"
        status=1
        break
      fi
      sleep 0.05
    done
    kill -KILL -- "-$pid" 2>/dev/null || true
  fi
  rm -f "$dir/processes/$name"
  return "$status"
}

# Ids of all processes that were started for the instance in DIR, or by something started for it.
processes_of() {
  local environment
  for environment in /proc/[0-9]*/environ; do
    if { grep -qzFx "E2E_PROCESS_OF=$1" "$environment"; } 2>/dev/null; then
      environment="${environment%/environ}"
      printf '%s\n' "${environment#/proc/}"
    fi
  done
}

# Loop devices on files of the instance in DIR, one a line. They outlive the driver that made them. On top of one that is a block volume kubelet
# puts another, which comes first here.
loop_devices_of() {
  local backing device number inode own=() inodes=' ' dev
  for backing in /sys/block/loop*/loop/backing_file; do
    if [[ -e $backing && $(cat "$backing" 2>/dev/null) == "$1"/* ]]; then
      device="${backing#/sys/block/}"
      own+=("/dev/${device%%/*}")
      inodes+="$(stat -c %i "/dev/${device%%/*}") "
    fi
  done
  ((${#own[@]} > 0)) || return 0
  # Its path says nothing: all nodes have the same, and with the node's mounts it is lost. But what it is on is one of ours.
  dev="$(stat -c %d /dev)"
  losetup --list --noheadings --output NAME,BACK-MAJ:MIN,BACK-INO | while read -r device number inode; do
    if [[ $number == "$((dev >> 8)):$((dev & 255))" && $inodes == *" $inode "* ]]; then printf '%s\n' "$device"; fi
  done
  printf '%s\n' "${own[@]}"
}

# instance_stop DIR: stops everything that runs for the instance, the newest first, and makes sure that nothing is left.
instance_stop() {
  local dir="$1" name pid device left
  # shellcheck disable=SC2045  # our own names, and only ls sorts by age
  for name in $(ls -t "$dir/processes" 2>/dev/null); do
    case $name in
      # Its state is thrown away, so there is nothing to wait for.
      etcd | kube-*) process_stop "$dir" "$name" KILL 10 || true ;;
      # They end with the node.
      kubelet | containerd) ;;
      node) node_stop "$dir" ;;
      *) process_stop "$dir" "$name" TERM 10 || true ;;
    esac
  done
  mapfile -t left < <(processes_of "$dir")
  for pid in "${left[@]}"; do
    say "still running, killing it: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || true)"
    kill -KILL "$pid" 2>/dev/null || true
  done
  mapfile -t left < <(loop_devices_of "$dir")
  for device in "${left[@]}"; do
    say "still attached, detaching it: $device"
    losetup --detach "$device" || true
  done
  ports_release "$dir"
}

# instance_remove DIR [keep-logs]: after instance_stop.
instance_remove() {
  local dir="$1" link
  # Unregister it first: without this file it is no instance any more.
  rm -f "$dir/instance"
  for link in "$e2e_root"/*; do
    if [[ -L $link && $(readlink "$link") == "$dir" ]]; then rm -f "$link"; fi
  done
  if [[ ${2-} == keep-logs ]]; then
    find "$dir" -mindepth 1 -maxdepth 1 ! -name logs -exec rm -rf {} +
  else
    rm -rf "$dir"
  fi
}

# http_get PORT PATH: the whole answer of a server on this machine, without a tool.
http_get() {
  local connection
  { exec {connection}<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || return 1
  printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$2" >&"$connection"
  cat <&"$connection"
  exec {connection}>&-
}
