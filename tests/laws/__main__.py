"""``python -m tests.laws [--examples N] [--seed SEED]``: many examples with progress, or one example again."""

import argparse
import sys
import time

from tests.laws.runner import Violation, example, names

MOST_SHOWN = 10


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.laws", description=__doc__)
    parser.add_argument("--examples", type=int, default=100_000, help="how many to try (default 100000)")
    parser.add_argument("--seed", help="repeat one example, as in the report of a violation: chain:17")
    parser.add_argument("--first", type=int, default=0, help="the number of the first example")
    options = parser.parse_args()
    if options.seed:
        name = options.seed.split(":")[0]
        violation = example(options.seed, None if name == "chain" else name)
        print(violation or "every law holds")
        return int(violation is not None)
    return fuzz(options.examples, options.first)


def fuzz(examples: int, first: int) -> int:
    """Two of five examples are chains, the others go round the operators."""
    operators = names()
    begun = time.monotonic()
    violations: list[Violation] = []
    for number in range(first, first + examples):
        name = None if number % 5 < 2 else operators[number % len(operators)]
        violation = example(f"{name or 'chain'}:{number}", name)
        if violation is not None:
            violations.append(violation)
            if len(violations) <= MOST_SHOWN:
                print(violation, flush=True)
        done = number - first + 1
        if done % 5000 == 0 or done == examples:
            rate = done / (time.monotonic() - begun)
            print(f"{done:,} of {examples:,} examples, {len(violations)} violations, {rate:.0f} a second", flush=True)
    return int(bool(violations))


if __name__ == "__main__":
    sys.exit(main())
