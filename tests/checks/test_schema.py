# SPDX-License-Identifier: GPL-2.0-only
"""Many mutants in one source: each function with a fault is there twice, and nothing else has changed."""

import re
import subprocess
from pathlib import Path

import pytest

from checks.mutants import mutant, mutantkernel, schema
from checks.mutants.mutant import Mutant
from checks.mutants.mutantkernel import Kernel
from padlab.core import packages
from padlab.core.errors import LabError
from padlab.kernel import tree

SOURCE = """\
#include "some.h"

#define LIMIT 3

static int table[] = {
	1,
};

/* Twice as much. */
static int twice(const int *of,
		int times)
{
	if (*of > LIMIT) {
		return -1;
	}
	return *of * times;
}
#ifdef OTHER
int __weak other(void)
{
	return 1;
}
#else
int __weak other(void)
{
	return 2;
}
#endif

void set(int a[], int value)
{
	a[0] = value;
}
"""


def of(old: str, new: str) -> Mutant:
    return Mutant("w", old, new, "f.c")


MUTANTS = {
    1: of("	return *of * times;\n}", "	return *of + times;\n}"),
    2: of("*of > LIMIT", "*of >= LIMIT"),
    3: of("#define LIMIT 3\n", "#define LIMIT 4\n"),
    4: of("	return 2;\n", "	return 3;\n"),
    5: of("	a[0] = value;\n", ""),
    6: of("	1,\n", "	2,\n"),
}


def test_what_is_within_a_function_can_be_chosen() -> None:
    text, numbers = schema.combined(SOURCE, MUTANTS)
    assert numbers == {1, 2, 4, 5}
    assert "\tif (lab_mutant == 2)\n\t\treturn twice__mutant2(of, times);\n" in text
    assert "\tif (lab_mutant == 5)\n\t\treturn set__mutant5(a, value);\n" in text
    assert "#else\nstatic int  other__mutant4(void)\n{\n\treturn 3;\n}\n" in text
    assert "return 3" not in SOURCE and text.count("return *of * times") == 2


MAIN = """
unsigned int lab_mutant;
int main(int argc, char **argv)
{
	int three = 3, a[1] = { 0 };

	lab_mutant = argc - 1;
	set(a, 5);
	return twice(&three, 4) + 100 * (twice(&(int){ 4 }, 1) < 0) + 10 * other() + a[0] % 5;
}
"""


def test_one_of_them_is_chosen_when_it_runs(tmp_path: Path) -> None:
    packages.ensure("build")
    (tmp_path / "some.h").write_text("#define __weak __attribute__((weak))\n")
    text, _numbers = schema.combined(SOURCE, MUTANTS)
    (tmp_path / "main.c").write_text(text + MAIN.replace("set(a, 5);", "set(a, 6);"))
    subprocess.run(["gcc", "-o", tmp_path / "main", tmp_path / "main.c"], check=True)
    chosen = {
        number: subprocess.run([tmp_path / "main", *"x" * number], check=False).returncode
        for number in (0, 1, 2, 4, 5)
    }
    assert chosen == {0: 133, 1: 128, 2: 120, 4: 143, 5: 132}


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Mutant]:
    monkeypatch.setattr(mutantkernel, "place", lambda: tmp_path)
    monkeypatch.setattr(mutantkernel, "_bad", set())
    return {fault.id: fault for fault in mutant.all_of()}


def test_most_are_in_one_kernel(ours: dict[str, Mutant]) -> None:
    built: list[str] = []
    kernel = mutantkernel.built(ours["charge/debt-forgiven"], built.append)
    assert (built, kernel.name) == (["mutants"], "mutants")
    (arg,) = kernel.args
    assert re.fullmatch(r"lab_mutant=\d+", arg)
    assert mutantkernel.built(None, built.append) == Kernel("mutants")


def test_others_have_a_kernel_of_their_own(ours: dict[str, Mutant], tmp_path: Path) -> None:
    kernel = mutantkernel.built(ours["folio_zero/one-thread-by-default"], lambda _kernel: None)
    assert kernel == Kernel("mutant")
    assert "+static int huge_page_max_threads __read_mostly = 1;" in (tmp_path / "mutant.patch").read_text()


def test_checks_of_the_faulty_kernel_boot_that(ours: dict[str, Mutant], tmp_path: Path) -> None:
    kernel = mutantkernel.built(ours["charge/debt-forgiven"], lambda _kernel: None, base=mutantkernel.FAULTY)
    assert kernel.name == "faulty-mutants" and kernel.args
    faults = tree.VARIANTS["faulty"].extra
    assert tree.VARIANTS[kernel.name].extra == (*faults, tmp_path / "faulty-mutants.patch")


def test_one_whose_text_is_another_in_the_faulty_kernel_is_not_in_it(
    ours: dict[str, Mutant], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault, source = ours["charge/debt-forgiven"], mutantkernel._source

    def without(file: str, base: str) -> str:
        return (
            source(file, base).replace(fault.old, "") if base == mutantkernel.FAULTY else source(file, base)
        )

    monkeypatch.setattr(mutantkernel, "_source", without)
    monkeypatch.setattr(mutantkernel, "_bad", {0})  # what was chosen for other tests is kept
    with pytest.raises(LabError, match=f"0 times in {fault.file}"):
        mutantkernel.built(fault, lambda _kernel: None, base=mutantkernel.FAULTY)


def test_one_that_does_not_compile_is_left_out(ours: dict[str, Mutant]) -> None:
    number = list(mutant.all_of()).index(ours["charge/debt-forgiven"]) + 1
    built: list[str] = []

    def make(kernel: str) -> None:
        built.append(kernel)
        if built == ["mutants"]:
            raise LabError("building", "1 error", "mend it", detail=[f"In function 'f__mutant{number}'"])
        if kernel == "mutant":
            raise LabError("building", "1 error", "mend it")

    assert mutantkernel.built(None, make) == Kernel("mutants") and built == ["mutants", "mutants"]
    with pytest.raises(LabError):
        mutantkernel.built(ours["charge/debt-forgiven"], make)


def test_a_kernel_that_does_not_build_is_an_error(ours: dict[str, Mutant]) -> None:
    def make(_kernel: str) -> None:
        raise LabError("building", "no room", "make some")

    with pytest.raises(LabError, match="no room"):
        mutantkernel.built(None, make)
