#!/usr/bin/env bash
# Usage: tools/unchanged.sh COMMAND [ARGUMENT...]
#
# Runs a command that writes generated files and fails, naming them, when it
# changed, added or removed any file of the tree. It compares contents before and
# after, not with the last commit, so that it also serves a tree with changes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# hashes prints a line "<hash> <path>" for each file that git doesn't ignore.
hashes() {
  local files
  files=$(git -c core.quotePath=false ls-files --cached --others --exclude-standard | sort -u |
    while IFS= read -r file; do if [[ -f $file ]]; then printf '%s\n' "$file"; fi; done)
  paste -d ' ' <(git hash-object --no-filters --stdin-paths <<<"$files") - <<<"$files"
}

before=$(hashes)
"$@"
after=$(hashes)

if [[ $before != "$after" ]]; then
  {
    echo "generated files were out of date; '$*' has rewritten them, commit the result:"
    # A line that is only in one of the two listings belongs to a changed file.
    printf '%s\n%s\n' "$before" "$after" | sort | uniq -u | cut -d ' ' -f 2- | sort -u | sed 's/^/  /'
  } >&2
  exit 1
fi
