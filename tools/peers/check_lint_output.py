#!/usr/bin/env python3
"""check_lint_output.py CALKIT ROOT: other people's readers judge what calbin-lint writes.

SARIF against the published SARIF 2.1.0 schema (jsonschema), JUnit through junitparser, waivers and manifests against our own
JSON schemas, where jsonschema and `calkit manifest check` must agree."""
import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema
import junitparser
import schemastore_file
import yaml

CALKIT, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
DATA = ROOT / "tests/data"
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


def calkit(folder, *arguments, environment=None):
    return subprocess.run([CALKIT, *arguments, "--evidence", "none"], cwd=folder, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], **(environment or {})}, timeout=60)


# What is done to calbin.json of the good package, and the exit code.
MUTATIONS = {
    "good": (lambda text: text, 0),
    "unit": (lambda text: text.replace('"24 KiB"', '"16777216 MB"'), 1),
    "prefill": (lambda text: text.replace('"type": "prefill"', '"type": "llm_decode"'), 1),
    "address": (lambda text: text.replace('"base": "0x', '"base": "0xf'), 1),
    "no regions": (lambda text: text.replace('"regions"', '"x-regions"'), 3),
    "not json": (lambda text: text[:-30], 3),
    "name": (lambda text: text.replace("mini-decode", "mini<&]]>\\u0001\\n::error::x"), 1),
    "empty": (lambda text: "", 3),
}
FORMATS = ["text", "json", "sarif", "junit", "github"]


def check_formats():
    sarif_schema = schemastore_file.load("https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json")
    sarif = jsonschema.Draft7Validator(sarif_schema, format_checker=jsonschema.FormatChecker())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, (change, wanted) in MUTATIONS.items():
            for place in ["p", "elsewhere/p"]:
                package = folder / name / place
                subprocess.run(["mkdir", "-p", package.parent], check=True)
                subprocess.run(["cp", "-r", DATA / "packages/mini.calbin", package], check=True)
                description = package / "calbin.json"
                description.write_text(change(description.read_text()))
                outputs = [f"--output={f}=out.{f}" for f in FORMATS]
                zone = {} if place == "p" else {"TZ": "Asia/Tokyo", "LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8"}
                codes = set()
                for form in FORMATS:
                    done = calkit(package.parent, "calbin-lint", "p", "--service", DATA / "packages/mini.yaml", "--format", form,
                                  *outputs, environment=zone)
                    codes.add(done.returncode)
                    check(done.stdout == (package.parent / f"out.{form}").read_text(), f"{name}: {form}: file and stdout differ")
                check(codes == {wanted}, f"{name}: exit codes {codes}, wanted {wanted}")
            for form in FORMATS:
                first, second = [(folder / name / place).parent / f"out.{form}" for place in ["p", "elsewhere/p"]]
                check(first.read_bytes() == second.read_bytes(), f"{name}: {form} differs with folder, zone or locale")
                check(str(folder) not in first.read_text(), f"{name}: {form} holds a path of the machine")
            document = json.loads((folder / name / "out.sarif").read_text())
            for error in sarif.iter_errors(document):
                failures.append(f"{name}: sarif: {'/'.join(map(str, error.path))}: {error.message[:200]}")
            report = json.loads((folder / name / "out.json").read_text())
            results = document["runs"][0]["results"]
            check(len(results) == len(report["findings"]), f"{name}: sarif has {len(results)} results")
            check(document["runs"][0]["invocations"][0]["executionSuccessful"] == (report["verdict"] != "incomplete"),
                  f"{name}: executionSuccessful")
            suites = junitparser.JUnitXml.fromfile(str(folder / name / "out.junit"))
            cases = [case for suite in suites for case in suite]
            check(len(cases) == suites.tests >= len(report["rules"]), f"{name}: junit has {len(cases)} cases, says {suites.tests}")
            kinds = [type(result) for case in cases for result in case.result]
            for kind, count in [(junitparser.Failure, suites.failures), (junitparser.Error, suites.errors),
                                (junitparser.Skipped, suites.skipped)]:
                check(kinds.count(kind) == count, f"{name}: junit says {count} {kind.__name__}, holds {kinds.count(kind)}")
            if wanted == 1:
                check(suites.failures > 0, f"{name}: junit without a failure")
            if wanted == 3:
                check(suites.errors > 0, f"{name}: junit without an error")


def mutations_of(value, path=()):
    """The document with each key taken out, renamed, or its value replaced by others of a wrong kind."""
    if isinstance(value, dict):
        for key in value:
            yield path + (key,), "remove"
            yield path + (key,), "rename"
            for other in (None, True, -1, "", "x", 2**63, 1.5, [], {}):
                yield path + (key,), other
            yield from mutations_of(value[key], path + (key,))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from mutations_of(item, path + (i,))


def apply(document, path, change):
    out = copy.deepcopy(document)
    at = out
    for step in path[:-1]:
        at = at[step]
    if change == "remove":
        del at[path[-1]]
    elif change == "rename":
        at[path[-1] + "z"] = at.pop(path[-1])
    else:
        at[path[-1]] = change
    return out


WAIVERS = {"schema": "calkit.waivers/1",
           "waivers": [{"rule": "CB0503", "fingerprint": "sha256:" + "a" * 64, "reason": "r", "owner": "o",
                        "expires": "2027-01-31", "added_by_tool_version": "0.1.0"}]}


def check_manifests():
    good = {
        "service-manifest": yaml.safe_load((ROOT / "manifests/tiny-dense.yaml").read_text()),
        "project": yaml.safe_load((ROOT / "manifests/examples/tiny-dense.project.yaml").read_text()),
        "device-profile": yaml.safe_load((ROOT / "manifests/devices/calculet-assumed.yaml").read_text()),
        "thresholds": yaml.safe_load((ROOT / "manifests/thresholds/runner.yaml").read_text()),
        "support": yaml.safe_load((ROOT / "manifests/support/emulated.yaml").read_text()),
        "waivers": WAIVERS,
    }
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, document in good.items():
            validator = jsonschema.Draft7Validator(json.loads((ROOT / f"manifests/schemas/{kind}.schema.json").read_text()))
            cases = [document] + [apply(document, *m) for m in mutations_of(document) if m[0] != ("schema",)]
            names = []
            for i, case in enumerate(cases):
                name = f"{kind}-{i}.json"
                # An exponent without a fraction is text to some YAML readers.
                pathlib.Path(folder, name).write_text(re.sub(r"(\d)e(-?\d)", r"\1.0e\2", json.dumps(case)))
                names.append(name)
            done = calkit(folder, "manifest", "check", "--json", *names)
            files = json.loads(done.stdout)["files"]
            total += len(files)
            for case, file in zip(cases, files):
                errors = list(validator.iter_errors(case))
                check(bool(errors) <= (file["verdict"] != "pass"), f"{file['file']}: jsonschema refuses it, calkit does not: "
                      + "; ".join(e.message for e in errors)[:200])
                told = [p for p in file["problems"] if p["message"] != "refused" and p["pointer"] != ""]
                if not errors and told and all(p["message"] in KINDS for p in told):
                    failures.append(f"{file['file']}: calkit's schema check refuses what jsonschema accepts: {told}")
            check(files[0]["verdict"] == "pass", f"{kind}: the good one: {files[0]}")
    print(f"{total} manifests")


KINDS = {"wrong type", "unknown key", "required key missing", "wrong value", "unknown word", "out of range", "wrong form", "empty",
         "wrong length"}

check_formats()
check_manifests()
for failure in failures[:40]:
    print(failure)
sys.exit(1 if failures else 0)
