# SPDX-License-Identifier: Apache-2.0
"""The API server's audit log, from a moment on."""

import json
import os
import time


class AuditLog:
    def __init__(self, file):
        self._file = file
        self._offset = 0

    def begin(self):
        self._offset = os.path.getsize(self._file)

    def events(self):
        """By audit id; the last stage of each request."""
        events = {}
        with open(self._file, "rb") as stream:
            stream.seek(self._offset)
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                event = json.loads(line)
                events[event["auditID"]] = event
        return events

    def wait_for(self, ids, seconds=5):
        """The events, when those with the ids are among them."""
        deadline = time.monotonic() + seconds
        while True:
            events = self.events()
            missing = [i for i in ids if i not in events]
            if not missing or time.monotonic() > deadline:
                return events
            time.sleep(0.02)
