#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A Python that has the package of this checkout: installs it into build/venv-python and runs it with the arguments.
# shellcheck source=SCRIPTDIR/../../examples/hosts/host.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../../examples/hosts/host.sh"
venv=$root/build/venv-python
python_packages "$venv" 1 nbclient ipykernel
hocket_package "$venv"
cd "$root"
exec "$venv/bin/python" "$@"
