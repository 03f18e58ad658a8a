# SPDX-License-Identifier: GPL-2.0-only
"""What a guest says on its channel, also when it is cut short."""

from padlab.vm import channel


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
    assert (
        channel.Guest("memtotal-kib 1\nmemtotal-kib 4065052\nmemtotal-kib 40").number("memtotal-kib")
        == 4065052
    )
    assert channel.Guest("cpus 4\ndone 137\n").done == 137
