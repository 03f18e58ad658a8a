# SPDX-License-Identifier: GPL-2.0-only
"""How long a guest takes that has to accept its memory: python -m padlab.measure.accept --help

The kernels have checks/faults/, where to accept 2 MiB takes a given time in which a CPU does nothing.
The guest's clock counts instructions, of all of its CPUs, which take turns: so waits of several CPUs pass
at the same time, whatever the host has, and what they compute adds up.
"""

import argparse
from dataclasses import dataclass
from itertools import product

from msgspec import structs

from padlab.kernel.kconfig import UNACCEPTED
from padlab.vm import boot as boots
from padlab.vm import machine

BASE = "epyc-7551-kvm-small"
KERNELS = {"stock": "mirrored", "ours": "faulty"}
WAYS = (("stock", "lazy"), ("stock", "eager"), ("ours", "lazy"), ("ours", "eager"), ("ours", "background"))
LIMIT_S = 3600


@dataclass(frozen=True)
class Figures:
    """In seconds of the guest's clock, but ``longest`` and ``most``: see accept.sh."""

    init: float  # from its start to init
    accepted: float | None  # to the end of the last unit, if there is one
    program: float | None
    longest: int
    most: int


def figures(result: boots.BootResult) -> Figures:
    def us(key: str) -> int:
        return result.guest.number(key) or 0

    init, left = us("boot-now-us"), us("end-left")
    return Figures(
        init / 1e6,
        None if left else us("end-last-us") / 1e6,
        (us("touched-now-us") - init) / 1e6 if us("touched-now-us") else None,
        us("end-longest"),
        us("end-most"),
    )


def measure(
    kernel: str, mode: str, cpus: int, mib: int, args: tuple[str, ...], wait_s: int
) -> tuple[Figures, boots.BootResult]:
    base = machine.load(BASE)
    target = structs.replace(
        base, nodes=(machine.Node(mib, cpus),), threads_per_core=1, name=f"accept-{cpus}"
    )
    ready = boots.prepare(KERNELS[kernel], UNACCEPTED, "accept")
    wait = (f"padlab_wait={wait_s}",) if mode == "background" else ()
    append = ("nogbpages", f"accept_memory={mode}", *wait, *args)
    result = boots.boot(
        target, ready, f"{mode}, {cpus} CPUs", append=append, exact=True, all_cpus=True, time_limit_s=LIMIT_S
    )
    return figures(result), result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cpus", default="1,2,4,8")
    parser.add_argument("--mib", type=int, default=16384)
    parser.add_argument("--us", type=int, default=2500, help="microseconds to accept 2 MiB")
    parser.add_argument("--touch", type=int, default=0, help="MiB that a program uses after boot")
    parser.add_argument("--wait", type=int, default=60, help="seconds until all is accepted")
    parser.add_argument("--ways", default=",".join("-".join(way) for way in WAYS))
    parser.add_argument("--append", default="", help="kernel arguments")
    options = parser.parse_args()
    args = [f"fake_unaccepted=1G,{options.us * 1000}", *options.append.split()]
    if options.touch:
        args.append(f"padlab_touch={options.touch}")
    ways = [way for way in WAYS if "-".join(way) in options.ways.split(",")]
    for cpus, (kernel, mode) in product(map(int, options.cpus.split(",")), ways):
        got, result = measure(kernel, mode, cpus, options.mib, tuple(args), options.wait)
        told = [f"{cpus} CPUs", kernel, mode, f"init {got.init:.2f}"]
        told += [f"accepted {got.accepted:.2f}"] if got.accepted is not None else []
        told += [f"program {got.program:.2f}"] if got.program is not None else []
        told += [f"longest {got.longest}", f"most {got.most}", *result.dmesg.trouble, str(result.folder.name)]
        print("  ".join(told), flush=True)


if __name__ == "__main__":
    main()
