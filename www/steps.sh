# What `run`, `test` and `www/wasm-target.sh` share. To be sourced from bash with `root` set to the directory of Cargo.toml.
# Everything it says goes to stderr: standard output belongs to whoever sources it.

# Flags from outside would compile every dependency again, and take from the page the SIMD flag that .cargo/config.toml gives it.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTDOCFLAGS CARGO_BUILD_TARGET CARGO_TARGET_DIR

readonly native_target=$root/target         # native builds
readonly page_target=$root/target/wasm      # the page's crates; apart, so that both builds can run at the same time
readonly bindgen_target=$root/target/bindgen # the bindings generator
readonly page=$root/target/page             # what a browser loads
readonly tickscope=$native_target/debug/tickscope

wanted_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")
readonly wanted_rust

say() { printf '%s: %s\n' "${program:-$(basename "$0")}" "$*" >&2; }
fail() {
  say "$*"
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# Seconds since `$1`, a value of $EPOCHREALTIME, with one digit.
since() {
  local tenths=$(((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}) / 100000))
  printf '%d.%d s' $((tenths / 10)) $((tenths % 10))
}

# step WHAT COMMAND…: says what it does and how long it took, or that it failed.
step() {
  local what=$1 start=$EPOCHREALTIME
  shift
  say "$what …"
  if "$@"; then
    say "$what: done in $(since "$start")"
  else
    say "$what: FAILED after $(since "$start")"
    return 1
  fi
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif has sudo; then
    sudo "$@"
  else
    fail "run this as root, then try again: $*"
  fi
}

# packages WHY NAME…: installs those of Debian's packages that are not there.
packages() {
  local why=$1 missing=() package
  shift
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]} ($why)"
  as_root apt-get -q update >&2 || say "apt-get update failed; going on with the package lists that are here"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${missing[@]}" >&2 ||
    fail "apt-get could not install ${missing[*]} ($why): install what they hold in another way and try again"
}

# new_enough VERSION: whether that Rust can compile this project.
new_enough() { [ "$(printf '%s\n' "$wanted_rust" "$1" | sort -V | head -n 1)" = "$wanted_rust" ]; }

# A Rust new enough, and a C compiler: zstd is C, and every Rust program is linked by it.
need_compilers() {
  local found
  has cargo && has rustc || fail "cargo and rustc were not found: install Rust (with rustup, say), open a new shell and try again"
  found=$(cd "$root" && rustc -V | cut -d' ' -f2)
  [ -n "$found" ] || fail "rustc does not run: 'rustc -V' says why"
  new_enough "$found" || fail "Rust $wanted_rust or newer is needed, here is $found: update it ('rustup update stable') and try again"
  if ! links_c; then
    has apt-get || fail "no C compiler that links a program (cc): install gcc or clang with the C library's headers and try again"
    packages "a C compiler" gcc libc6-dev
    links_c || fail "cc is there but does not link a program: 'echo \"int main(){}\" | cc -x c -' says why"
  fi
}

links_c() { has cc && printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | cc -x c - -o /dev/null 2>/dev/null; }

# Sets page_env to what commands for the page's target must be given; `wasm_toolchain lint` to what has Clippy as well.
wasm_toolchain() {
  local chosen
  chosen=$("$root/www/wasm-target.sh" "${1:-build}") || return 1
  page_env=(env ${chosen:+"$chosen"})
}

build_native() { (cd "$root" && cargo build --locked --target-dir "$native_target"); }

# Compiles the page's module. Needs page_env.
build_module() {
  (cd "$root" && "${page_env[@]}" cargo rustc --locked --lib --crate-type cdylib --profile page \
    --target wasm32-unknown-unknown --target-dir "$page_target")
}

build_bindgen() { (cd "$root/www/bindgen" && cargo build --locked --target-dir "$bindgen_target"); }

# Lays out what a browser loads, unless it is newer than everything it is made of.
lay_out_page() {
  local module=$page_target/wasm32-unknown-unknown/page/tickscope.wasm generator=$bindgen_target/debug/tickscope-bindgen
  local made=$page/tickscope_bg.wasm files
  files=("$root/index.html" "$root"/www/*.{css,js,svg})
  if [ -e "$made" ] && [ -z "$(find "$module" "$generator" "${files[@]}" "$root/www" -maxdepth 0 -newer "$made")" ]; then
    return 0
  fi
  "$generator" "$module" "$page" "${files[@]}"
}

# The page from its sources to what a browser loads. Needs page_env.
build_page() {
  step "building the page's module" build_module || return 1
  step "building the bindings generator" build_bindgen || return 1
  step "laying out the page" lay_out_page
}

# The recorded sessions' case table as a module of its own, for the browser tests. Needs page_env and the generator.
build_web_sessions() {
  (cd "$root" && "${page_env[@]}" cargo rustc --locked --example web_sessions --profile page \
    --target wasm32-unknown-unknown --target-dir "$page_target") &&
    "$bindgen_target/debug/tickscope-bindgen" "$page_target/wasm32-unknown-unknown/page/examples/web_sessions.wasm" "$root/target/web_sessions"
}
