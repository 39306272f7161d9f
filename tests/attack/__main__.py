"""`make attack`: tries all that the campaign knows, a line each, and counts what held.

    python -m tests.attack [--area AREA ...] [--only WORD] [--quick] [--json]

Everything is tried on loopback and in temporary folders, and bounded in time. The exit code is 1 if something did not
hold. Some cases need root, to be another user of the machine; they say so."""

import argparse
import json
import sys
import time
from dataclasses import asdict

from tests.attack.campaign import AREAS, cases, run
from tests.attack.case import Outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--area", nargs="+", choices=AREAS, default=AREAS, help="areas to try; all by default"
    )
    parser.add_argument("--only", default="", help="only cases in whose kind or name this stands")
    parser.add_argument("--quick", action="store_true", help="only what `make test` runs, too")
    parser.add_argument("--json", action="store_true", help="write the outcomes as JSON lines")
    options = parser.parse_args()
    outcomes, begin = [], time.monotonic()
    for area in options.area:
        chosen = [c for c in cases(area) if options.only in str(c) and (c.quick or not options.quick)]
        for each in run(area, chosen) if chosen else ():
            outcomes.append(each)
            print(_row(each) if options.json else _line(each), flush=True)
    held = sum(each.held for each in outcomes)
    print(f"{len(outcomes)} tried, {held} held, {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return int(held < len(outcomes))


def _line(each: Outcome) -> str:
    mark = "held  " if each.held else "FAILED"
    return f"{mark} {each.seconds:5.1f} s  {each.case}: {ascii(each.said)[1:-1][:200]}"


def _row(each: Outcome) -> str:
    case = {name: value for name, value in asdict(each.case).items() if name != "attempt"}
    return json.dumps({**case, "said": each.said, "held": each.held, "took": round(each.seconds, 2)})


if __name__ == "__main__":
    sys.exit(main())
