#!/usr/bin/env python3
"""A completions service that answers as a peer did.

fake_openai.py GOLDEN PORT_FILE [SECONDS]
    Serves on a free port of the loopback, written to PORT_FILE, for SECONDS (50).
    POST /v1/completions with token ids gives the text of GOLDEN's greedy run of those ids; ids that it does not know give 400.
    A path before /v1 changes that: /texts-only refuses ids, /broken sends half an answer, /error says 500, /slow never ends,
    /garbage sends no JSON, /empty answers known ids with an empty text, /long never stops sending, /key wants the bearer token s3cret and no header X-More, /status-404 says 404,
    /red has a model name with an escape.
"""
import http.server
import json
import pathlib
import sys
import threading
import time

golden = pathlib.Path(sys.argv[1])
port_file = pathlib.Path(sys.argv[2])
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 50


def lines(name):
    return [json.loads(line) for line in (golden / name).read_text().splitlines()]


texts = {line["id"]: line["text"] for line in lines("greedy_fp32.jsonl")}
answers = {tuple(line["run_ids"]): texts[line["id"]] for line in lines("token_ids.jsonl") if line["id"] in texts}


class Handler(http.server.BaseHTTPRequestHandler):
    server_version = "fake-openai/1"
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, message):
        self.reply(status, json.dumps({"error": {"message": message}}).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        mode = self.path.removesuffix("/v1/completions").strip("/")
        if mode == "error":
            return self.refuse(500, "out of order")
        if mode.startswith("status-"):
            return self.refuse(int(mode.removeprefix("status-")), "not now")
        if mode == "key" and (self.headers["Authorization"] != "Bearer s3cret" or self.headers["X-More"] is not None):
            return self.refuse(401, "wrong key")
        if mode == "garbage":
            return self.reply(200, b"{\"choices\": [")
        if mode == "slow":
            return time.sleep(seconds)
        if mode == "long":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                return None
        if mode == "broken":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"{")
            self.close_connection = True
            return None
        prompt = body["prompt"]
        if mode == "texts-only" and not isinstance(prompt, str):
            return self.refuse(400, "prompt must be a string")
        if isinstance(prompt, str) or tuple(prompt) not in answers:
            return self.refuse(400, "unknown prompt")
        answer = {"object": "text_completion", "model": "a\x1b[31mred" if mode == "red" else "peer", "choices": [
            {"index": 0, "text": "" if mode == "empty" else answers[tuple(prompt)], "finish_reason": "length"}],
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": body["max_tokens"]}}
        return self.reply(200, json.dumps(answer).encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
partial = port_file.with_suffix(".partial")
partial.write_text(str(server.server_address[1]))
partial.rename(port_file)
time.sleep(seconds)
