# Read by scripts/demo and scripts/test, not run: the virtual environment each makes for itself.
#
#   make_venv NAME WHAT...   sets `venv` to a folder where `pip install WHAT...` was done
#   add_to_venv WHAT...      installs more into it
#   say LINE                 on standard error
#
# The folder is .venv-NAME in the checkout (.venv-NAME-3.X where PYTHON chose the interpreter), or
# one in the user's cache where the checkout cannot be written. It is used again until the
# interpreter, the place of the checkout or what pyproject.toml asks for changes.

set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
python=${PYTHON:-python3}
unfinished=
throwaway=

# What a user's shell says about other environments does not hold in this one.
unset PYTHONPATH PYTHONHOME

leave() {
  [ -z "$unfinished" ] || rm -rf -- "$unfinished"
  [ -z "$throwaway" ] || rm -rf -- "$throwaway"
}
trap leave EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

say() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
}

die() {
  status=$1
  shift
  for line in "$@"; do say "$line"; done
  exit "$status"
}

check_python() {
  version=$("$python" -c '
import sys
print("%d.%d" % sys.version_info[:2])
sys.exit(3 if sys.version_info < (3, 10) else 0)
' 2>/dev/null)
  case $? in
    0) ;;
    3) die 2 "this needs Python 3.10 or newer, and $python is $version; PYTHON=python3.X names another" ;;
    *) die 2 "$python does not run: $("$python" -c '' 2>&1)" 'this needs Python 3.10 or newer' ;;
  esac
}

# Two words: one for the place of the checkout, one for all that an environment depends on.
fingerprint() {
  "$python" -c '
import hashlib, os, sys
root = os.fsencode(sys.argv[1])
depends = [root, sys.version.encode(), os.fsencode(os.path.realpath(sys.executable))]
depends += [argument.encode() for argument in sys.argv[2:]]
asked = False
with open(os.path.join(root, b"pyproject.toml"), "rb") as file:
    for line in file:
        if line.startswith(b"["):
            asked = line.startswith((b"[build-system", b"[project"))
        if asked:
            depends.append(line)
print(hashlib.sha256(root).hexdigest()[:12], hashlib.sha256(b"\0".join(depends)).hexdigest())
' "$root" "$@"
}

is_ready() {
  [ -r "$1/made-for" ] && [ "$(cat "$1/made-for")" = "$wanted" ] && "$1/bin/python" -c '' 2>/dev/null
}

# Sets `venv`: where the environment is, or is to be.
find_place() {
  venv=$root/.venv-$1
  [ -z "${PYTHON:-}" ] || venv=$venv-$version
  if is_ready "$venv"; then return; fi
  if [ -w "$root" ] && { [ ! -e "$venv" ] || [ -w "$venv" ]; }; then return; fi
  cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
  if [ -n "$cache" ] && mkdir -p -- "$cache/costplan" 2>/dev/null && [ -w "$cache/costplan" ]; then
    venv=$(cd -- "$cache/costplan" && pwd -P)/$1-$version-$place
  else
    throwaway=$(mktemp -d) || exit 1
    venv=$throwaway/$1
    say 'neither the checkout nor a cache can be written: this environment goes when the run ends'
  fi
}

no_venv() {
  if [ -e /etc/debian_version ]; then
    die 2 "$python cannot make a virtual environment; install: python$version-venv"
  fi
  die 2 "$python cannot make a virtual environment; install your distribution's venv/ensurepip package for it"
}

make_venv() {
  name=$1
  shift
  check_python
  wanted=$(fingerprint "$@") || exit 1
  place=${wanted%% *}
  find_place "$name"
  if is_ready "$venv"; then return; fi

  "$python" -c 'import venv; from ensurepip import bootstrap' 2>/dev/null || no_venv
  say "making $venv with Python $version"
  unfinished=$venv
  rm -rf -- "$venv" || exit 1
  if ! made=$("$python" -m venv -- "$venv" 2>&1); then
    case $made in
      *'ensurepip is not'*) no_venv ;;
      *) die 2 "$python -m venv failed: $made" ;;
    esac
  fi
  # Older ones cannot install a checkout in place.
  "$venv/bin/python" -c 'import pip, sys; sys.exit(pip.__version__.startswith(("20.", "21.")))' ||
    pip_install --upgrade pip || exit 1
  pip_install "$@" || exit 1
  printf '%s\n' "$wanted" >"$venv/made-for" || exit 1
  unfinished=
}

pip_install() {
  # PIP_USER: where a user's settings say --user, pip refuses inside an environment.
  if ! (cd -- "$root" && PIP_USER=0 exec "$venv/bin/python" -m pip install --quiet --no-input \
    --disable-pip-version-check "$@") </dev/null >"$venv/pip.log" 2>&1; then
    cat -- "$venv/pip.log" >&2
    say "pip install $* failed"
    return 1
  fi
}

# Installs more into a ready environment: kept if pip says no, made anew if interrupted.
add_to_venv() {
  rm -f -- "$venv/made-for" || exit 1
  unfinished=$venv
  added=0
  pip_install "$@" || added=1
  printf '%s\n' "$wanted" >"$venv/made-for" || exit 1
  unfinished=
  return "$added"
}
