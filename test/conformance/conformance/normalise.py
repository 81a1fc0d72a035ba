# SPDX-License-Identifier: Apache-2.0
"""What differs between two runs of the same program, and therefore is not compared. This is the whole list:

1. uids: of an object of the scenario -> <uid KIND/NAME>, any other -> <uuid>
2. times in RFC 3339 -> <time>; a Lease's times and an Event's belong to these
3. members called resourceVersion -> <version>
4. the name of an Event: after the dot -> <number>
5. the identity of csi-provisioner, milliseconds and random number -> <identity>
6. in the query of a watch or list: timeout, timeoutSeconds, resourceVersion, continue -> <n>
7. the host's name -> <host>; the ports of the run -> <port>
8. the value of the gRPC library's own header user-agent -> its family (grpc)
9. the words of a metric's HELP; what is left is the mark of stability before them
10. JSON or Kubernetes' protobuf as the encoding (Accept, Content-Type); the kind of a patch is compared
11. of a flag error the list of flags, whose words are our own (their names and defaults are compared by test/integration/sidecar/help_test.cc)
12. the program's own version
13. of an answer with metrics its text (which has a channel of its own), its length and how it is framed; empty lines of stderr
14. the head of a log record except its severity; Go's goroutine dumps after a panic; durations in log records
"""

import math
import re

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_IDENTITY = re.compile(r"\b1[6-9]\d{11}-\d{1,4}-")
_QUERY = re.compile(r"\b(timeout|timeoutSeconds|resourceVersion|continue)=[^&]*")
_VERSION = re.compile(r'("Version" version=|^/\S+ )("?(?:v\d\S*|unknown)"?)$')
_EVENT_NAME = re.compile(r"\.[0-9a-f]{14,16}\b")
KLOG = re.compile(r"^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [^ \]]+:\d+\] ")


def content_type(value):
    """Of a patch its kind; else whether there is one."""
    return value if "patch" in value else "an object" if value else ""


class Normaliser:
    def __init__(self, raw):
        # Names of volumes hold the uids of their claims.
        self._uids = {uid: _UUID.sub(lambda m: f"<uid {raw['uids'][m[0]]}>" if m[0] in raw["uids"] else "<uuid>", name)
                      for uid, name in raw["uids"].items()}
        self._host = raw["host"]
        self._ports = raw["ports"]

    def text(self, value):
        value = _UUID.sub(lambda m: f"<uid {self._uids[m[0]]}>" if m[0] in self._uids else "<uuid>", value)
        value = _TIME.sub("<time>", value)
        value = _IDENTITY.sub("<identity>-", value)
        value = _EVENT_NAME.sub(".<number>", value)
        for port in self._ports:
            value = value.replace(f":{port}", ":<port>")
        return value.replace(self._host, "<host>")

    def tree(self, value):
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.tree(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): "<version>" if key == "resourceVersion" and item else self.tree(item)
                    for key, item in value.items()}
        return value

    def query(self, value):
        return _QUERY.sub(lambda m: f"{m[1]}=<n>", value)

    def output_lines(self, text):
        """Of stdout or stderr of a start that failed."""
        lines = []
        for line in text.splitlines():
            line = _VERSION.sub(r"\1<version>", self.text(KLOG.sub(r"\1] ", line)))
            if line.startswith("goroutine "):
                break
            if line:
                lines.append(line)
            if line.startswith("Usage of "):
                break
        return lines


def deadline_class(milliseconds):
    """The time a call had left when it arrived, rounded up: to 0.1 s below a second, else to whole seconds. gRPC's libraries send it with
    three digits, some of them rounded up: the fiftieth part of it does not count."""
    if milliseconds is None:
        return "none"
    left = max(milliseconds, 0) * 0.98
    return f"{math.ceil(left / 100) / 10} s" if left <= 900 else f"{math.ceil(left / 1000)} s"
