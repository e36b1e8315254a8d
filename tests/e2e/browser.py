"""A headless Chromium, driven over its debugging pipe: no package is needed."""
import json
import os
import select
import shutil
import signal
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"]
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}


class Browser:
    """One page. Messages are JSON ended by NUL, to descriptor 3 of the browser and from its descriptor 4."""

    def __init__(self, address, wait):
        self.wait, self.number, self.read = wait, 0, b""
        self.profile = tempfile.mkdtemp(prefix="ibid-browser-")
        (theirs_in, self.to), (self.from_, theirs_out) = os.pipe(), os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, theirs_in, 3), (os.POSIX_SPAWN_DUP2, theirs_out, 4),
                   (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
        self.process = os.posix_spawn(PROGRAM, [PROGRAM, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"],
                                      os.environ, file_actions=actions)
        os.close(theirs_in)
        os.close(theirs_out)
        self.session = None
        page = next(target for target in self.send("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        self.send("Page.navigate", url=address)
        self.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.to)
        os.close(self.from_)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _next_message(self):
        until = time.monotonic() + self.wait
        while b"\0" not in self.read:
            assert select.select([self.from_], [], [], max(0, until - time.monotonic()))[0], "the browser does not answer"
            part = os.read(self.from_, 1 << 20)
            assert part, "the browser has ended"
            self.read += part
        message, self.read = self.read.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **parameters):
        """Calls a method of the debugging protocol; gives its result."""
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while (message := self._next_message()).get("id") != self.number:
            pass
        assert "error" not in message, (method, message)
        return message["result"]

    def value(self, expression):
        """What a JavaScript expression of the page gives."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, (expression, result)
        return result["result"].get("value")

    def wait_for(self, expression):
        """Waits until an expression is true."""
        until = time.monotonic() + self.wait
        while not self.value(f"Boolean({expression})"):
            assert time.monotonic() < until, f"waited in vain for {expression}\n{self.value('document.body.innerText')}"
            time.sleep(0.05)

    def press(self, key, times=1, modifiers=0):
        """Types a key of KEYS, as a person would. Modifier 8: Shift."""
        text = {"Enter": "\r", " ": " "}.get(key)
        for _ in range(times):
            for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
                more = {"text": text} if text and kind == "keyDown" else {}
                self.send("Input.dispatchKeyEvent", type=kind, key=key, code={" ": "Space"}.get(key, key),
                          windowsVirtualKeyCode=KEYS[key], modifiers=modifiers, **more)

    def choose_file(self, selector, path):
        """Gives a file input a file, as its dialog would."""
        root = self.send("DOM.getDocument")["root"]["nodeId"]
        node = self.send("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.send("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def press_until(self, key, expression, most=60):
        """Types a key until an expression is true."""
        for _ in range(most):
            if self.value(expression):
                return
            self.press(key)
        raise AssertionError(f"{key} {most} times did not bring {expression}")
