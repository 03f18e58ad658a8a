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
        linker = (
            "ld: mm/memmap_bulk.o: in function `f':\n(.text+0x1): undefined reference to `g'".splitlines()
        )
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


class TestCache:
    def test_knows_what_was_compiled_in_another_language_and_folder(
        self, installed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(paths, "CCACHE", tmp_path / "cache")
        for language in ("C.UTF-8", "de_DE.UTF-8", None):
            folder = tmp_path / str(language)
            folder.mkdir()
            (folder / "a.c").write_text("int x;\n")
            env = {**os.environ, **build.environment()}
            env.pop("LANG", None)
            if language:
                env["LANG"] = language
            subprocess.run(["ccache", "gcc", "-g", "-MD", "-c", "a.c"], cwd=folder, env=env, check=True)
        said = subprocess.run(
            ["ccache", "--print-stats"], env=env, check=True, capture_output=True, text=True
        )
        assert "direct_cache_hit\t2\n" in said.stdout

    def test_what_a_source_includes_as_binary_is_never_that_of_an_earlier_build(
        self, installed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """As in a bzImage.  With ccache alone, the second object has the first one's data (4.7 to 4.11)."""
        monkeypatch.setattr(paths, "CCACHE", tmp_path / "cache")
        monkeypatch.chdir(tmp_path)
        env = {**os.environ, **build.environment()}
        (tmp_path / "a.S").write_text('.incbin "kernel"\n')
        for kernel in (b"kernel 1", b"kernel 2"):
            (tmp_path / "kernel").write_bytes(kernel)
            subprocess.run([archs.COMPILE, "gcc", "-MD", "-c", "a.S"], env=env, check=True)
        assert kernel in (tmp_path / "a.o").read_bytes()


class TestConfig:
    CONFIG = 'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_S=""\nCONFIG_N=512\n# A comment\n'

    def test_all_came_out_and_a_later_fragment_wins(self) -> None:
        asked = "CONFIG_A=y\n# CONFIG_B is not set\n# CONFIG_GONE is not set\nCONFIG_N=8\n"
        assert kconfig.lost_options([asked, "CONFIG_N=512\n"], self.CONFIG) == []

    def test_lost(self) -> None:
        lost = kconfig.lost_options(["CONFIG_B=y\nCONFIG_M=m\n# CONFIG_A is not set\n"], self.CONFIG)
        assert lost == [
            "CONFIG_B: y asked for, n came out",
            "CONFIG_M: m asked for, not available came out",
            "CONFIG_A: n asked for, y came out",
        ]

    def test_each_config_has_a_name_and_files_of_its_own(self) -> None:
        configs = [value for value in vars(kconfig).values() if isinstance(value, Config)]
        assert len({config.name for config in configs}) == len(configs) > 10
        files = [tuple(config.files(series=True)) for config in configs]
        assert len(set(files)) == len(files)
        assert all(file.exists() for each in files for file in each)

    @pytest.mark.parametrize("arch", ALL.values(), ids=ALL)
    def test_what_an_architecture_adds_undoes_nothing_of_perf(self, arch: Arch) -> None:
        perf = kconfig.parse_config((paths.CONFIGS / "perf.config").read_text())
        added = kconfig.parse_config((paths.CONFIGS / arch.fragment).read_text())
        assert added and not set(perf) & set(added)

    def test_debug_undoes_nothing_of_perf_and_perf_has_no_debug_option(self) -> None:
        perf = kconfig.parse_config((paths.CONFIGS / "perf.config").read_text())
        debug = kconfig.parse_config((paths.CONFIGS / "debug.config").read_text())
        assert len(perf) > 50 and len(debug) > 10
        assert set(perf) & set(debug) == {"CONFIG_KUNIT"}  # as a part of the kernel
        debugging = {
            name for name, value in perf.items() if name.startswith("CONFIG_DEBUG_") and value != "n"
        }
        assert debugging <= {"CONFIG_DEBUG_FS"}


def test_modules_are_read_from_the_order_file(tmp_path: Path) -> None:
    (tmp_path / "modules.order").write_text("kernel/padata_mt_kunit.o\nlib/kunit/kunit.o\nlib/a-b.o\n")
    built = build.Build("patched", PERF, tmp_path, tmp_path, tmp_path / "bzImage", "1", "6.12.1")
    assert build.modules(built)["a_b"] == tmp_path / "lib/a-b.ko"
    assert set(build.modules(built)) == {"padata_mt_kunit", "kunit", "a_b"}


class TestWhenItIsBuilt:
    """With make and the configuring of a kernel replaced by a count."""

    @pytest.fixture
    def made(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        made: list[str] = []
        top = tmp_path / "trees/stock"
        set_base(monkeypatch, build=tmp_path)
        monkeypatch.setattr(paths, "CONFIGS", tmp_path / "configs")
        monkeypatch.setattr(build.packages, "ensure", lambda *groups: None)
        monkeypatch.setattr(build.tree, "ensure_tree", lambda kernel: top)
        monkeypatch.setattr(build.tree, "content_key", lambda kernel: "content")
        monkeypatch.setattr(Arch, "identity", property(lambda arch: f"{arch.compiler} version 12"))
        (tmp_path / "configs").mkdir()
        for name in ("perf.config", "x86.config", "arm64.config"):
            (tmp_path / "configs" / name).write_text("CONFIG_SMP=y\n")
        top.mkdir(parents=True)
        state.write_state(top, state.State("6.12.1-1"))

        def configure(*_args: object) -> None:
            made.append("configured")

        def make(_top: Path, obj: Path, *_args: object) -> None:
            made.append("made")
            for name in ("arch/x86/boot/bzImage", "arch/arm64/boot/Image", "include/config/kernel.release"):
                write(obj / name, "6.12.1\n")

        monkeypatch.setattr(build, "_configure", configure)
        monkeypatch.setattr(build, "make", make)
        built = build.ensure_build("stock")
        assert (built.release, built.source_version) == ("6.12.1", "6.12.1-1")
        assert made == ["configured", "made"]
        made.clear()
        return made

    def test_not_again_when_nothing_changed(self, made: list[str]) -> None:
        build.ensure_build("stock")
        assert made == []

    @pytest.mark.parametrize("what", ["content", "compiler", "fragment", "arch", "image"])
    def test_again_when_something_changed(
        self, made: list[str], what: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if what == "content":
            monkeypatch.setattr(build.tree, "content_key", lambda kernel: "edited")
        elif what == "compiler":
            monkeypatch.setattr(Arch, "identity", property(lambda arch: f"{arch.compiler} version 13"))
        elif what == "fragment":
            (paths.CONFIGS / "perf.config").write_text("CONFIG_SMP=n\n")
        elif what == "arch":
            (paths.CONFIGS / "x86.config").write_text("CONFIG_SMP=n\n")
        else:
            (paths.base().trees / "stock/obj-perf/arch/x86/boot/bzImage").unlink()
        build.ensure_build("stock")
        assert made == ["configured", "made"]

    def test_each_architecture_has_its_compiler_and_image(self, made: list[str]) -> None:
        built = build.ensure_build("stock", kconfig.ARM64)
        assert made == ["configured", "made"]
        assert built.image == paths.base().trees / "stock/obj-arm64/arch/arm64/boot/Image"
        gcc = f"CC={archs.COMPILE} aarch64-linux-gnu-gcc"
        variables = ["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-", gcc]
        for arch, wanted in ((archs.ARM64, True), (archs.X86_64, False)):
            command = build.make_command(built.tree, built.obj, arch, [arch.target])
            assert (set(variables) <= set(command), f"CC={archs.COMPILE} gcc" in command) == (
                wanted,
                not wanted,
            )

    @pytest.mark.parametrize("arch", ALL.values(), ids=ALL)
    def test_make_finds_no_tool_that_a_kernel_is_not_made_with(
        self, installed: None, arch: Arch, tmp_path: Path
    ) -> None:
        (tmp_path / "Makefile").write_text(
            "RUSTC = rustc\nPAHOLE = pahole\nall:\n\t@echo [$(RUSTC)$(PAHOLE)]\n"
        )
        command = build.make_command(tmp_path, tmp_path, arch, ["--silent", "all"])
        said = subprocess.run(command, check=True, capture_output=True, text=True)
        assert "[]\n" in said.stdout

    @pytest.mark.parametrize("tool", ["RUSTC", "PAHOLE"])
    def test_a_configuration_with_the_version_of_one_is_refused(self, tool: str) -> None:
        name = f"CONFIG_{tool}_VERSION"
        asked = [path.read_text() for path in kconfig.ARM64.files(series=True)]
        lost = kconfig.lost_options(asked, f"{name}=124\n")
        assert f"{name}: 0 asked for, 124 came out" in lost

    def test_again_when_it_was_interrupted(self, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_args: object) -> None:
            raise KeyboardInterrupt

        make = build.make
        monkeypatch.setattr(build.tree, "content_key", lambda kernel: "edited")
        monkeypatch.setattr(build, "make", interrupt)
        with pytest.raises(KeyboardInterrupt):
            build.ensure_build("stock")
        monkeypatch.setattr(build.tree, "content_key", lambda kernel: "content")
        monkeypatch.setattr(build, "make", make)
        made.clear()
        build.ensure_build("stock")
        assert made == ["configured", "made"]
