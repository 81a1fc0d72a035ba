# SPDX-License-Identifier: Apache-2.0
"""The sidecar under test as a process. Both sides run from the same path, so that it is equal wherever it shows."""

import os
import signal
import subprocess
import time


class Sidecar:
    def __init__(self, name, program, folder, environment):
        self.name = name
        self.path = f"{folder}/bin/{name}"
        self._folder = folder
        self._environment = environment
        self._process = None
        self.lives = []  # [{"arguments", "stdout", "stderr", "end"}], one for each start
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        os.symlink(program, self.path)

    def start(self, arguments, environment=None):
        number = len(self.lives)
        life = {"arguments": arguments, "stdout": f"{self._folder}/stdout.{number}", "stderr": f"{self._folder}/stderr.{number}",
                "end": "running", "begin": time.time()}
        self.lives.append(life)
        with open(life["stdout"], "wb") as out, open(life["stderr"], "wb") as err:
            self._process = subprocess.Popen([self.path, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                             cwd=self._folder, env={**self._environment, **(environment or {})},
                                             preexec_fn=_usual_signals)

    @property
    def running(self):
        if self._process and self._process.poll() is not None:
            self._note_end()
        return self._process is not None

    def signal(self, number):
        if self.running:
            self._process.send_signal(number)

    def wait(self, seconds):
        """True when it has ended by itself within the time."""
        if self._process:
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                return False
            self._note_end()
        return True

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait(10)

    def _note_end(self):
        code = self._process.returncode
        self.lives[-1]["end"] = f"exit {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        self.lives[-1]["ended"] = time.time()
        self._process = None

    @property
    def pid(self):
        return self._process.pid if self._process else None


def _usual_signals():
    """Whoever runs in the background of a shell ignores SIGINT, and so would what it starts."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
