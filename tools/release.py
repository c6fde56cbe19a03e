#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes what a release consists of, from one commit: the same bytes from every clone and at every time.

    tools/release.py [--commit C] [--out FOLDER]    FOLDER (default out/release) is emptied first
    tools/release.py --set-version 0.2.0            writes the next version into version.hpp and every file that repeats it

    hocket-V.tar.gz          the source archive, as git and gzip make it (a forge's archive of the tag vV has the same bytes)
    hocket-V.hpp             everything in hocket::hocket as one header
    hocket-V.spdx.json       the bill of materials, SPDX 2.3: every file of the archive with its licence and checksums
    recipes/, ports/         what to submit to Conan's and vcpkg's registries, with the archive's checksum
    SHA256SUMS               of the three files above
"""
import argparse
import datetime
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lint  # noqa: E402  (the list of files that repeat the version)

ROOT = pathlib.Path(__file__).resolve().parent.parent
LICENCE = "Apache-2.0 WITH LLVM-exception"
# What a consumer adds by asking for a component; hocket::hocket needs nothing.
OPTIONAL = {"Boost": ("BSL-1.0", "1.74"), "nlohmann-json": ("MIT", "3.10"), "range-v3": ("BSL-1.0", "0.12")}


def git(*words):
    # What a user or a machine may have configured must not reach the archive.
    settings = ("-c", "core.autocrlf=false", "-c", "core.attributesFile=/dev/null", "-c", "tar.umask=0002")
    done = subprocess.run(["git", "-C", str(ROOT), *settings, *words], capture_output=True)
    if done.returncode:
        sys.exit(f"release: git {words[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def version_in(folder):
    return lint.version_parts((folder / "include/hocket/version.hpp").read_text(encoding="utf-8"))


def archive(commit, folder):
    """The archive's bytes, and the commit's files in `folder`."""
    plain = git("archive", "--format=tar", commit)
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        tar.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(folder)
    version = ".".join(version_in(folder))
    plain = git("archive", "--format=tar", f"--prefix=hocket-{version}/", commit)
    return version, subprocess.run(["gzip", "-cn"], input=plain, capture_output=True, check=True).stdout


def licence_of(name, data):
    """What the file's SPDX line says; without one, ours, except for data from elsewhere, of which READMEs tell."""
    found = re.search(rb"SPDX-License-Identifier: ([\w.+-]+(?: WITH [\w.-]+)?)", b"\n".join(data.split(b"\n")[:2]))
    if found:
        return found[1].decode()
    return "NOASSERTION" if re.match(r"(tests|examples)/data/", name) else LICENCE


def spdx_file(name, data):
    sha1 = hashlib.sha1(data).hexdigest()
    licence = licence_of(name, data)
    return {
        "SPDXID": "SPDXRef-File-" + hashlib.sha1(name.encode()).hexdigest()[:16],
        "fileName": f"./{name}",
        "checksums": [{"algorithm": "SHA1", "checksumValue": sha1},
                      {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
        "licenseConcluded": licence,
        "licenseInfoInFiles": [licence],
        "copyrightText": "NOASSERTION",
    }


def spdx_dependency(name):
    licence, least = OPTIONAL[name]
    return {
        "SPDXID": f"SPDXRef-Package-{name}",
        "name": name,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "comment": f"Not part of hocket: headers of a consumer that asks for a component which needs them ({least} or newer)",
    }


def bill_of_materials(version, home, made, created, folder):
    """SPDX 2.3 as JSON. `made` is the archive's bytes, `created` the time of the commit."""
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    files = [spdx_file(name, (folder / name).read_bytes()) for name in names]
    sums = sorted(f["checksums"][0]["checksumValue"] for f in files)
    digest = hashlib.sha256(made).hexdigest()
    package = {
        "SPDXID": "SPDXRef-Package-hocket",
        "name": "hocket",
        "versionInfo": version,
        "packageFileName": f"hocket-{version}.tar.gz",
        "downloadLocation": f"{home}/archive/refs/tags/v{version}.tar.gz",
        "homepage": home,
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest},
                      {"algorithm": "SHA512", "checksumValue": hashlib.sha512(made).hexdigest()}],
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()},
        "licenseConcluded": LICENCE,
        "licenseDeclared": LICENCE,
        "licenseInfoFromFiles": sorted({f["licenseConcluded"] for f in files}),
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "SOURCE",
    }
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", package["SPDXID"])]
    relations += [(package["SPDXID"], "CONTAINS", f["SPDXID"]) for f in files]
    relations += [(f"SPDXRef-Package-{name}", "OPTIONAL_DEPENDENCY_OF", package["SPDXID"]) for name in OPTIONAL]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"hocket-{version}",
        "documentNamespace": f"{home}/spdx/hocket-{version}-{digest[:16]}",
        "creationInfo": {"created": created, "creators": ["Tool: tools/release.py"]},
        "packages": [package, *map(spdx_dependency, OPTIONAL)],
        "files": files,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations],
    }


def write_conan(out, version, home, made, folder):
    shutil.copytree(folder / "recipes", out / "recipes")
    (out / "recipes/hocket/all/conandata.yml").write_text(
        f'sources:\n  "{version}":\n    url: "{home}/archive/refs/tags/v{version}.tar.gz"\n'
        f'    sha256: "{hashlib.sha256(made).hexdigest()}"\n')


def write_vcpkg(out, made, folder):
    shutil.copytree(folder / "ports", out / "ports")
    port = out / "ports/hocket/portfile.cmake"
    text, count = re.subn(r"(?m)^( *SHA512) 0$", rf"\1 {hashlib.sha512(made).hexdigest()}", port.read_text())
    if count != 1:
        sys.exit("release: ports/hocket/portfile.cmake has no line `SHA512 0` to fill in")
    port.write_text(text)


def release(commit, out):
    if git("status", "--porcelain").strip():
        print("release: changes that are not committed are left out", file=sys.stderr)
    created = datetime.datetime.fromtimestamp(int(git("log", "-1", "--format=%ct", commit)), datetime.timezone.utc)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        version, made = archive(commit, folder)
        home = re.search(r'HOMEPAGE_URL "([^"]+)"', (folder / "CMakeLists.txt").read_text())[1]
        names = [f"hocket-{version}{end}" for end in (".tar.gz", ".hpp", ".spdx.json")]
        (out / names[0]).write_bytes(made)
        subprocess.run([sys.executable, str(folder / "tools/amalgamate.py"), "--out", str(out / names[1])],
                       check=True, stdout=subprocess.DEVNULL)
        bill = bill_of_materials(version, home, made, created.strftime("%Y-%m-%dT%H:%M:%SZ"), folder)
        (out / names[2]).write_text(json.dumps(bill, indent=1) + "\n")
        write_conan(out, version, home, made, folder)
        write_vcpkg(out, made, folder)
    (out / "SHA256SUMS").write_text(
        "".join(f"{hashlib.sha256((out / n).read_bytes()).hexdigest()}  {n}\n" for n in names))
    for path in sorted(p for p in out.rglob("*") if p.is_file()):
        print(path.relative_to(out).as_posix(), path.stat().st_size, "bytes")


def set_version(version):
    """Writes `version` into every file that repeats it; the changelog's new section is written by a person."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f'release: "{version}" is no version of the form 0.2.0')
    header = ROOT / "include/hocket/version.hpp"
    text = header.read_text()
    for part, value in zip(("MAJOR", "MINOR", "PATCH"), version.split(".")):
        text = re.sub(rf"(#define HOCKET_VERSION_{part}) \d+", rf"\1 {value}", text)
    header.write_text(text)
    for name, (pattern, parts) in lint.VERSION_COPIES.items():
        wanted = ".".join(version.split(".")[:parts])
        path = ROOT / name
        old = path.read_text(encoding="utf-8")
        new = re.sub(pattern, lambda m: m[0].replace(m[1], wanted), old, flags=re.M)
        if new != old and name != "CHANGELOG.md":
            path.write_text(new, encoding="utf-8")
            print(name)
    print(f"CHANGELOG.md needs a section ## [{version}]")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/release")
    parser.add_argument("--set-version", metavar="V")
    options = parser.parse_args()
    if options.set_version:
        set_version(options.set_version)
    else:
        release(options.commit, options.out.resolve())


if __name__ == "__main__":
    main()
