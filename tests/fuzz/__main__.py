"""``python -m tests.fuzz [--seconds N] [target ...]``: fuzz for so long each; what is found is kept as a test."""

import argparse
import sys

from tests.fuzz import corpus
from tests.fuzz.engine import Campaign
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each target (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="another one tries other inputs")
    parser.add_argument("--keep", action="store_true", help="add inputs that reach something new to the kept corpus")
    options = parser.parse_args()
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}; choose from {', '.join(TARGETS)}")
    found = 0
    for name in options.targets or TARGETS:
        begin = [*seeds(name), *corpus.load("corpus", name), *corpus.load("findings", name)]
        campaign = Campaign(name, TARGETS[name], begin, seed=options.seed)
        campaign.run(seconds=options.seconds)
        for finding in campaign.findings:
            print(finding, flush=True)
        if campaign.findings:
            known = corpus.load("findings", name)
            new = [finding.data for finding in campaign.findings if finding.data not in known]
            print(f"  kept in {corpus.save('findings', name, known + new)}; the tests run it from now on")
        if options.keep:
            known = corpus.load("corpus", name)
            corpus.save("corpus", name, known + [data for data in campaign.kept if data not in (*begin, *known)])
        print(
            f"{name}: {campaign.executions:,} inputs, {campaign.coverage.seen} lines reached, "
            f"{len(campaign.corpus)} in the corpus, {len(campaign.findings)} findings",
            flush=True,
        )
        found += len(campaign.findings)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
