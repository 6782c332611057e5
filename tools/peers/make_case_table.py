#!/usr/bin/env python3
"""Writes src/jinja/unicode_table.inc: what Python's str methods say about every code point. Template texts are what Python makes
of them, so its tables decide. Made with CPython 3.11 (Unicode 14).
usage: make_case_table.py OUT
"""
import sys

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CLASSES = ["alpha", "decimal", "digit", "numeric", "lower", "upper", "title_only", "printable"]


def member(name, ch):
    if name == "title_only":
        return ch.istitle() and not ch.isupper()
    return getattr(ch, "is" + name)()


def ranges(points):
    out = []
    for c in points:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def wrap(words):
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > 118:
            lines.append(line)
            line = ""
        line += word
    return "\n".join(lines + [line])


def mappings(name, method):
    single, special = [], []
    for c in POINTS:
        to = method(chr(c))
        if to == chr(c):
            continue
        if len(to) == 1:
            delta = ord(to) - c
            last = single[-1] if single else None
            # runs of every code point or of every second one with the same distance
            if last and last[3] == delta and c - last[1] in (1, 2) and last[2] in (0, c - last[1]):
                last[2] = c - last[1]
                last[1] = c
            else:
                single.append([c, c, 0, delta])
        else:
            special.append((c, [ord(x) for x in to] + [0] * (3 - len(to))))
    text = "constexpr CaseRun k%s[] = {\n%s\n};\n" % (
        name, wrap("{0x%x,0x%x,%d,%d}," % (a, b, max(step, 1), d) for a, b, step, d in single))
    text += "constexpr SpecialCase k%sSpecial[] = {\n%s\n};\n" % (
        name, wrap("{0x%x,{0x%x,0x%x,0x%x}}," % (c, *to) for c, to in special))
    return text


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = "// Made by tools/peers/make_case_table.py from CPython %d.%d. Do not edit.\n" % sys.version_info[:2]
    for name in CLASSES:
        found = ranges(c for c in POINTS if member(name, chr(c)))
        title = "".join(part.capitalize() for part in name.split("_"))
        out += "constexpr PointRange k%s[] = {\n%s\n};\n" % (title, wrap("{0x%x,0x%x}," % tuple(r) for r in found))
    # The lower case of a text with a final sigma is its own rule, so single characters are asked.
    out += mappings("ToLower", str.lower) + mappings("ToUpper", str.upper) + mappings("ToTitle", str.title)
    ignorable = ranges(c for c in POINTS if case_ignorable(chr(c)))
    out += "constexpr PointRange kCaseIgnorable[] = {\n%s\n};\n" % wrap("{0x%x,0x%x}," % tuple(r) for r in ignorable)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(out)


def case_ignorable(ch):
    """A character between a letter and a final sigma that the rule looks through."""
    return ("A" + ch + "\u03a3").lower().endswith("\u03c2") and not ("A " + ch + "\u03a3").lower().endswith("\u03c2")


main()
