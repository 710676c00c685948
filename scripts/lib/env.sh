# shellcheck shell=bash
# The environment of every script: where the repository and its tools are, and a PATH that finds the pinned ones first.
# Sourced, never run. Costs a few milliseconds: it starts no program but a few of `awk`, `uname` and `grep`.

if ((BASH_VERSINFO[0] < 5)); then
  echo "conclave: bash 5 or newer is needed (this is $BASH_VERSION). On macOS: brew install bash" >&2
  exit 2
fi
if [[ -z ${HOME:-} ]]; then
  echo "conclave: HOME is not set, and cargo, npm and these scripts keep their files below it. Set it, for example: HOME=/root" >&2
  exit 2
fi

# With it, a relative `cd` could go elsewhere, and says so on standard output.
unset CDPATH

CONCLAVE_ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
CONCLAVE_TOOLS=${CONCLAVE_TOOLS:-$HOME/.cache/conclave/tools}
if [[ $CONCLAVE_TOOLS != /* ]]; then
  echo "conclave: CONCLAVE_TOOLS must be an absolute path, not '$CONCLAVE_TOOLS'" >&2
  exit 2
fi

# shellcheck source=scripts/versions.env
source "$CONCLAVE_ROOT/scripts/versions.env"

# The version of a crate in Cargo.lock, or nothing.
locked_crate_version() {
  [[ -f $CONCLAVE_ROOT/Cargo.lock ]] || return 0
  awk -v name="\"$1\"" '$1 == "name" && $3 == name { found = 1; next }
    found && $1 == "version" { gsub(/"/, "", $3); print $3; exit }' "$CONCLAVE_ROOT/Cargo.lock"
}

# The version of a package that package.json names, or nothing.
npm_package_version() {
  awk -v name="\"$1\":" '$1 == name { gsub(/[",]/, "", $2); print $2; exit }' "$CONCLAVE_ROOT/package.json"
}

# The version of Rust that rust-toolchain.toml asks for.
rust_channel() {
  awk -F '"' '$1 ~ /^channel *= *$/ { print $2; exit }' "$CONCLAVE_ROOT/rust-toolchain.toml"
}

# The directory that one version of one tool is installed into.
tool_directory() {
  echo "$CONCLAVE_TOOLS/$1-$2"
}

# The name of the npm package that has OpenCode for this machine. The plain x64 build needs AVX2.
opencode_package() {
  local system machine flavour=
  read -r system machine < <(uname -sm)
  case $machine in
    x86_64 | amd64) machine=x64 ;;
    aarch64 | arm64) machine=arm64 ;;
  esac
  if [[ $system == Linux ]]; then
    if [[ $machine == x64 ]] && ! grep --quiet --max-count=1 --word-regexp avx2 /proc/cpuinfo; then
      flavour=-baseline
    fi
    if [[ -e /etc/alpine-release ]]; then
      flavour+=-musl
    fi
  fi
  echo "opencode-${system,,}-$machine$flavour"
}

# A machine may have the right release of Rust under another name only (say "stable"), and no way to fetch it again.
use_installed_toolchain() {
  local channel toolchains directory
  channel=$(rust_channel)
  toolchains=${RUSTUP_HOME:-$HOME/.rustup}/toolchains
  if [[ -n ${RUSTUP_TOOLCHAIN:-} || ! -d $toolchains ]] || compgen -G "$toolchains/$channel-*" >/dev/null; then
    return
  fi
  for directory in "$toolchains"/*; do
    if [[ $("$directory/bin/rustc" --version 2>/dev/null) == "rustc $channel "* ]]; then
      export RUSTUP_TOOLCHAIN=${directory##*/}
      return
    fi
  done
}
use_installed_toolchain

WASM_BINDGEN_VERSION=$(locked_crate_version wasm-bindgen)
OPENCODE_VERSION=$(npm_package_version opencode-linux-x64)

tools_path="$CONCLAVE_ROOT/node_modules/.bin"
for tool in "worker-build-$WORKER_BUILD_VERSION" "wasm-bindgen-cli-$WASM_BINDGEN_VERSION" \
  "cargo-nextest-$CARGO_NEXTEST_VERSION" "cargo-deny-$CARGO_DENY_VERSION"; do
  tools_path+=":$CONCLAVE_TOOLS/$tool/bin"
done
case :$PATH: in
  *":$tools_path:"*) ;;
  *) PATH="$tools_path:$CONCLAVE_TOOLS/prometheus/bin:$CONCLAVE_TOOLS/bin:$PATH" ;;
esac

# OpenCode: the one that `npm ci` brought, or (on machines that the lock file does not cover) scripts/setup's own.
find_opencode() {
  local package
  package=$(opencode_package)
  CONCLAVE_OPENCODE="$CONCLAVE_ROOT/node_modules/$package/bin/opencode"
  if [[ ! -x $CONCLAVE_OPENCODE ]]; then
    CONCLAVE_OPENCODE="$(tool_directory "$package" "$OPENCODE_VERSION")/node_modules/$package/bin/opencode"
  fi
}
find_opencode

# worker-build downloads these three unless it finds them here.
WASM_BINDGEN_BIN=$(type -P wasm-bindgen || true)
WASM_OPT_BIN="$CONCLAVE_ROOT/node_modules/.bin/wasm-opt"
ESBUILD_BIN="$CONCLAVE_ROOT/node_modules/.bin/esbuild"

CONCLAVE_TEST_PYTHON="$CONCLAVE_TOOLS/python/bin/python"
if [[ -z ${CONCLAVE_TEST_CHROMIUM:-} ]]; then
  for browser in chromium chromium-browser google-chrome-stable google-chrome; do
    if CONCLAVE_TEST_CHROMIUM=$(type -P "$browser"); then
      break
    fi
  done
fi
if [[ -z ${CONCLAVE_TEST_CHROMIUM:-} && -x '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' ]]; then
  CONCLAVE_TEST_CHROMIUM='/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'
fi

WRANGLER_SEND_METRICS=false
export CONCLAVE_TOOLS PATH CONCLAVE_OPENCODE WASM_OPT_BIN ESBUILD_BIN \
  CONCLAVE_TEST_PYTHON CONCLAVE_TEST_CHROMIUM WRANGLER_SEND_METRICS
if [[ -n $WASM_BINDGEN_BIN ]]; then
  export WASM_BINDGEN_BIN
else
  unset WASM_BINDGEN_BIN
fi
unset tools_path tool browser
