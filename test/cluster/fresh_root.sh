#!/usr/bin/env bash
# Shows the README's first command on a fresh Debian 12: makes a minimal root with debootstrap, puts
# the committed tree into it, and runs scripts/demo there twice. Needs root, debootstrap and
# Debian's mirrors; about 1.5 GB and, without a compiler cache, the time of a whole build.
#
#   test/cluster/fresh_root.sh [command ...]     default: scripts/demo, then scripts/demo again
#
# FRESH_ROOT=DIR keeps the root in DIR for further runs.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ "$(id -u)" -eq 0 ] || {
  echo "fresh_root.sh: needs root for debootstrap and chroot" >&2
  exit 1
}
command -v debootstrap >/dev/null || {
  echo "fresh_root.sh: debootstrap is missing (scripts/bootstrap --e2e)" >&2
  exit 1
}

root=${FRESH_ROOT:-$(mktemp -d /tmp/csi-native-fresh.XXXXXX)}
mounted=()
cleanup() {
  local i
  for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do umount -l "${mounted[i]}" 2>/dev/null || true; done
  [ -n "${FRESH_ROOT:-}" ] || rm -rf --one-file-system "$root"
}
trap cleanup EXIT

if [ ! -e "$root/etc/debian_version" ]; then
  echo "fresh root in $root"
  debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || {
    tail -5 "$root.log" >&2
    exit 1
  }
  rm -f "$root.log"
  # How this machine reaches the mirrors.
  cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
  for file in /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf.d/99*; do
    [ -e "$file" ] && cp "$file" "$root/etc/apt/apt.conf.d/"
  done
fi
# A machine's "/" is a mount, and the demo makes the mounts below it private.
mount --bind "$root" "$root"
mounted=("$root")
mkdir -p "$root/src"
git archive HEAD | tar -x -C "$root/src"
for point in proc sys dev; do
  mount --rbind "/$point" "$root/$point"
  mount --make-rslave "$root/$point"
  mounted+=("$root/$point")
done

run() {
  chroot "$root" /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" no_proxy="${no_proxy:-}" \
    bash -c 'cd /src && exec "$@"' run "$@"
}

if [ $# -gt 0 ]; then
  run "$@"
  exit
fi
start=$SECONDS
run scripts/demo
echo "fresh root: first run took $((SECONDS - start)) s"
start=$SECONDS
run scripts/demo
took=$((SECONDS - start))
echo "fresh root: second run took $took s"
[ "$took" -lt 30 ] || {
  echo "fresh root: the second run should take less than 30 s" >&2
  exit 1
}
