#!/usr/bin/env python3
"""Writes src/hf/unicode_table.inc, src/hf/unicode_lower_table.inc, src/base/unicode_nfc_table.inc and
src/base/unicode_nfkd_table.inc by asking the peer (Hugging Face tokenizers, pinned in requirements.txt) about every code point.

The patterns and the normaliser of a tokenizer.json mean what the peer's engines mean by them, so its tables decide which code
points are letters, digits or white space and which compose, not those of a library that happens to be installed. The two
differ: the peer's regular expressions know Unicode 16, its normaliser Unicode 9.
usage: make_unicode_table.py src | make_unicode_table.py --check src
"""
import os
import sys
import unicodedata

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers
from tokenizers.pre_tokenizers import Digits, Punctuation, Split

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORIES = ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
              "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co"]
NFC, NFD = normalizers.NFC(), normalizers.NFD()
HEADER = "// Made by tools/peers/make_unicode_table.py from Hugging Face tokenizers %s. Do not edit.\n" % tokenizers.__version__
SCRIPTS = ["Han", "Hiragana", "Katakana", "Hangul"]


def kept_by(pre_tokenizer):
    found = set()
    for i in range(0, len(CODE_POINTS), 4096):
        for piece, _ in pre_tokenizer.pre_tokenize_str("".join(map(chr, CODE_POINTS[i:i + 4096]))):
            found.update(map(ord, piece))
    return found


def members(pattern):
    return kept_by(Split(Regex(pattern), "removed", invert=True))


def numeric():
    """char::is_numeric, which the Digits pre-tokenizer uses."""
    digits = Digits(individual_digits=False)
    others = set(CODE_POINTS)
    found = set()
    for c in CODE_POINTS:  # "a", the code point, "a": one piece unless it is numeric
        if len(digits.pre_tokenize_str("a" + chr(c) + "a")) != 1:
            found.add(c)
    return found & others


def removed_by(normalizer):
    return {c for c in CODE_POINTS if normalizer.normalize_str(chr(c)) == ""}


def word_of_added_tokens():
    """The word characters beside which an added token with single_word does not match."""
    tokenizer = Tokenizer(models.BPE(vocab={"X": 0}, merges=[]))
    tokenizer.add_tokens([AddedToken("QQ", single_word=True, normalized=False)])
    found = set()
    for c in CODE_POINTS:
        if 1 not in tokenizer.encode("QQ" + chr(c)).ids:
            found.add(c)
    return found


def ranges(points):
    out = []
    for c in sorted(points):
        if out and c == out[-1][1] + 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def wrapped(cells):
    lines, line = [], "   "
    for cell in cells:
        if len(line) + len(cell) > 116:
            lines.append(line)
            line = "   "
        line += " " + cell + ","
    return "\n".join(lines + [line])


def array(name, points):
    cells = ("{0x%x, 0x%x}" % tuple(r) for r in ranges(points))
    return "constexpr CodeRange %s[] = {\n%s\n};\n" % (name, wrapped(cells))


def combining_classes():
    """The canonical combining class of every code point, found from where the peer's normaliser sorts it among known marks."""
    marks = {}
    for c in CODE_POINTS:
        klass, overlay = unicodedata.combining(chr(c)), "\u0334"  # class 1, the lowest
        known = NFD.normalize_str("q" + chr(c) + overlay) == "q" + overlay + chr(c) or chr(c) == overlay
        if klass and klass not in marks and known:
            marks[klass] = chr(c)
    known = sorted(marks, reverse=True)
    text = "".join(marks[k] for k in known)
    out = {}
    for c in CODE_POINTS:
        if c == 0 or NFD.normalize_str(chr(c)) != chr(c):
            continue
        after = NFD.normalize_str("q" + text + chr(c) + "z")
        if after == "q" + text[::-1] + chr(c) + "z" and NFD.normalize_str("q" + chr(c) + text) == "q" + chr(c) + text[::-1]:
            continue  # a starter: it stays where it was
        before = NFD.normalize_str("q" + chr(c) + text + "z")
        same = [k for k in known if marks[k] + chr(c) in after and chr(c) + marks[k] in before] or [
            k for k in known if marks[k] == chr(c)]
        if len(same) != 1:
            sys.exit("no known mark sorts like U+%04X" % c)
        out[c] = same[0]
    return out


def nfc_tables():
    full = {c: NFD.normalize_str(chr(c)) for c in CODE_POINTS if not 0xAC00 <= c <= 0xD7A3}
    full = {c: d for c, d in full.items() if d != chr(c)}
    pairs = []
    for c, d in full.items():
        if NFC.normalize_str(d) != chr(c):
            continue  # excluded from composition, or a single code point
        first = NFC.normalize_str(d[:-1])
        if len(first) != 1 or NFC.normalize_str(first + d[-1]) != chr(c):
            sys.exit("U+%04X does not compose from a pair" % c)
        pairs.append((ord(first), ord(d[-1]), c))
    return full, sorted(pairs)


def generate_nfc():
    classes = combining_classes()
    full, pairs = nfc_tables()
    runs = []
    for c in sorted(classes):
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == classes[c]:
            runs[-1][1] = c
        else:
            runs.append([c, c, classes[c]])
    pool, entries = "", []
    for c in sorted(full):
        at = pool.find(full[c])
        if at < 0:
            at = len(pool)
            pool += full[c]
        entries.append((c, at, len(full[c])))
    return (HEADER + "\nconstexpr CombiningRange kCombining[] = {\n%s\n};\n\n" % wrapped("{0x%x, 0x%x, %d}" % tuple(r) for r in runs)
            + "constexpr char32_t kPool[] = {\n%s\n};\n\n" % wrapped("0x%x" % ord(c) for c in pool)
            + "constexpr Decomposition kDecompositions[] = {\n%s\n};\n\n" % wrapped("{0x%x, %d, %d}" % e for e in entries)
            + "constexpr Composition kCompositions[] = {\n%s\n};\n" % wrapped("{0x%x, 0x%x, 0x%x}" % p for p in pairs))


def generate_nfkd():
    """What NFKD makes of a code point, where it is not what NFD makes of it."""
    nfkd = normalizers.NFKD()
    full = {c: nfkd.normalize_str(chr(c)) for c in CODE_POINTS if not 0xAC00 <= c <= 0xD7A3}
    pool, entries = "", []
    for c in sorted(c for c in full if full[c] != NFD.normalize_str(chr(c))):
        at = pool.find(full[c])
        if at < 0:
            at = len(pool)
            pool += full[c]
        entries.append((c, at, len(full[c])))
    return (HEADER + "\nconstexpr char32_t kCompatPool[] = {\n%s\n};\n\n" % wrapped("0x%x" % ord(c) for c in pool)
            + "constexpr Decomposition kCompatDecompositions[] = {\n%s\n};\n" % wrapped("{0x%x, %d, %d}" % e for e in entries))


def generate_lower():
    lower = normalizers.Lowercase()
    rows = []
    for c in CODE_POINTS:
        small = lower.normalize_str(chr(c))
        if small == chr(c):
            continue
        if len(small) > 2:
            sys.exit("U+%04X has more than two lowercase code points" % c)
        rows.append("{0x%x, 0x%x, 0x%x}" % (c, ord(small[0]), ord(small[1]) if len(small) > 1 else 0))
    return HEADER + "\nconstexpr LowerCase kLower[] = {\n%s\n};\n" % wrapped(rows)


def generate():
    sets = {"k" + c: members(r"\p{%s}" % c) for c in CATEGORIES}
    for script in SCRIPTS:
        sets["k" + script] = members(r"\p{%s}" % script)
    sets["kSpace"] = members(r"\s")
    sets["kWord"] = members(r"\w")
    if members(r"\d") != sets["kNd"]:
        sys.exit("the peer's \\d is no longer \\p{Nd}: add a table for it")
    sets["kNumeric"] = numeric()
    sets["kAddedWord"] = word_of_added_tokens()
    sets["kPunctuation"] = set(CODE_POINTS) - kept_by(Punctuation("removed"))
    sets["kCombiningMark"] = removed_by(normalizers.StripAccents())
    names = [(c, "k" + c) for c in CATEGORIES + SCRIPTS]
    names += [("space", "kSpace"), ("word", "kWord"), ("numeric", "kNumeric"), ("added_word", "kAddedWord"), ("punctuation", "kPunctuation"),
              ("combining_mark", "kCombiningMark")]
    out = [HEADER + "\n"] + [array(name, points) + "\n" for name, points in sets.items()]
    out.append("constexpr NamedRanges kNamed[] = {\n%s\n};\n" % wrapped('{"%s", %s}' % pair for pair in names))
    return "".join(out)


def main():
    check = sys.argv[1:2] == ["--check"]
    if len(sys.argv) != (3 if check else 2):
        sys.exit(__doc__)
    for name, make in (("hf/unicode_table.inc", generate), ("hf/unicode_lower_table.inc", generate_lower),
                       ("base/unicode_nfc_table.inc", generate_nfc), ("base/unicode_nfkd_table.inc", generate_nfkd)):
        path = os.path.join(sys.argv[-1], name)
        text = make()
        if not check:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        elif open(path, encoding="utf-8").read() != text:
            sys.exit(path + " differs from what the peer says now")
    if check:
        print("pass: the tables are the peer's")


main()
