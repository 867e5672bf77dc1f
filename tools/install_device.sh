#!/bin/sh
# Install the daemon on a device as the systemd service "edgemem", or take it off again. Running it twice changes nothing the second time.
#
#   install_device.sh [--config FILE] [--program PATH] [--memory-max SIZE] [--root DIR]
#   install_device.sh --uninstall [--purge] [--root DIR]
#
# --config FILE      settings to start with, copied to /etc/edgemem.toml unless that exists (default: firmware_configs/door-camera.toml)
# --program PATH     an installed `edgemem`; without it edgemem is installed into /opt/edgemem, a virtual environment of $PYTHON (default:
#                    python3) made from this checkout
# --memory-max SIZE  most memory of the daemon, such as 3G (default: 75 % of the board's)
# --root DIR         install below DIR, for an image or a test: nothing of the running system is touched, no service is started.
#                    It needs --program, a path inside the image: a virtual environment cannot be moved
# --uninstall        remove the service and the program; settings and memories stay, unless --purge is given
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
root='' config="$here/firmware_configs/door-camera.toml" program='' memory_max='' action=install purge=no

fail() {
  echo "install_device.sh: $1" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case "$1" in
    --config | --program | --memory-max | --root)
      [ $# -gt 1 ] || fail "$1 needs a value"
      case "$1" in
        --config) config=$2 ;;
        --program) program=$2 ;;
        --memory-max) memory_max=$2 ;;
        --root) root=$(mkdir -p "$2" && cd "$2" && pwd) ;;
      esac
      shift
      ;;
    --uninstall) action=uninstall ;;
    --purge) purge=yes ;;
    -h | --help)
      sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) fail "unknown option $1 (see --help)" ;;
  esac
  shift
done

units="$root/etc/systemd/system" settings="$root/etc/edgemem.toml" opt="$root/opt/edgemem"

live() { [ -z "$root" ] && [ -d /run/systemd/system ]; }

# Copies a file if it is new or different, and says so: a second run is silent and changes no times.
# copy MODE FROM TO
copy() {
  if [ -f "$3" ] && cmp -s "$2" "$3" && [ "$(stat -c %a "$3")" = "$1" ]; then return; fi
  install -D -m "$1" "$2" "$3"
  echo "installed ${3#"$root"}"
  changed=yes
}

# A sum of what is installed of edgemem and its plugins: a checkout changes more often than its version.
installed_code() {
  find "$opt/lib" -path '*/site-packages/edgemem*' -type f ! -name '*.pyc' ! -path '*.dist-info/*' -exec cksum {} + 2>/dev/null | sort | cksum
}

install_program() {
  if [ -n "$program" ]; then
    case "$program" in /*) ;; *) fail "--program needs a whole path, not $program: a link holds it" ;; esac
    [ -x "$program" ] || [ -x "$root$program" ] || fail "$program is not a program; give the path of an installed edgemem"
    [ "$(readlink "$opt/bin/edgemem" 2>/dev/null)" = "$program" ] && return
    mkdir -p "$opt/bin"
    ln -sfn "$program" "$opt/bin/edgemem"
    echo "linked ${opt#"$root"}/bin/edgemem to $program"
    changed=yes
    return
  fi
  [ -z "$root" ] || fail "--root needs --program: a virtual environment cannot be moved"
  before=$(installed_code)
  [ -x "$opt/bin/python" ] || "${PYTHON:-python3}" -m venv "$opt" || fail "cannot make a virtual environment: apt-get install python3-venv"
  "$opt/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade -c "$here/constraints.txt" \
    "$here" "$here/plugins/onnx" "$here/plugins/convert" "$here/plugins/ocr" "$here/plugins/hearing" "$here/plugins/vam"
  [ "$(installed_code)" = "$before" ] || changed=yes
}

board_dropin() {
  if [ -e "$root/etc/nv_tegra_release" ]; then
    copy 644 "$here/firmware_configs/systemd/jetson.conf" "$units/edgemem.service.d/10-jetson.conf"
  fi
  [ -n "$memory_max" ] || return 0
  dropin=$(mktemp)
  printf '[Service]\nMemoryHigh=\nMemoryMax=%s\n' "$memory_max" >"$dropin"
  copy 644 "$dropin" "$units/edgemem.service.d/20-memory.conf"
  rm -f "$dropin"
}

do_install() {
  [ -f "$config" ] || fail "$config: no such settings file"
  [ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "must run as root (or give --root DIR)"
  changed=no
  install_program
  copy 755 "$here/firmware_configs/systemd/restart_backoff.sh" "$opt/libexec/restart_backoff.sh"
  copy 644 "$here/firmware_configs/systemd/sysusers.conf" "$root/usr/lib/sysusers.d/edgemem.conf"
  copy 644 "$here/firmware_configs/systemd/tmpfiles.conf" "$root/usr/lib/tmpfiles.d/edgemem.conf"
  copy 644 "$here/firmware_configs/systemd/edgemem.service" "$units/edgemem.service"
  board_dropin
  systemd-sysusers --root="${root:-/}" edgemem.conf
  # The settings may hold passwords of cameras: only root changes them, only the daemon's group reads them.
  [ -f "$settings" ] || copy 640 "$config" "$settings"
  group=$(sed -n 's/^edgemem:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/group")
  chgrp "$group" "$settings"
  systemd-tmpfiles --root="${root:-/}" --create edgemem.conf
  # A Python in somebody's home, for example, cannot be run by others.
  [ -n "$root" ] || runuser -u edgemem -- "$opt/bin/edgemem" --version >/dev/null \
    || fail "the user edgemem may not run $opt/bin/edgemem: use a Python that everyone may run, such as PYTHON=/usr/bin/python3"
  [ -n "$root" ] || [ "$changed" = no ] \
    || echo "fetch its models once: runuser -u edgemem -- env EDGEMEM_HOME=/var/lib/edgemem/home $opt/bin/edgemem engines fetch"
  if live; then
    [ "$changed" = no ] || systemctl daemon-reload
    systemctl enable --quiet edgemem.service
    [ "$changed" = no ] && verb=start || verb=restart
    systemctl "$verb" edgemem.service || echo "it does not start: see journalctl -u edgemem" >&2
  else
    mkdir -p "$units/multi-user.target.wants"
    [ -L "$units/multi-user.target.wants/edgemem.service" ] \
      || ln -s /etc/systemd/system/edgemem.service "$units/multi-user.target.wants/edgemem.service"
  fi
}

do_uninstall() {
  [ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "must run as root (or give --root DIR)"
  if live; then systemctl disable --quiet --now edgemem.service 2>/dev/null || true; fi
  rm -rf "$units/edgemem.service.d" "$opt"
  rm -f "$units/edgemem.service" "$units/multi-user.target.wants/edgemem.service"
  rm -f "$root/usr/lib/sysusers.d/edgemem.conf" "$root/usr/lib/tmpfiles.d/edgemem.conf"
  if [ "$purge" = yes ]; then
    rm -rf "$root/var/lib/edgemem" "$settings"
  else
    echo "kept ${settings#"$root"} and /var/lib/edgemem; remove them too with --uninstall --purge"
  fi
  if live; then systemctl daemon-reload; fi
}

do_"$action"
