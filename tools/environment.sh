#!/usr/bin/env bash
# What `make run` and `make test` need of the machine: says in a line each what is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=()
for tool in go git; do
  command -v "$tool" >/dev/null || missing+=("$tool isn't on PATH: install it")
done

# writable folder what: it can be written to, or be made.
writable() {
  { mkdir -p "$1" && [[ -w $1 ]]; } 2>/dev/null || missing+=("$2 can't be written to ($1): $3")
}
writable bin "this copy of the repository" "work in one that can, as git clone makes it"
writable "${TMPDIR:-/tmp}" "the folder for temporary files" "set TMPDIR to one that can"
writable "${XDG_CACHE_HOME:-$HOME/.cache}" "the folder for caches" "set HOME or XDG_CACHE_HOME to one that can"

# A control plane with its controllers was seen to work with as many.
files=$(ulimit -n)
if [[ $files != unlimited ]] && ((files < 256)); then
  missing+=("a process may open $files files only: ulimit -n 1024")
fi

if ((${#missing[@]})); then
  printf '%s\n' "${missing[@]}" >&2
  exit 1
fi
