#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Consumes hocket in every way that docs/consuming.md shows, each in a project that knows nothing of this checkout.
#   tools/check_packaging.sh [FOLDER]     FOLDER (default build/packaging) is emptied first; logs stay there
# One line per check: ok, failed, or skipped with the reason; exit status 1 if one failed. Conan 2, the newest CMake and
# a reader of SPDX come from PyPI into FOLDER. VCPKG names a vcpkg program, which then installs the port, too.
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
unset CXXFLAGS CPPFLAGS LDFLAGS CMAKE_PREFIX_PATH CMAKE_TOOLCHAIN_FILE CMAKE_CXX_COMPILER_LAUNCHER hocket_DIR

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
  elif ((status == 77)); then
    echo "skipped $name: $(tail -n 1 "$folder/$name.log")"
  else
    echo "failed  $name (the log is $folder/$name.log):"
    tail -n 25 "$folder/$name.log" | sed 's/^/        /'
    failed=1
  fi
}

# need_python_tool NAME: prints the path of a program from PyPI; status 77 if it could not be installed.
need_python_tool() {
  [ -x "$folder/venv/bin/$1" ] || {
    echo "$1 could not be installed from PyPI ($folder/venv.log)"
    exit 77
  }
}

optional=(cost planner range_v3 hugging_face boost_graph)
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
  (cd "$root" && cmake --preset install -B "$to-build" "-DCMAKE_INSTALL_PREFIX=$to" "${switches[@]}")
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
  # Debian's pkg-config leaves the words unquoted; a path with spaces is not tested here.
  read -ra flags < <(pkg-config --cflags hocket)
  [ "${#flags[@]}" = 1 ] || {
    echo "hocket.pc passes on more than an include path: ${flags[*]}"
    return 1
  }
  "${CXX:-c++}" -std=c++20 "${flags[@]}" "$root/recipes/hocket/all/test_package/test_hocket.cpp" -o "$folder/by_pkg_config"
  "$folder/by_pkg_config" | grep "^hocket $version:"
}

# Two clones that differ in all that may not matter give the same bytes, and the bill of materials is a valid one.
make_release() {
  local clone
  # The checkout may belong to another user, as in a container.
  printf '[safe]\n\tdirectory = *\n' >gitconfig
  export GIT_CONFIG_GLOBAL=$folder/gitconfig
  for clone in one two; do git clone --quiet "$root" "clone-$clone"; done
  git -C clone-two config core.autocrlf true
  git -C clone-two config tar.umask 0077
  touch clone-two/README.md
  clone-one/dev --no-install release --out "$folder/release"
  (umask 0077 && TZ=Asia/Tokyo LC_ALL=C clone-two/dev --no-install release --out "$folder/release-two")
  diff -r release release-two
  (cd release && sha256sum --check SHA256SUMS)
  archive=$(cd release && echo hocket-*.tar.gz)
  mkdir unpacked
  tar -xzf "release/$archive" -C unpacked
  diff -r --exclude=.git clone-one "unpacked/${archive%.tar.gz}"
  # The next version is written by one command; only the changelog waits for a person.
  clone-two/dev --no-install release --set-version 9.8.7
  python3 clone-two/tools/lint.py >lint.out || cat lint.out
  grep -F "CHANGELOG.md says version" lint.out
  grep -F ", 1 findings" lint.out
}

bill_of_materials() {
  need_python_tool pyspdxtools
  "$folder/venv/bin/pyspdxtools" --infile "$(echo "$folder"/release/*.spdx.json)"
}

use_vcpkg() {
  local component
  cmake -D "PACKAGES_DIR=$folder/vcpkg" -D "BUILDTREES_DIR=$folder/vcpkg-build" -D "PORT_DIR=$folder/release/ports/hocket" \
    -D "ARCHIVE=$(echo "$folder"/release/*.tar.gz)" -D "FEATURES=cost;hugging-face;range-v3;boost-graph" \
    -P "$root/tests/packaging/vcpkg_stand_in.cmake"
  # All that the usage text names is found; the headers are those that find_package has compiled.
  cmake -S "$root/tests/consumer" -B consumer-vcpkg-all -G Ninja "-DCMAKE_PREFIX_PATH=$folder/vcpkg" "-DHOCKET_CONSUMER_COMPONENTS=$joined"
  for component in "${optional[@]}"; do grep -E "COMPONENTS( [a-z_]+)* ?\b$component\b" "$root/ports/hocket/usage"; done
  consume vcpkg "-DCMAKE_PREFIX_PATH=$folder/vcpkg" -DHOCKET_CONSUMER_COMPONENTS=cost
}

# The program itself. The archive lies where its download would: no tag of the project has to exist.
use_real_vcpkg() {
  [ -n "${VCPKG-}" ] || {
    echo "VCPKG does not name a vcpkg program"
    exit 77
  }
  local version archive repository
  archive=$(echo release/*.tar.gz)
  version=${archive#release/hocket-}
  repository=$(sed -n 's|^ *REPO ||p' release/ports/hocket/portfile.cmake)
  mkdir downloads
  cp "$archive" "downloads/${repository/\//-}-v$version"
  VCPKG_FORCE_SYSTEM_BINARIES=1 "$VCPKG" install hocket --classic --overlay-ports="$folder/release/ports" \
    --downloads-root="$folder/downloads" --x-install-root="$folder/vcpkg-installed" \
    --x-buildtrees-root="$folder/vcpkg-trees" --x-packages-root="$folder/vcpkg-packages" --binarysource=clear
  consume real_vcpkg "-DCMAKE_PREFIX_PATH=$(echo "$folder"/vcpkg-installed/*-*)"
}

conan() { "$folder/venv/bin/conan" "$@"; }

prepare_conan() {
  need_python_tool conan
  export CONAN_HOME=$folder/conan
  [ -e conan-profile ] || {
    conan profile detect
    # Debug, since that compiles fastest.
    sed 's/^compiler.cppstd=.*/compiler.cppstd=20/; s/^build_type=.*/build_type=Debug/' conan/profiles/default >conan-profile
    { cat conan-profile && printf '\n[platform_requires]\nboost/1.74.0\nrange-v3/0.12.0\nnlohmann_json/3.11.2\n'; } >conan-platform
  }
}

# The recipe of the release, as a registry runs it; only the address of the archive is a file here.
use_conan() {
  prepare_conan
  local pair options=() archive version
  for pair in boost/1.86.0 nlohmann_json/3.11.3 range-v3/0.12.0; do
    conan create "$root/tests/packaging/conan_stand_in" --no-remote -pr:a conan-profile --name "${pair%/*}" --version "${pair#*/}"
  done
  for pair in cost hugging_face range_v3 boost_graph; do options+=(-o "hocket/*:with_$pair=True"); done
  cp -r release/recipes recipes
  archive=$(echo "$folder"/release/*.tar.gz)
  version=${archive##*/hocket-}
  sed -i "s|url: .*|url: \"file://$archive\"|" recipes/hocket/all/conandata.yml
  conan create recipes/hocket/all --version "${version%.tar.gz}" --no-remote -pr:a conan-profile "${options[@]}"
}

# The recipe of the checkout, which it leaves as it was. Conan has two generators for CMake: this is the newer one.
use_conan_checkout() {
  prepare_conan
  local before checkout=$folder/clone-one
  before=$(git -C "$checkout" status --porcelain --ignored)
  conan create "$checkout" --no-remote -pr:a conan-platform -o "hocket/*:with_cost=True" -c tools.cmake.cmakedeps:new=will_break_next
  # Without any option nothing but hocket::hocket is promised.
  conan create "$checkout" --no-remote -pr:a conan-profile
  [ "$(git -C "$checkout" status --porcelain --ignored)" = "$before" ]
}

# What the newest CMake adds: a Common Package Specification, with the same answers; C++20 modules.
use_newest_cmake() {
  need_python_tool cmake
  local asked
  PATH=$folder/venv/bin:$PATH
  install_into "$folder/newest" cost
  mv "$folder/newest" "$folder/newest-moved"
  mkdir cps
  cat >cps/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 4.0)
project(cps LANGUAGES CXX)
find_package(hocket ${ASK} REQUIRED)
add_executable(main main.cpp)
target_link_libraries(main PRIVATE hocket::hocket)
END
  cp "$root/recipes/hocket/all/test_package/test_hocket.cpp" cps/main.cpp
  cmake -S cps -B cps/build "-DCMAKE_PREFIX_PATH=$folder/newest-moved" -DASK=0.1 --debug-find-pkg=hocket 2>&1 | grep -F hocket.cps
  cmake --build cps/build
  cps/build/main
  for asked in 0.0 0.2 1.0; do
    if cmake -S cps -B "cps/$asked" "-DCMAKE_PREFIX_PATH=$folder/newest-moved" "-DASK=$asked"; then return 1; fi
  done
  cmake -S cps -B cps/cost "-DCMAKE_PREFIX_PATH=$folder/newest-moved" "-DASK=0.1;COMPONENTS;cost"
}

import_module() {
  need_python_tool cmake
  if ! command -v clang++-19 >/dev/null || ! command -v clang-scan-deps-19 >/dev/null; then
    echo "clang 19 with its clang-scan-deps is not installed"
    exit 77
  fi
  PATH=$folder/venv/bin:$PATH
  cmake -S "$root/tests/packaging/module" -B module -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 "-DHOCKET_CONSUMER_SOURCE=$root"
  cmake --build module
  ctest --test-dir module --output-on-failure --no-tests=error
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

try_single_header() {  # try_single_header SOURCE: compiles and runs it with the one header
  local name
  name=$(basename "$1" .cpp)
  mkdir "single/$name"
  sed 's/^#include <hocket\/.*>/#include "hocket.hpp"/' "$1" >"single/$name/main.cpp"
  "${CXX:-c++}" -std=c++20 -Wall -Wextra -Werror -pthread -I single "single/$name/main.cpp" -o "single/$name/main"
  (cd "$root" && "$folder/single/$name/main")
}

single_header() {
  local source job jobs=()
  mkdir single
  cp release/hocket-*.hpp single/hocket.hpp
  for source in "$root"/examples/*.hpp; do
    sed 's/^#include <hocket\/.*>/#include "hocket.hpp"/' "$source" >"single/$(basename "$source")"
  done
  for source in "$root"/recipes/hocket/all/test_package/test_hocket.cpp "$root"/examples/*.cpp; do
    # Only what needs hocket::hocket alone, and no laws: those are parsed with the header.
    if sed -n 's/^#include <hocket\/\(.*\)>.*/\1/p' "$source" | grep -qE '^(cost|planner|interop|testing)'; then continue; fi
    if grep -qE '^#include [<"](boost|range|nlohmann|Eigen|cuda|acl|mpi)' "$source"; then continue; fi
    grep -q '^#include <hocket/' "$source" || continue
    if ((${#jobs[@]} >= $(nproc))); then
      wait "${jobs[0]}"
      jobs=("${jobs[@]:1}")
    fi
    try_single_header "$source" &
    jobs+=($!)
  done
  ((${#jobs[@]} > 0))
  for job in "${jobs[@]}"; do wait "$job"; done
}

python3 -m venv "$folder/venv" >"$folder/venv.log" 2>&1
"$folder/venv/bin/pip" install --disable-pip-version-check "conan>=2.1,<3" "cmake>=4.3" "spdx-tools>=0.8,<0.9" >>"$folder/venv.log" 2>&1 ||
  echo "Some programs could not be installed: $(tail -n 1 "$folder/venv.log")"

check install install_into "$prefix" "${optional[@]}"
check find_package consume_moved
check hocket_alone consume_bare
check refusals refusals
check pkg_config use_pkg_config
check add_subdirectory consume add_subdirectory -DHOCKET_CONSUMER_WAY=add_subdirectory \
  "-DHOCKET_CONSUMER_SOURCE=$root" -DHOCKET_CONSUMER_COMPONENTS=range_v3
check fetch_content consume fetch_content -DHOCKET_CONSUMER_WAY=fetch_content "-DHOCKET_CONSUMER_SOURCE=$root"
check release make_release
check bill_of_materials bill_of_materials
check vcpkg_port use_vcpkg
check vcpkg use_real_vcpkg
check conan use_conan
check conan_checkout use_conan_checkout
check newest_cmake use_newest_cmake
check module import_module
check documented documented
check single_header single_header
if ((failed)); then
  echo "packaging: something failed"
  exit 1
fi
echo "packaging: every check is ok"
