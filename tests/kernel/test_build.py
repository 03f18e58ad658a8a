# SPDX-License-Identifier: GPL-2.0-only
"""What the build reads out of configs and out of make's output."""

import os
import subprocess
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import arch as archs
from padlab.kernel import build, kconfig, state
from padlab.kernel.arch import ALL, Arch
from padlab.kernel.kconfig import PERF, Config
from tests.conftest import set_base, write

MAKE_OUTPUT = """\
make: Entering directory '/x'
  CC      mm/page_alloc.o
../mm/page_alloc.c: In function 'early':
../mm/page_alloc.c:3:5: warning: unused variable 'x' [-Wunused-variable]
    3 | int x;
      |     ^
  AS      arch/x86/entry/entry_64.o
  CC [M]  kernel/test_padata_mt.o
In file included from ../mm/memmap_bulk.c:12:
../mm/memmap_bulk.c: In function 'memmap_init_range':
../mm/memmap_bulk.c:40:2: error: implicit declaration of function 'oops'
   40 |         oops();
      |         ^~~~
make[4]: *** [../scripts/Makefile.build:229: mm/memmap_bulk.o] Error 1
make[3]: *** Waiting for unfinished jobs....
  CC      kernel/fork.o
make: *** [Makefile:224: __sub-make] Error 2
""".splitlines()


class TestCompilerErrors:
    def test_shows_the_compilers_lines_and_no_others(self) -> None:
        assert build.compiler_errors(MAKE_OUTPUT) == MAKE_OUTPUT[8:13]

    def test_modpost_and_linker(self) -> None:
        modpost = 'ERROR: modpost: "f" [kernel/test_padata_mt.ko] undefined!'
        linker = ["ld: mm/memmap_bulk.o: in function `f':", "(.text+0x1): undefined reference to `g'"]
        lines = ["  MODPOST Module.symvers", modpost, "make[2]: *** Error 1", "  LD      vmlinux", *linker]
        assert build.compiler_errors(lines) == [modpost, *linker]

    @pytest.mark.parametrize(
        "line",
        [
            "/tmp/cc.s: Fatal error: can't write 12 bytes to section .text of a.o: 'No space left on device'",
            "ld: final link failed: No space left on device",
            "dpkg-deb: error: failed to write (No space left on device)",
        ],
    )
    def test_no_room(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str) -> None:
        """Is no fault of the source, which the user is not told to mend."""
        say = ["sh", "-c", 'echo "  CC      a.o"; echo "$1"; echo "  CC      b.o"; exit 2', "make", line]
        monkeypatch.setattr(build, "make_command", lambda *_args: say)
        with pytest.raises(LabError) as error:
            build.make(tmp_path, tmp_path, archs.X86_64, [], "building", "no-room.log", None)
        assert error.value.why == "no room on disk"
        assert error.value.todo.startswith("free some space")
        assert error.value.detail == [line]


@pytest.fixture
def cached(installed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """The environment of compilations, with an empty cache."""
    monkeypatch.setattr(paths, "CCACHE", tmp_path / "cache")
    return {**os.environ, **build.environment()}


def test_the_cache_knows_what_was_compiled_in_another_language_and_folder(
    cached: dict[str, str], tmp_path: Path
) -> None:
    cached.pop("LANG", None)
    for language in ({"LANG": "C.UTF-8"}, {"LANG": "de_DE.UTF-8"}, {}):
        source = tmp_path / str(language) / "a.c"
        write(source, "int x;\n")
        command = ["ccache", "gcc", "-g", "-MD", "-c", "a.c"]
        subprocess.run(command, cwd=source.parent, env={**cached, **language}, check=True)
    said = subprocess.run(["ccache", "--print-stats"], env=cached, check=True, capture_output=True, text=True)
    assert "direct_cache_hit\t2\n" in said.stdout


def test_what_a_source_includes_as_binary_is_never_that_of_an_earlier_build(
    cached: dict[str, str], tmp_path: Path
) -> None:
    """As in a bzImage.  With ccache alone, the second object has the first one's data (4.7 to 4.11)."""
    (tmp_path / "a.S").write_text('.incbin "kernel"\n')
    for kernel in (b"kernel 1", b"kernel 2"):
        (tmp_path / "kernel").write_bytes(kernel)
        command = [archs.COMPILE, "gcc", "-MD", "-c", "a.S"]
        subprocess.run(command, cwd=tmp_path, env=cached, check=True)
    assert kernel in (tmp_path / "a.o").read_bytes()


CONFIG = 'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_S=""\nCONFIG_N=512\n# A comment\n'


def test_options_that_did_not_come_out() -> None:
    asked = "CONFIG_A=y\n# CONFIG_B is not set\n# CONFIG_GONE is not set\nCONFIG_N=8\n"
    assert kconfig.lost_options([asked, "CONFIG_N=512\n"], CONFIG) == []  # a later fragment wins
    lost = kconfig.lost_options(["CONFIG_B=y\nCONFIG_M=m\n# CONFIG_A is not set\n"], CONFIG)
    assert lost == [
        "CONFIG_B: y asked for, n came out",
        "CONFIG_M: m asked for, not available came out",
        "CONFIG_A: n asked for, y came out",
    ]


def test_each_config_has_a_name_and_files_of_its_own() -> None:
    configs = [value for value in vars(kconfig).values() if isinstance(value, Config)]
    assert len({config.name for config in configs}) == len(configs) > 10
    files = [tuple(config.files(series=True)) for config in configs]
    assert len(set(files)) == len(files)
    assert all(file.exists() for each in files for file in each)


@pytest.mark.parametrize("fragment", [*(arch.fragment for arch in ALL.values()), "debug.config"])
def test_what_is_added_undoes_nothing_of_perf(fragment: str) -> None:
    perf, added = (
        kconfig.parse_config((paths.CONFIGS / name).read_text()) for name in ("perf.config", fragment)
    )
    both = {"CONFIG_KUNIT"} if fragment == "debug.config" else set()  # as a part of the kernel
    assert added and set(perf) & set(added) == both
    debugging = {name for name, value in perf.items() if name.startswith("CONFIG_DEBUG_") and value != "n"}
    assert debugging <= {"CONFIG_DEBUG_FS"}


def test_modules_are_read_from_the_order_file(tmp_path: Path) -> None:
    (tmp_path / "modules.order").write_text("kernel/padata_mt_kunit.o\nlib/kunit/kunit.o\nlib/a-b.o\n")
    built = build.Build("patched", PERF, tmp_path, tmp_path, tmp_path / "bzImage", "1", "6.12.1")
    assert build.modules(built)["a_b"] == tmp_path / "lib/a-b.ko"
    assert set(build.modules(built)) == {"padata_mt_kunit", "kunit", "a_b"}


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A kernel was built, with make and its configuring replaced by a count of what comes after."""
    made: list[str] = []
    top = tmp_path / "trees/stock"
    set_base(monkeypatch, build=tmp_path)
    monkeypatch.setattr(paths, "CONFIGS", tmp_path / "configs")
    monkeypatch.setattr(build.packages, "ensure", lambda *groups: None)
    monkeypatch.setattr(build.tree, "ensure_tree", lambda kernel: top)
    monkeypatch.setattr(build.tree, "content_key", lambda kernel: "content")
    monkeypatch.setattr(Arch, "identity", property(lambda arch: f"{arch.compiler} version 12"))
    for name in ("perf.config", "x86.config", "arm64.config"):
        write(tmp_path / "configs" / name, "CONFIG_SMP=y\n")
    top.mkdir(parents=True)
    state.write_state(top, state.State("6.12.1-1"))

    def make(_top: Path, obj: Path, *_args: object) -> None:
        made.append("made")
        for name in ("arch/x86/boot/bzImage", "arch/arm64/boot/Image", "include/config/kernel.release"):
            write(obj / name, "6.12.1\n")

    monkeypatch.setattr(build, "_configure", lambda *_args: made.append("configured"))
    monkeypatch.setattr(build, "make", make)
    built = build.ensure_build("stock")
    assert (built.release, built.source_version) == ("6.12.1", "6.12.1-1")
    assert made == ["configured", "made"]
    made.clear()
    return made


@pytest.mark.parametrize("what", ["", "content", "compiler", "perf.config", "x86.config", "image"])
def test_a_kernel_is_built_when_something_changed(
    made: list[str], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if what == "content":
        monkeypatch.setattr(build.tree, "content_key", lambda kernel: "edited")
    elif what == "compiler":
        monkeypatch.setattr(Arch, "identity", property(lambda arch: f"{arch.compiler} version 13"))
    elif what == "image":
        (paths.base().trees / "stock/obj-perf/arch/x86/boot/bzImage").unlink()
    elif what:
        (paths.CONFIGS / what).write_text("CONFIG_SMP=n\n")
    build.ensure_build("stock")
    assert made == (["configured", "made"] if what else [])


def test_a_kernel_is_built_again_when_it_was_interrupted(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(build.tree, "content_key", lambda kernel: "edited")
        patch.setattr(build, "make", interrupt)
        build.ensure_build("stock")
    made.clear()
    build.ensure_build("stock")
    assert made == ["configured", "made"]


def test_each_architecture_has_its_compiler_and_image(made: list[str]) -> None:
    built = build.ensure_build("stock", kconfig.ARM64)
    assert made == ["configured", "made"]
    assert built.image == paths.base().trees / "stock/obj-arm64/arch/arm64/boot/Image"
    gcc = f"CC={archs.COMPILE} aarch64-linux-gnu-gcc"
    assert {"ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-", gcc} < set(archs.ARM64.make_variables())
    native = archs.X86_64.make_variables()
    assert f"CC={archs.COMPILE} gcc" in native and not any("ARCH=" in word for word in native)


@pytest.mark.parametrize("arch", ALL.values(), ids=ALL)
def test_make_finds_no_tool_that_a_kernel_is_not_made_with(
    installed: None, arch: Arch, tmp_path: Path
) -> None:
    (tmp_path / "Makefile").write_text("RUSTC = rustc\nPAHOLE = pahole\nall:\n\t@echo [$(RUSTC)$(PAHOLE)]\n")
    command = build.make_command(tmp_path, tmp_path, arch, ["--silent", "all"])
    assert "[]\n" in subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("tool", ["RUSTC", "PAHOLE"])
def test_a_configuration_with_the_version_of_one_is_refused(tool: str) -> None:
    asked = [path.read_text() for path in kconfig.ARM64.files(series=True)]
    lost = kconfig.lost_options(asked, f"CONFIG_{tool}_VERSION=124\n")
    assert f"CONFIG_{tool}_VERSION: 0 asked for, 124 came out" in lost
