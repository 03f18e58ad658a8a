# SPDX-License-Identifier: GPL-2.0-only
"""What a guest says on its channel, also when it is cut short."""

from pathlib import Path

from padlab.vm import channel

DATA = Path(__file__).parent.parent / "data"
TEXT = (DATA / "patched-three-nodes.guest.log").read_text()


def test_values_by_key() -> None:
    guest = channel.Guest(TEXT)
    assert (guest.value("online"), guest.number("cpus"), guest.number("online")) == ("0-3", 4, None)
    assert guest.value("nothing") is None and guest.values("nothing") == []
    assert (guest.done, guest.cut, guest.total_pages) == (0, "", 1016263)
    assert [managed for _, managed in guest.zones] == [3840, 312000, 512000, 188423]
    assert guest.zones[3] == (198369, 188423)


def test_broken_lines_are_no_figures() -> None:
    guest = channel.Guest("memtotal-kib many\nzone 0 DMA present\n\ndone\n")
    assert (guest.total_pages, guest.zones, guest.done) == (None, [], None)


def test_ktap_by_test_with_its_blanks() -> None:
    text = "running a\nktap a TAP version 13\nktap a   # Subtest: x\nktap a \nktap b 1..0\nrunning c\n"
    assert channel.Guest(text).ktap == {
        "a": ["TAP version 13", "  # Subtest: x", ""],
        "c": [],  # ran and printed nothing: to be missed
        "b": ["1..0"],
    }


def test_a_line_that_was_cut_is_no_value() -> None:
    assert channel.Guest("memtotal-kib 4065052\nmemtotal-kib 40").number("memtotal-kib") == 4065052
    assert channel.Guest("cpus 4\ndone 137\n").done == 137
