#!/usr/bin/env python3
"""Compares calkit's templates with Jinja2, live: the templates of tests/data/jinja, the chat fixtures of tests/data/chat, and
seeded random expressions and statements.
usage: check_jinja.py CALKIT_RENDER SOURCE_DIR [RANDOM_TEMPLATES [SEED]]
"""
import glob
import json
import os
import random
import sys
import warnings

import jinja2

import jinja_peer

CLOCK = 1741478400  # 2025-03-09
CONTEXT = {
    "n": 3, "l": [3, 1, 2], "s": "hello wörld", "d": {"a": 1, "b": 2}, "m": {"keys": 1, "items": 2}, "v": "value", "nothing": None,
    "t": " a \n b \n\n c", "f": 2.5,
    "users": [{"name": "Al", "age": 30, "active": True, "address": {"city": "Rome"}},
              {"name": "Bo", "age": 41, "active": False, "address": {"city": "Oslo"}},
              {"name": "Cy", "age": 25, "active": True, "address": {"city": "Rome"}}],
    "tree": [{"n": "a", "c": [{"n": "b", "c": []}, {"n": "c", "c": [{"n": "d", "c": []}]}]}, {"n": "e", "c": []}],
    "messages": [{"role": "system", "content": " be brief "}, {"role": "user", "content": "2+2?"},
                 {"role": "assistant", "content": [{"type": "text", "text": "4"}]}],
}
FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "first", "last", "list", "reverse", "string", "int", "float", "abs",
           "round", "sort", "unique|list", "join", "join('-')", "sum", "min", "max", "default('d')", "default('d', true)", "tojson",
           "tojson(indent=2)", "e", "safe", "replace('a', 'b')", "indent(2)", "batch(2)|list", "slice(2)|list", "map('string')|list",
           "select|list", "reject('none')|list", "dictsort", "items|list", "wordcount", "center(12)", "count", "map('upper')|join",
           "select('string')|list", "groupby(0)", "sort(reverse=true)", "map(attribute=0)|list", "truncate(5, true, '.', 0)"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "sequence", "iterable", "odd",
         "even", "true", "false", "lower", "upper", "callable", "eq 1", "in [1, 'a']", "gt 1", "divisibleby 2", "escaped"]
METHODS = ["upper()", "strip()", "split()", "split('a')", "replace('l', 'L', 1)", "title()", "items()|list", "get('a')", "keys()|list",
           "startswith('h')", "endswith('d')", "find('l')", "count('a')", "rsplit('l', 1)", "partition('l')", "zfill(7)", "values()|list",
           "isdigit()", "lstrip('h')", "splitlines()", "index(1)", "join(['x', 'y'])", "capitalize()", "swapcase()", "rjust(8, '.')"]
ATOMS = ["0", "1", "2", "-1", "7", "2.5", "-0.5", "1e3", "true", "false", "none", "'a'", "''", "'héllo'", "' x y '", "'a,b'", "'<&>'", "[]",
         "[1, 2, 3]", "['b', 'A']", "(1, 'x')", "{}", "{'k': 1}", "n", "l", "s", "d", "f", "v", "users", "messages", "nothing", "missing",
         "range(4)", "[[1, 2], [3, 4]]", "'12'", "'3.7'"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in"]


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def expr(self, depth):
        rng = self.rng
        if depth <= 0:
            return rng.choice(ATOMS)
        kind = rng.randrange(10)
        a = self.expr(depth - 1)
        if kind < 3:
            return "(%s %s %s)" % (a, rng.choice(BINARY), self.expr(depth - 1))
        if kind < 5:
            return "(%s)|%s" % (a, rng.choice(FILTERS))
        if kind == 5:
            return "(%s is %s%s)" % (a, rng.choice(["", "", "not "]), rng.choice(TESTS))
        if kind == 6:
            return "(%s).%s" % (a, rng.choice(METHODS))
        if kind == 7:
            return "(%s)[%s]" % (a, rng.choice(["0", "-1", "1:", ":2", "::-1", "::2", "-2:", "1:-1", "'a'", "'name'", "n", "5:1:-2"]))
        if kind == 8:
            return "(%s if %s else %s)" % (a, self.expr(depth - 2), self.expr(depth - 2))
        return rng.choice(["[%s, %s]", "(%s, %s)", "{'a': %s, 'b': %s}"]) % (a, self.expr(depth - 2))

    def block(self, depth):
        rng = self.rng
        name = rng.choice("xyzns")
        gap = rng.choice(["", "\n", "  ", "\n  ", " \n"])
        if depth <= 0 or rng.random() < 0.3:
            return gap + "{{%s %s }}" % (rng.choice(["", "", "-"]), rng.choice([name, self.expr(1), self.expr(0)])) + gap
        inner = "".join(self.block(depth - 1) for _ in range(rng.randint(1, 3)))
        open_tag, close_tag = rng.choice([("{%", "%}"), ("{%-", "%}"), ("{%", "-%}"), ("{%+", "%}"), ("{%", "+%}")])
        wrap = lambda text: gap + open_tag + " " + text + " " + close_tag  # noqa: E731
        kind = rng.randrange(9)
        if kind == 0:
            return wrap("if " + self.expr(1)) + inner + wrap("else") + self.block(depth - 1) + wrap("endif")
        if kind in (1, 2):
            head = rng.choice(["for %s in %s", "for %s in %s if %s is not none", "for %s in %s if loop is undefined"])
            head = head % ((name, self.expr(1), name) if head.count("%s") == 3 else (name, self.expr(1)))
            tail = rng.choice(["", "{{ loop.index }}{{ loop.last }}", "{{ loop.length }}", "{% if loop.index > 1 %}{% break %}{% endif %}",
                               "{{ loop.nextitem }}"])
            return wrap(head) + inner + tail + wrap("endfor")
        if kind in (3, 4):
            return wrap("set %s = %s" % (name, self.expr(1))) + "{{ %s }}" % name
        if kind == 5:
            return wrap("set " + name) + inner + wrap("endset") + "{{ %s }}" % name
        if kind == 6:
            return wrap("macro m(%s, q=%s)" % (name, self.expr(1))) + inner + wrap("endmacro") + "{{ m(%s) }}" % self.expr(1)
        if kind == 7:
            return wrap("with %s = %s" % (name, self.expr(1))) + inner + wrap("endwith")
        return wrap(rng.choice(["filter upper", "generation"])) + inner + wrap("END")

    def template(self):
        if self.rng.random() < 0.7:
            return "{{ %s }}" % self.expr(self.rng.choice([1, 1, 1, 2, 2, 3]))
        text = "".join(self.block(3) for _ in range(self.rng.randint(1, 3)))
        # END belongs to the innermost of the two that are open
        out, stack = [], []
        for piece in text.replace("{%", "\0{%").split("\0"):
            for word in ("filter upper", "generation"):
                if piece.startswith("{%") and word in piece.split("%}")[0] and "end" not in piece.split("%}")[0]:
                    stack.append("endfilter" if word.startswith("filter") else "endgeneration")
            if " END " in piece.split("%}")[0]:
                piece = piece.replace(" END ", " %s " % stack.pop(), 1)
            out.append(piece)
        return "".join(out)


def told_apart(fault):
    """What calkit refuses by design, and says so; Jinja's answer there is an address, or Python's own big integers."""
    last = fault.split("\n")[-1]
    return "calkit error" in last and ("not supported" in last or "address in memory" in last or "(limit of" in last
                                       or "whether Python shares them" in last
                                       or "a slice of a '" in last)  # Jinja folds it to undefined if all is constant


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    warnings.simplefilter("ignore", SyntaxWarning)
    binary, root = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1500
    maker = Maker(int(sys.argv[4]) if len(sys.argv) > 4 else 20261130)
    with open(os.path.join(root, "tests/data/jinja/templates.jsonl"), encoding="utf-8", newline="") as file:
        own = [json.loads(line) for line in file.read().split("\n") if line]
    chats = []
    for path in sorted(glob.glob(os.path.join(root, "tests/data/chat/*/chat_template.jinja"))):
        with open(path, encoding="utf-8", newline="") as file:
            template = file.read()
        with open(os.path.join(os.path.dirname(path), "chat.jsonl"), encoding="utf-8", newline="") as file:
            for line in map(json.loads, filter(None, file.read().split("\n"))):
                chats.append((template, {"bos_token": "<s>", "eos_token": "</s>", **line["kwargs"], "messages": line["messages"],
                                         "tools": line["tools"], "add_generation_prompt": line["add_generation_prompt"]}))
    failed = 0
    for label, pairs in (("own templates", [(t, CONTEXT) for t in own]), ("chat templates", chats),
                         ("random templates", [(maker.template(), CONTEXT) for _ in range(count)])):
        texts, errors, faults = jinja_peer.differences(binary, pairs, CLOCK)
        refused = [fault for fault in faults if told_apart(fault)]
        faults = [fault for fault in faults if not told_apart(fault)]
        for fault in faults[:15]:
            print(fault)
        print("%s: %d equal texts, %d refused by both, %d refused by calkit alone (not supported), %d differ" % (
            label, texts, errors, len(refused), len(faults)))
        failed += len(faults)
    if failed:
        sys.exit("fail: %d differences to jinja2 %s" % (failed, jinja2.__version__))
    print("pass: no difference to jinja2 %s" % jinja2.__version__)


main()
