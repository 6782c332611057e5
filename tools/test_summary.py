"""test_summary.py JUNIT...: prints "N passed, N failed" of these CTest runs; a test that did not run counts as failed."""
import re
import sys
import xml.etree.ElementTree as tree

cases = [case for path in sys.argv[1:] for case in tree.parse(path).getroot().iter("testcase")]
passed = failed = 0
for case in cases:
    output = case.findtext("system-out") or ""
    ok = case.get("status") == "run" and case.find("failure") is None
    # A CTest entry that runs many tests says how many in its own last lines.
    inner_passed = re.search(r"\[  PASSED  \] (\d+) test", output) or re.search(r"(\d+) cases passed, \d+ failed", output)
    inner_failed = re.search(r"\[  FAILED  \] (\d+) test", output) or re.search(r"\d+ cases passed, (\d+) failed", output)
    passed += int(inner_passed.group(1)) if inner_passed else int(ok)
    failed += max(int(inner_failed.group(1)) if inner_failed else 0, int(not ok))
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
