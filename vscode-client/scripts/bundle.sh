#!/bin/sh
# The server as a wheel, for an environment that the extension makes itself. Its dependencies have compiled parts for each
# platform and Python, so they are not bundled: pip fetches them when the environment is made.
set -eu
cd "$(dirname "$0")/.."
python=../.venv/bin/python
test -x "$python" || python=python3
# From a copy, since setuptools leaves its work beside what it builds.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
(cd .. && tar -ch --exclude=__pycache__ --exclude=target pyproject.toml README.md LICENSE translation gpu_runner/ferrotile_runner server) | tar -x -C "$copy"
rm -rf bundled
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir bundled "$copy"
# The pictures of the walkthrough and of the README.
mkdir -p images
for name in preview refused status testing; do
  cp "../docs/images/vscode_$name.png" "images/$name.png"
done
