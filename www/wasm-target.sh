#!/usr/bin/env bash
# Finds, or makes, a Rust toolchain that can compile for wasm32-unknown-unknown.
#
#   chosen=$(www/wasm-target.sh)              # "", "RUSTUP_TOOLCHAIN=…" or "PATH=…"; with `lint`, one that has Clippy too
#   env ${chosen:+"$chosen"} cargo build --target wasm32-unknown-unknown
#
# Ways, in this order; what it does goes to stderr, and a second call finds what the first one made:
#   1. the active toolchain already links such a module;
#   2. `rustup target add`, given WASM_RUSTUP_SECONDS (60; 0 leaves this way out);
#   3. Debian's own compiler and its library sources: the standard library is compiled once into a private toolchain under
#      TICKSCOPE_TOOLCHAINS (~/.local/share/tickscope/toolchains).
# The native build keeps the toolchain it has: only commands for this target are given what is printed here.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program="wasm target"
source "$root/www/steps.sh"

readonly target=wasm32-unknown-unknown
readonly rustup_seconds=${WASM_RUSTUP_SECONDS:-60}
readonly purpose=${1:-build}
readonly toolchains=${TICKSCOPE_TOOLCHAINS:-${XDG_DATA_HOME:-$HOME/.local/share}/tickscope/toolchains}
scratch=$(mktemp -d)
readonly scratch
trap 'rm -rf "$scratch"' EXIT

# Whether this rustc can make a module: linking one finds a missing library, one left over from another release, and a missing linker.
links_with() {
  printf '#[unsafe(no_mangle)]\npub extern "C" fn probe(n: u32) -> usize { n.to_string().len() }\n' >"$scratch/probe.rs"
  "$1" --edition 2024 --crate-type cdylib --target $target -o "$scratch/probe.wasm" "$scratch/probe.rs" >"$scratch/probe.log" 2>&1
}

by_rustup() {
  has rustup && [ "$rustup_seconds" -gt 0 ] || return 1
  say "asking rustup for it (at most $rustup_seconds s)"
  timeout "$rustup_seconds" rustup target add $target >&2 || return 1
  links_with rustc
}

# Debian keeps a current compiler for its browsers, rustc-web; the plain rustc of a release may be too old for this project. The
# two exclude each other, so the one that is there stays.
install_debian_rust() {
  local family=web clippy reason="a compiler whose library for $target can be built here"
  if [ -e /usr/bin/rustc ]; then
    dpkg-query -S /usr/bin/rustc 2>/dev/null | grep -q '^rustc-web:' || family=plain
  else
    as_root apt-get -q update >&2
    apt-cache show rustc-web >/dev/null 2>&1 || family=plain
  fi
  if [ $family = web ]; then
    packages "$reason" rustc-web cargo-web rust-web-src
    clippy=rust-web-clippy
  else
    packages "$reason" rustc cargo rust-src
    clippy=rust-clippy
  fi
  new_enough "$(debian_fact release)" ||
    fail "Debian's $(/usr/bin/rustc -V) is too old for this project: replace it ('apt-get install rustc-web cargo-web'), or give rustup's Rust $target"
  [ "$purpose" != lint ] || packages "Clippy for that compiler" "$clippy"
  packages "the linker of $target" "lld-$(debian_fact 'LLVM version' | cut -d. -f1)"
}

debian_fact() { /usr/bin/rustc -vV | sed -n "s/^$1: //p"; }

# Lays out a toolchain in "$1": Debian's compiler with a library for the target added.
make_toolchain() {
  local place=$1 host lld library
  host=$(debian_fact host)
  lld=/usr/bin/lld-$(debian_fact 'LLVM version' | cut -d. -f1)

  # An empty crate makes cargo build the library from its sources. Only this step asks for unstable cargo flags; bitcode is kept
  # for link-time optimisation of the page.
  mkdir -p "$scratch/library"
  : >"$scratch/library/lib.rs"
  printf '[package]\nname = "library"\nversion = "0.0.0"\nedition = "2024"\n[lib]\npath = "lib.rs"\n[workspace]\n' >"$scratch/library/Cargo.toml"
  (
    cd "$scratch/library"
    env -u RUSTUP_TOOLCHAIN -u RUSTC_WRAPPER -u RUSTC_WORKSPACE_WRAPPER \
      PATH=/usr/bin:/bin RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS='-C embed-bitcode=yes' \
      /usr/bin/cargo build -q --release --target $target --target-dir built -Z build-std=std,panic_abort,proc_macro >&2
  ) || fail "the standard library did not compile; the messages above say why"

  mkdir -p "$place/bin" "$place/lib/rustlib/$target/lib" "$place/lib/rustlib/$host/bin"
  for library in "$scratch/library/built/$target"/release/deps/*.rlib; do
    case "$library" in */liblibrary-*) ;; *) cp "$library" "$place/lib/rustlib/$target/lib/" ;; esac
  done
  ln -s "/usr/lib/rustlib/$host/lib" "$place/lib/rustlib/$host/lib"
  ln -s "$lld" "$place/lib/rustlib/$host/bin/rust-lld"
  ln -s /usr/bin/cargo "$place/bin/cargo"
}

# Programs that a link would not do for: each would look for the library beside where it really lies.
make_programs() {
  local place=$1 tool
  for tool in rustc rustdoc; do
    printf '#!/bin/sh\nexec /usr/bin/%s --sysroot "%s" "$@"\n' $tool "$place" >"$place/bin/$tool"
  done
  for tool in cargo-clippy clippy-driver; do
    printf '#!/bin/sh\nSYSROOT="%s" exec /usr/bin/%s "$@"\n' "$place" $tool >"$place/bin/$tool"
  done
  chmod +x "$place"/bin/{rustc,rustdoc,cargo-clippy,clippy-driver}
}

by_debian() {
  has apt-get || fail "this machine has no rustup that can add $target and no apt-get: install a Rust with that target and try again"
  install_debian_rust
  local name place
  name=tickscope-$(/usr/bin/rustc -V | cut -d' ' -f2)-$(/usr/bin/rustc -vV | cksum | cut -d' ' -f1)
  place=$toolchains/$name
  if ! [ -x "$place/bin/rustc" ] || ! links_with "$place/bin/rustc"; then
    say "compiling the standard library with Debian's $(/usr/bin/rustc -V), once"
    rm -rf "$place" "$place.new"
    make_toolchain "$place.new"
    mv "$place.new" "$place"
    make_programs "$place"
    links_with "$place/bin/rustc" || fail "the toolchain in $place does not link a module: $(cat "$scratch/probe.log")"
  fi
  say "using $place"
  if has rustup; then
    rustup toolchain link "$name" "$place" >&2
    echo "RUSTUP_TOOLCHAIN=$name"
  else
    echo "PATH=$place/bin:$PATH"
  fi
}

if has rustc && links_with rustc; then
  say "$(rustc -V) has it"
elif by_rustup; then
  say "added to $(rustc -V)"
else
  by_debian
fi
