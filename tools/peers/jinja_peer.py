"""Jinja2 as Transformers sets it up for chat templates (its own code is not needed), and calkit beside it."""
import copy
import json
import subprocess
import time

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    """{% generation %} marks what an assistant wrote; the text stays."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


class Namespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        for name in attributes:
            Namespace.check(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name, value):
        Namespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError("underscore in a namespace")


def environment(clock=None):
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["namespace"] = Namespace
    if clock is not None:
        env.globals["strftime_now"] = lambda format: time.strftime(format, time.gmtime(clock))
    return env


def peer(env, template, context):
    """("text", what it renders) or ("error", why not). Each render has its own copy: |indent changes a list it is given."""
    try:
        return "text", env.from_string(template).render(**copy.deepcopy(context))
    except Exception as error:  # pylint: disable=broad-except
        return "error", "%s: %s" % (type(error).__name__, error)


def ours(binary, pairs, clock=None):
    """The same for a list of (template, context), in one run of calkit_render."""
    lines = "".join(json.dumps({"template": t, "context": c}) + "\n" for t, c in pairs)
    command = [binary, "-"] + ([str(clock)] if clock is not None else [])
    done = subprocess.run(command, input=lines.encode(), stdout=subprocess.PIPE, check=False)
    out = []
    for line in done.stdout.decode().split("\n"):
        if line:
            answer = json.loads(line)
            out.append(("text", answer["text"]) if "text" in answer else ("error", answer["error"]))
    if done.returncode != 0 or len(out) != len(pairs):
        raise SystemExit("calkit_render: exit code %d after %d of %d answers" % (done.returncode, len(out), len(pairs)))
    return out


def differences(binary, pairs, clock=None):
    """How often both render, both refuse, or differ: (texts, errors, list of descriptions)."""
    env = environment(clock)
    texts = errors = 0
    faults = []
    for (template, context), got in zip(pairs, ours(binary, pairs, clock)):
        want = peer(env, template, context)
        if want[0] == got[0] == "error":
            errors += 1
        elif want == got:
            texts += 1
        else:
            faults.append("%r with %s\n  jinja2 %s %r\n  calkit %s %r" % (
                template[:300], json.dumps(context)[:200], want[0], want[1][:300], got[0], got[1][:300]))
    return texts, errors, faults
