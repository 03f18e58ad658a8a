# SPDX-License-Identifier: GPL-2.0-only
"""Configurations that only objects are compiled with."""

from padlab.kernel import arch as archs
from padlab.kernel import otherconfigs

DRY_RUN = """\
make[1]: Entering directory '/x/obj-other-x86_64'
make -f ../scripts/Makefile.build obj=mm need-builtin=1
echo '  CC      mm/util.o'; gcc -Wp,-MMD,mm/.util.o.d -c -o mm/util.o ../mm/util.c   ; objtool mm/util.o
set -e;  echo '  CC [M]  lib/test_padata_mt.o';  ccache gcc -DMODULE -c -o lib/test_padata_mt.o ../lib/test_padata_mt.c
set -e;  echo '  AS      lib/x.o';  gcc -c -o lib/x.o ../lib/x.S
rm -f mm/built-in.a;  printf "mm/%s " util.o fork.o | xargs ar cDPrST mm/built-in.a
gcc -o scripts/x ../scripts/x.c
"""


def test_what_make_would_compile() -> None:
    assert otherconfigs.compiled(DRY_RUN) == {"mm/util.c", "lib/test_padata_mt.c"}


def test_each_seed_has_a_name_and_some_are_of_32_bits() -> None:
    configs = otherconfigs.of_seeds()
    names = [str(config) for config in configs]
    assert names[0] == "seed 1, x86_64" and names[4] == "seed 5, i386"
    assert len(set(names)) == len({config.log("stock") for config in configs}) == len(configs)


def test_what_make_is_told() -> None:
    first = {config.arch.name: config.arch.make_variables()[:2] for config in otherconfigs.CROSS}
    assert first == {
        "riscv64": ["ARCH=riscv", "CROSS_COMPILE=riscv64-linux-gnu-"],
        "ppc64el": ["ARCH=powerpc", "CROSS_COMPILE=powerpc64le-linux-gnu-"],
        "s390x": ["ARCH=s390", "CROSS_COMPILE=s390x-linux-gnu-"],
    }
    assert archs.I386.make_variables()[0] == "ARCH=i386"
    assert not any("ARCH=" in word for word in archs.X86_64.make_variables())
