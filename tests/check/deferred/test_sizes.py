# SPDX-License-Identifier: GPL-2.0-only
"""Settings of two boots compared."""

from padlab.check.deferred import sizes


def test_settings_are_compared_by_name_and_number() -> None:
    theirs = {"vm/a": "1000 2", "vm/b": "word", "vm/c": "1"}
    assert sizes.differences(theirs, dict(theirs), 0) == []
    assert sizes.differences(theirs, theirs | {"vm/a": "1001 2"}, 0) == ["vm/a: 1001 2, not 1000 2"]
    assert sizes.differences(theirs, theirs | {"vm/a": "1001 2"}, 0.001) == []
    assert sizes.differences(theirs, theirs | {"vm/b": "other"}, 0.5) == ["vm/b: other, not word"]
    assert sizes.differences(theirs, theirs | {"vm/a": "1000"}, 0.5) == ["vm/a: 1000, not 1000 2"]
    assert sizes.differences(theirs, {"vm/a": "1000 2", "vm/b": "word"}, 0) == ["vm/c is missing"]


def test_what_is_sized_by_free_pages_may_differ_a_little_but_not_much() -> None:
    theirs = {"fs/file-max": "1640039"}
    assert sizes.differences(theirs, {"fs/file-max": "1640023"}, 0) == []
    assert sizes.differences(theirs, {"fs/file-max": "1200000"}, 0)
