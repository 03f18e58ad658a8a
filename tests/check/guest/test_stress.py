# SPDX-License-Identifier: GPL-2.0-only
"""What stress-ng's exit statuses say of two kernels."""

from padlab.check.guest import stress
from padlab.check.others import outside
from padlab.vm import channel, initramfs

GOOD = {str(nr): 0 for nr in range(stress.STRESSORS)}


def test_statuses_by_stressor() -> None:
    guest = channel.Guest("running a\nktap a text\nstatus a 0\nrunning b\nstatus b 2\ndone 0\n")
    assert outside.statuses(guest) == {"a": 0, "b": 2}


def test_all_have_to_run_and_to_pass() -> None:
    assert stress.problems(GOOD, GOOD) == []
    assert stress.problems(GOOD, GOOD | {"1": 2}) == ["1: patched: failed (status 2), and passes on stock"]
    assert stress.problems(GOOD | {"1": 3}, GOOD | {"1": 3}) == ["1: stock: no resources (status 3)"]
    some = dict(list(GOOD.items())[:-1])
    assert stress.problems(GOOD, some) == [
        f"patched: {stress.STRESSORS - 1} of {stress.STRESSORS} stressors ran"
    ]


def test_the_role_has_as_many_stressors() -> None:
    script = (initramfs.GUEST / "stress.sh").read_text()
    assert sum(line.startswith("stress ") for line in script.splitlines()) == stress.STRESSORS
    assert script.count("|| stress ") == 1
