#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A Python that has the package of this checkout: installs it into build/venv-python and runs it with the arguments.
# shellcheck source=SCRIPTDIR/../../examples/hosts/host.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../../examples/hosts/host.sh"
venv=$root/build/venv-python
debian g++ cmake ninja-build libboost-dev nlohmann-json3-dev
python_packages "$venv" 1 numpy nbclient ipykernel "scikit-build-core>=0.10"
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
# A compiler that fails is no reason to skip.
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps "$root" >&2
cd "$root"
exec "$venv/bin/python" "$@"
