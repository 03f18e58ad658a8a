# SPDX-License-Identifier: GPL-2.0-only
"""What the build reads out of configs and out of make's output, and the running of programs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from padlab import build, paths, run
from padlab.errors import LabError

MAKE_OUTPUT = """\
make: Entering directory '/x'
  CC      mm/page_alloc.o
../mm/page_alloc.c: In function 'early':
../mm/page_alloc.c:3:5: warning: unused variable 'x' [-Wunused-variable]
    3 | int x;
      |     ^
  AS      arch/x86/entry/entry_64.o
  CC [M]  lib/test_padata_mt.o
In file included from ../mm/deferred_init.c:12:
../mm/deferred_init.c: In function 'deferred_init_memmap':
../mm/deferred_init.c:40:2: error: implicit declaration of function 'oops'
   40 |         oops();
      |         ^~~~
make[4]: *** [../scripts/Makefile.build:229: mm/deferred_init.o] Error 1
make[3]: *** Waiting for unfinished jobs....
  CC      kernel/fork.o
make: *** [Makefile:224: __sub-make] Error 2
""".splitlines()


class TestCompilerErrors:
    def test_shows_the_compilers_lines_and_no_others(self) -> None:
        assert build.compiler_errors(MAKE_OUTPUT) == MAKE_OUTPUT[8:13]

    def test_modpost_and_linker(self) -> None:
        modpost = 'ERROR: modpost: "f" [lib/test_padata_mt.ko] undefined!'
        linker = (
            "ld: mm/deferred_init.o: in function `f':\n(.text+0x1): undefined reference to `g'".splitlines()
        )
        lines = ["  MODPOST Module.symvers", modpost, "make[2]: *** Error 1", "  LD      vmlinux", *linker]
        assert build.compiler_errors(lines) == [modpost, *linker]

    def test_is_bounded(self) -> None:
        assert len(build.compiler_errors([f"f.c:{n}: error: e" for n in range(500)])) == 40


class TestConfig:
    CONFIG = 'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_S=""\nCONFIG_N=512\n# A comment\n'

    def test_parse(self) -> None:
        assert build.parse_config(self.CONFIG) == {
            "CONFIG_A": "y",
            "CONFIG_B": "n",
            "CONFIG_S": '""',
            "CONFIG_N": "512",
        }

    def test_all_came_out(self) -> None:
        assert (
            build.lost_options(["CONFIG_A=y\n# CONFIG_B is not set\n# CONFIG_GONE is not set\n"], self.CONFIG)
            == []
        )

    def test_a_later_fragment_wins(self) -> None:
        assert build.lost_options(["CONFIG_N=8\n", "CONFIG_N=512\n"], self.CONFIG) == []

    def test_lost(self) -> None:
        lost = build.lost_options(["CONFIG_B=y\nCONFIG_M=m\n# CONFIG_A is not set\n"], self.CONFIG)
        assert lost == [
            "CONFIG_B: y asked for, n came out",
            "CONFIG_M: m asked for, not available came out",
            "CONFIG_A: n asked for, y came out",
        ]

    def test_debug_is_perf_and_more(self) -> None:
        perf = build.parse_config((paths.CONFIGS / "perf.config").read_text())
        debug = build.parse_config((paths.CONFIGS / "debug.config").read_text())
        assert not set(perf) & set(debug)
        assert not any(name.startswith("CONFIG_DEBUG_") for name in perf if name != "CONFIG_DEBUG_FS")

    def test_unknown_config(self) -> None:
        with pytest.raises(LabError, match="perf, debug"):
            build.ensure_build("stock", "fast")


def test_modules_are_read_from_the_order_file(tmp_path: Path) -> None:
    (tmp_path / "modules.order").write_text("kernel/padata_mt_kunit.o\nlib/kunit/kunit.o\nlib/a-b.o\n")
    built = build.Build("patched", "perf", tmp_path, tmp_path, tmp_path / "bzImage", "1", "6.12.1")
    assert build.modules(built)["a_b"] == tmp_path / "lib/a-b.ko"
    assert set(build.modules(built)) == {"padata_mt_kunit", "kunit", "a_b"}


class TestRun:
    def test_failure_has_the_last_lines_and_the_log(self, tmp_path: Path) -> None:
        log = tmp_path / "logs/x.log"
        with pytest.raises(LabError) as error:
            run.run(["sh", "-c", "seq 1 100; echo why >&2; exit 3"], what="counting", log=log)
        assert error.value.why == "sh ended with status 3"
        assert error.value.detail[-2:] == ["100", "why"]
        assert len(error.value.detail) == run.TAIL_LINES
        assert "\n50\n" in log.read_text()

    def test_time_limit_ends_the_whole_group(self, tmp_path: Path) -> None:
        start = time.monotonic()
        script = f"sleep 60 & echo $! > {tmp_path}/pid; wait"
        with pytest.raises(LabError, match="took longer than 0.5 s"):
            run.run(["sh", "-c", script], what="sleeping", timeout=0.5)
        assert time.monotonic() - start < 10
        assert _gone(int((tmp_path / "pid").read_text()))

    def test_interrupt_ends_the_whole_group(self, tmp_path: Path) -> None:
        def interrupt(_line: str) -> None:
            raise KeyboardInterrupt

        script = f"sleep 60 & echo $! > {tmp_path}/pid; echo go; wait"
        with pytest.raises(KeyboardInterrupt):
            run.stream(["sh", "-c", script], interrupt, what="sleeping")
        assert _gone(int((tmp_path / "pid").read_text()))

    def test_missing_program(self) -> None:
        with pytest.raises(LabError, match="no-such-program is not installed"):
            run.run(["no-such-program"], what="nothing")

    def test_accepted_status(self) -> None:
        assert run.run(["sh", "-c", "echo differs; exit 1"], what="diff", ok=(0, 1)) == "differs\n"


def _gone(pid: int) -> bool:
    """No process, or a zombie that nobody has collected yet."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.1)
    return False
