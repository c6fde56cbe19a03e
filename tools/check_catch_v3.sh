#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The tests against Catch2 v3, which Debian 12 does not have (Conan and vcpkg users do). The clingo package of PyPI carries
# its sources; they are built once into FOLDER. Then every unit test is parsed with it, and one is built and run.
#   tools/check_catch_v3.sh [FOLDER]     FOLDER: default build/catch-v3
# CXX in the environment names the compiler.
# Catch2_DIR in the environment names an installed Catch2 v3 to use instead.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
folder=${1:-$root/build/catch-v3}
mkdir -p "$folder"
folder=$(cd -- "$folder" && pwd -P)
clingo=5.8.3

if [ -z "${Catch2_DIR-}" ] && [ ! -e "$folder/prefix/lib/cmake/Catch2/Catch2Config.cmake" ]; then
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest "$folder" \
    "clingo==$clingo" || {
    echo "skipped: clingo $clingo, which carries Catch2 v3, cannot be downloaded from PyPI"
    exit 77
  }
  tar -xzf "$folder/clingo-$clingo.tar.gz" -C "$folder"
  cmake -S "$folder/clingo-$clingo/third_party/catch" -B "$folder/catch" -G Ninja -DCMAKE_CXX_FLAGS=-O0 \
    -DCMAKE_CXX_STANDARD=20 -DCATCH_INSTALL_DOCS=OFF -DBUILD_TESTING=OFF -DCMAKE_INSTALL_LIBDIR=lib \
    "-DCMAKE_INSTALL_PREFIX=$folder/prefix" >"$folder/catch.log"
  cmake --build "$folder/catch" >>"$folder/catch.log"
  cmake --install "$folder/catch" >>"$folder/catch.log"
fi
export Catch2_DIR=${Catch2_DIR:-$folder/prefix/lib/cmake/Catch2}

cmake -S "$root" -B "$folder/build" -G Ninja -DCMAKE_CXX_FLAGS=-O0 -DHOCKET_BUILD_EXAMPLES=OFF \
  "-DCatch2_DIR=$Catch2_DIR" >"$folder/configure.log"
version=$(sed -n 's/^ *set(PACKAGE_VERSION "\(.*\)")/\1/p' "$Catch2_DIR/Catch2ConfigVersion.cmake" | head -n 1)
case $version in
  3.*) ;;
  *)
    echo "failed: $Catch2_DIR is Catch2 $version, not 3"
    exit 1
    ;;
esac
grep "Catch2_DIR:.*=$Catch2_DIR" "$folder/build/CMakeCache.txt" >"$folder/used.log"
cmake --build "$folder/build" --target test_core >"$folder/test_core.log" || {
  tail -n 30 "$folder/test_core.log"
  echo "failed: test_core does not build with Catch2 $version"
  exit 1
}
"$folder/build/tests/unit/core/test_core"

# The others are parsed only: what v2 and v3 spell differently shows there.
python3 - "$folder/build/compile_commands.json" <<'END'
import concurrent.futures, json, shlex, subprocess, sys
commands = [c for c in json.load(open(sys.argv[1])) if "/tests/unit/" in c["file"] and "/tests/unit/core/" not in c["file"]]

def parse(entry):
    words = shlex.split(entry["command"])
    if "ccache" in words[0]:
        words = words[1:]
    words = [w for w in words if w != "-c"]
    out = words.index("-o")
    del words[out:out + 2]
    done = subprocess.run([*words, "-fsyntax-only"], cwd=entry["directory"], capture_output=True, text=True)
    return entry["file"], done

failed = 0
with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
    for name, done in pool.map(parse, commands):
        if done.returncode != 0:
            failed += 1
            print(f"failed: {name}\n{done.stderr[:3000]}")
print(f"{len(commands)} further test sources parsed")
sys.exit(failed != 0)
END
echo "ok: the tests compile with Catch2 $version"
