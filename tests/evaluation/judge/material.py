"""Code and items that the tests of judging share."""

from lamr_evaluation.judge import Item

CODE = '''import time

RETRIES = 7
PAUSE = 25
LARGEST = 4096
FIRST_PORT = 8081
GREETING = "hello"


class Client:
    """Asks a server."""

    def __init__(self, address, timeout=30, depth=12):
        self.address = address
        self.timeout = timeout
        self.depth = depth

    def fetch(self, path):
        """Give what the server answers for a path, after as many attempts as it takes.

        It never gives up.
        """
        for attempt in range(RETRIES):
            answer = self.send(path)
            if answer is not None:
                return answer
            time.sleep(PAUSE)
        return None

    def send(self, path, size=512, level=3):
        """Open a connection and write a line of words to whoever is there."""
        line = f"{GREETING} {path}"
        if len(line) > LARGEST:
            raise ValueError(line)
        return connect(self.address, line)


def farewell(wire):
    """Tell those who listen that nothing more comes, and let go of what was held."""
    wire.write("bye")
    wire.flush()
    wire.close()


def connect(address, line):
    """Reach the other side of the wire through the port that is known for it."""
    port = FIRST_PORT
    wire = open_wire(address, port)
    wire.write(line)
    return wire.read()


def open_wire(address, port):
    """Make something that can be read and written from where the other side lives."""
    wire = Wire(address)
    wire.port = port
    wire.open()
    return wire
'''
CHOICE_ITEM = Item(
    "choice",
    "What is the value of PAUSE?",
    CODE,
    "25",
    ("7", "25", "4096", "8081"),
    gold=(4,),
    path="client.py",
    project="wire",
)
COMPLETION_ITEM = Item(
    "completion",
    "def close_wire(wire):\n    wire.flush()",
    CODE,
    "    time.sleep(PAUSE)",
    gold=(1, 4),
    path="client.py",
    project="wire",
)
OPEN_ITEM = Item(
    "open", "How long is the pause?", CODE, "25 seconds", facts=("25",), path="client.py", project="wire"
)
PLACE_ITEM = Item(
    "place", "Wait longer between two attempts", CODE, gold=(4,), path="client.py", project="wire"
)
ITEMS = [CHOICE_ITEM, COMPLETION_ITEM, OPEN_ITEM, PLACE_ITEM]


def reader_of_shown_code(body: dict) -> str:
    """Answer as a reader that knows what it is shown: the value of PAUSE if its line is there."""
    text = body["messages"][1]["content"]
    knows = "PAUSE = 25" in text
    if "letter of the right choice" in text:
        return "B" if knows else "A"
    if "of code, and nothing else" in text:
        return "```python\ntime.sleep(PAUSE)\n```" if knows else "pass"
    if "Copy them" in text:
        return "PAUSE = 25" if knows else "RETRIES = 7"
    return "It waits 25 seconds." if knows else "I can't tell."
