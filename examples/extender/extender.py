"""An extender: nodes in maintenance take no pods, and cooler ones are preferred. Run it with: python extender.py"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAINTENANCE = {"n2"}
TEMPERATURES = {"n1": 41.0, "n3": 24.5}


def predicate(question):
    """May this node take this pod? An empty status is a yes; code 2 is a no that may end when other pods leave."""
    if question["node"]["Name"] in MAINTENANCE:
        return {"status": "in maintenance until tonight", "code": 3}
    return {"status": "", "code": 0}


def prioritize(question):
    """More is better; the scores are added to those of other plugins, which give 0 to 100 times their weight."""
    names = [node["Name"] for node in question["nodes"]]
    return {"nodeScore": {name: 100 - TEMPERATURES.get(name, 100) for name in names}, "errorMessage": ""}


ANSWERS = {"/predicate": predicate, "/prioritize": prioritize}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open: a cycle may have many questions

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = ANSWERS.get(self.path)
        body = json.dumps(answer(question) if answer else {}).encode()
        self.send_response(200 if answer else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Not a line for each question."""


if __name__ == "__main__":
    ThreadingHTTPServer(("", 8080), Handler).serve_forever()
