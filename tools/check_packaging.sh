#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Consumes hocket in every way that docs/consuming.md shows, each in a project that knows nothing of this checkout.
#   tools/check_packaging.sh [FOLDER]     FOLDER (default build/packaging) is emptied first; logs stay there
# One line per check, "ok" or "failed"; exit status 1 if one failed. CONAN names a Conan 2 program; without it `conan`
# is taken from PATH, or installed from PyPI into FOLDER.
set -uo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
folder=${1:-$root/build/packaging}
mkdir -p "$folder"
folder=$(cd -- "$folder" && pwd -P)
case $root/ in "$folder"/*)
  echo "check_packaging: $folder holds this checkout" >&2
  exit 2
  ;;
esac
rm -rf "${folder:?}"/*
cd "$folder" || exit 2
prefix=$folder/prefix
failed=0
# The consumers see neither our compiler flags nor a cache of ours.
unset CXXFLAGS CPPFLAGS LDFLAGS CMAKE_PREFIX_PATH CMAKE_TOOLCHAIN_FILE hocket_DIR

check() {  # check NAME FUNCTION ARGS…
  local name=$1 start=$SECONDS status
  shift
  # Not as a condition: bash ignores set -e in everything that `if` or `||` waits for.
  (
    set -e
    "$@"
  ) >"$folder/$name.log" 2>&1 </dev/null
  status=$?
  if ((status == 0)); then
    echo "ok      $name ($((SECONDS - start)) s)"
  else
    echo "failed  $name (the log is $folder/$name.log):"
    tail -n 25 "$folder/$name.log" | sed 's/^/        /'
    failed=1
  fi
}

# Which optional libraries a consumer program exists for.
components() {
  local file
  for file in "$root"/tests/consumer/consumer_*.cpp; do
    [ -e "$file" ] || continue
    file=${file##*/consumer_}
    echo "${file%.cpp}"
  done
}
mapfile -t optional < <(components)
joined=$(IFS=';'; echo "${optional[*]}")

options_for() {  # the -DHOCKET_…=ON|OFF of exactly these components
  local component
  for component in cost range_v3 hugging_face boost_graph; do
    case " $* " in
      *" $component "*) echo "-DHOCKET_${component^^}=ON" ;;
      *) echo "-DHOCKET_${component^^}=OFF" ;;
    esac
  done
}

install_into() {  # install_into PREFIX COMPONENT…
  local to=$1 switches
  shift
  mapfile -t switches < <(options_for "$@")
  cmake -S "$root" -B "$to-build" -G Ninja -DHOCKET_BUILD_TESTS=OFF -DHOCKET_BUILD_EXAMPLES=OFF \
    -DHOCKET_BUILD_BENCHMARKS=OFF "-DCMAKE_INSTALL_PREFIX=$to" "${switches[@]}"
  cmake --build "$to-build"
  cmake --install "$to-build"
  # Moved afterwards: nothing that is installed may remember where it was built.
  if grep -rlE "$to|$root" "$to"; then
    echo "the files above name a folder of the build"
    return 1
  fi
}

consume() {  # consume NAME CMAKE-OPTIONS…: configures, builds and runs tests/consumer
  local build=$folder/consumer-$1
  shift
  cmake -S "$root/tests/consumer" -B "$build" -G Ninja "$@"
  cmake --build "$build"
  ctest --test-dir "$build" --output-on-failure --no-tests=error
}

consume_moved() {
  cp -r "$prefix" "$folder/moved"
  consume find_package "-DCMAKE_PREFIX_PATH=$folder/moved" "-DHOCKET_CONSUMER_COMPONENTS=$joined"
}

# hocket::hocket alone, with every optional package hidden.
consume_bare() {
  install_into "$folder/bare"
  consume bare "-DCMAKE_PREFIX_PATH=$folder/bare" -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_range-v3=ON -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
}

# What must not be found: a component that is not installed, and a version that promises something else.
refuse() {
  local name=$1 expected=$2
  shift 2
  mkdir -p "$folder/refused-$name"
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(refused LANGUAGES NONE)\nfind_package(hocket %s CONFIG REQUIRED %s)\n' \
    "$1" "$2" >"$folder/refused-$name/CMakeLists.txt"
  if cmake -S "$folder/refused-$name" -B "$folder/refused-$name/build" "-DCMAKE_PREFIX_PATH=$folder/bare" >"$name.out" 2>&1; then
    echo "find_package(hocket $1 $2) succeeds, but must not"
    return 1
  fi
  tr -s ' \n' ' ' <"$name.out" | grep -F "$expected" || {
    cat "$name.out"
    echo "find_package(hocket $1 $2) does not say: $expected"
    return 1
  }
}
refusals() {
  refuse component "component cost is not installed; there are: hocket" 0.1 "COMPONENTS cost"
  refuse newer 'compatible with requested version "0.2"' 0.2 ""
  refuse older 'compatible with requested version "0.0"' 0.0 ""
  refuse major 'compatible with requested version "1.0"' 1.0 ""
}

use_pkg_config() {
  export PKG_CONFIG_PATH=$folder/moved/share/pkgconfig
  local version flags
  version=$(pkg-config --modversion hocket)
  grep -F "VERSION_STRING \"$version\"" "$root/include/hocket/version.hpp"
  # Debian's pkg-config leaves the words unquoted; a path with spaces is not tested here.
  read -ra flags < <(pkg-config --cflags hocket)
  [ "${#flags[@]}" = 1 ] || {
    echo "hocket.pc passes on more than an include path: ${flags[*]}"
    return 1
  }
  "${CXX:-c++}" -std=c++20 "${flags[@]}" "$root/tests/consumer/consumer.cpp" -o "$folder/by_pkg_config"
  "$folder/by_pkg_config"
}

use_vcpkg() {
  local features=() component
  for component in "${optional[@]}"; do features+=("${component//_/-}"); done
  cmake -D "PACKAGES_DIR=$folder/vcpkg" -D "BUILDTREES_DIR=$folder/vcpkg-build" \
    -D "FEATURES=$(IFS=';'; echo "${features[*]}")" -P "$root/tests/packaging/vcpkg_stand_in.cmake"
  consume vcpkg "-DCMAKE_PREFIX_PATH=$folder/vcpkg" "-DHOCKET_CONSUMER_COMPONENTS=$joined"
}

use_conan() {
  local conan=${CONAN:-$(command -v conan || true)} options=() component
  if [ -z "$conan" ]; then
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "conan>=2.0,<3"
    conan=$folder/venv/bin/conan
  fi
  export CONAN_HOME=$folder/conan
  "$conan" profile detect --force
  {
    sed 's/^compiler.cppstd=.*/compiler.cppstd=20/' "$CONAN_HOME/profiles/default"
    printf '\n[platform_requires]\nboost/1.74.0\nrange-v3/0.12.0\nnlohmann_json/3.11.2\n'
    printf '\n[conf]\ntools.cmake.cmake_layout:test_folder=%s\n' "$folder/conan-test"
  } >"$folder/conan-profile"
  for component in "${optional[@]}"; do options+=(-o "hocket/*:with_$component=True"); done
  "$conan" create "$root" --no-remote -pr:a "$folder/conan-profile" "${options[@]}"
  # Without any option nothing but hocket::hocket is promised.
  "$conan" create "$root" --no-remote -pr:a "$folder/conan-profile"
}

# The projects of docs/consuming.md, as they stand there.
documented() {
  python3 - "$root/docs/consuming.md" "$folder/documented" <<'END'
import pathlib, re, sys
text, out = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), pathlib.Path(sys.argv[2])
program = next(code for code in re.findall(r"```cpp\n(.*?)```", text, re.S) if "int main()" in code)
projects = [code for code in re.findall(r"```cmake\n(.*?)```", text, re.S) if "project(" in code]
assert len(projects) == 2, f"expected two projects in {sys.argv[1]}, found {len(projects)}"
for name, code in zip(("installed", "embedded"), projects):
    (out / name).mkdir(parents=True)
    (out / name / "CMakeLists.txt").write_text(code)
    (out / name / "main.cpp").write_text(program)
END
  mkdir documented/embedded/third_party
  ln -s "$root" documented/embedded/third_party/hocket
  local name
  for name in installed embedded; do
    cmake -S "documented/$name" -B "documented/$name/build" -G Ninja "-DCMAKE_PREFIX_PATH=$folder/moved"
    cmake --build "documented/$name/build"
    [ "$("documented/$name/build/main")" = "2 edges, a before c: 1" ]
  done
}

single_header() {
  python3 "$root/tools/amalgamate.py" --out "$folder/single/hocket.hpp"
  local source name count=0
  for source in "$root"/examples/*.hpp; do
    sed 's/^#include <hocket\/.*>/#include "hocket.hpp"/' "$source" >"$folder/single/$(basename "$source")"
  done
  for source in "$root"/tests/consumer/consumer.cpp "$root"/examples/*.cpp; do
    # Only what needs hocket::hocket alone, and no laws: those are parsed with the header.
    if sed -n 's/^#include <hocket\/\(.*\)>.*/\1/p' "$source" | grep -qE '^(cost|planner|interop|testing)'; then continue; fi
    if grep -qE '^#include [<"](boost|range|nlohmann|Eigen|cuda|acl|mpi)' "$source"; then continue; fi
    grep -q '^#include <hocket/' "$source" || continue
    name=$(basename "$source" .cpp)
    mkdir -p "$folder/single/$name"
    sed 's/^#include <hocket\/.*>/#include "hocket.hpp"/' "$source" >"$folder/single/$name/main.cpp"
    "${CXX:-c++}" -std=c++20 -Wall -Wextra -Werror -pthread -I "$folder/single" "$folder/single/$name/main.cpp" -o "$folder/single/$name/main"
    (cd "$root" && "$folder/single/$name/main")
    count=$((count + 1))
  done
  echo "$count programs"
  ((count > 0))
}

check install install_into "$prefix" "${optional[@]}"
check find_package consume_moved
check hocket_alone consume_bare
check refusals refusals
check pkg_config use_pkg_config
check add_subdirectory consume add_subdirectory -DHOCKET_CONSUMER_WAY=add_subdirectory \
  "-DHOCKET_CONSUMER_SOURCE=$root" -DHOCKET_CONSUMER_COMPONENTS=range_v3
check fetch_content consume fetch_content -DHOCKET_CONSUMER_WAY=fetch_content "-DHOCKET_CONSUMER_SOURCE=$root"
check vcpkg_port use_vcpkg
check conan use_conan
check documented documented
check single_header single_header
if ((failed)); then
  echo "packaging: something failed"
  exit 1
fi
echo "packaging: every check is ok"
