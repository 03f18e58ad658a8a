# SPDX-License-Identifier: GPL-2.0-only
"""The simulation: chunks as both engines claim them, pages as kernels count them, threads that share."""

import dataclasses
import itertools
import math

import pytest
from msgspec import structs

from padlab.predict.simulate import (
    SECTION,
    ChunkEnd,
    Engine,
    Hardware,
    Range,
    Shape,
    chunks,
    deferred_range,
    load_engines,
    our_chunk_end,
    simulate,
    slowdown,
    stock_chunk_end,
)

KERNELS = load_engines()

# A node of 64 GiB on 8 cores, whose threads never meet a limit.
FREE = Hardware(page_ns=10, bandwidth=math.inf, smt_gain=1.3, serial_ms=0, knee=2)
NODE = Shape(deferred_range(64, first_node=False), cores=8)


def plain(engine: Engine) -> Engine:
    """Without what a kernel spends beside its pages."""
    return structs.replace(engine, lock_ns=0, insert_ns=0, claim_ns=0, first_us=0, each_us=0)


PLAIN = [plain(engine) for engine in (KERNELS.stock, KERNELS.ours)]


class TestClaims:
    @pytest.mark.parametrize("rule", [stock_chunk_end, our_chunk_end])
    @pytest.mark.parametrize("threads", [1, 2, 3, 7, 16, 64])
    @pytest.mark.parametrize("pages", [1, SECTION - 1, SECTION, SECTION + 1, 1000 * SECTION + 99])
    def test_every_page_is_handed_out_once_and_on_sections(
        self, rule: ChunkEnd, threads: int, pages: int
    ) -> None:
        whole = Range(33 * SECTION, 33 * SECTION + pages)
        made = chunks(rule, whole, threads)
        assert made[0][0] == whole.start and made[-1][1] == whole.end
        assert all(a[1] == b[0] for a, b in itertools.pairwise(made))
        assert all(end % SECTION == 0 for _, end in made[:-1])
        assert all(end - start >= SECTION for start, end in made[:-1])

    def test_stock_ends_chunks_on_multiples_of_their_size(self) -> None:
        # 100 sections for 4 threads: 100 / 16, rounded up to 7, from section 33.
        made = chunks(stock_chunk_end, Range(33 * SECTION, 133 * SECTION), 4)
        ends = [end // SECTION for _, end in made]
        assert ends == [35, *range(42, 133, 7), 133]

    def test_stock_on_one_thread_is_one_chunk(self) -> None:
        assert len(chunks(stock_chunk_end, NODE.range, 1)) == 1

    def test_ours_follows_the_kernel_step_by_step(self) -> None:
        """padata_mt_chunk_end(), transcribed: same names, same order."""

        def kernel(run_end: int, pos: int, threads: int) -> int:
            shares = 2 * threads if threads > 1 else 1
            left = run_end - pos
            size = max(left // shares, SECTION)
            if size >= left:
                return run_end
            past = (pos + size) % SECTION
            gap = SECTION - past if past else 0
            if gap >= left - size:
                return run_end
            size += gap
            return run_end if left - size < SECTION else pos + size

        for end in (1, SECTION, 5 * SECTION + 1, 77 * SECTION - 1, 3000 * SECTION):
            for pos in range(0, end, max(1, end // 97)):
                for threads in (1, 2, 5, 52):
                    assert our_chunk_end(0, end, pos, threads) == kernel(end, pos, threads)


class TestPages:
    # What kernels booted on these machines print, within 0.3 %: firmware and kernel image take a little more.
    @pytest.mark.parametrize(
        ("gib", "first", "pages"), [(16, True, 3302906), (384, True, 98235537), (384, False, 99020352)]
    )
    def test_are_those_of_a_real_boot(self, gib: int, first: bool, pages: int) -> None:
        assert deferred_range(gib, first).pages == pytest.approx(pages, rel=0.003)

    def test_a_small_node_has_none(self) -> None:
        assert deferred_range(2, first_node=True).pages == 0
        empty = Shape(deferred_range(2, first_node=True), 2)
        assert simulate(empty, 2, FREE, KERNELS.stock) == 0


class TestSimulation:
    @pytest.mark.parametrize("engine", PLAIN, ids=lambda e: e.chunks)
    def test_one_thread_is_serial(self, engine: Engine) -> None:
        serial_ns = NODE.range.pages * FREE.page_ns * engine.page_ratio
        assert simulate(NODE, 1, FREE, engine) == pytest.approx(serial_ns / 1e6)

    @pytest.mark.parametrize("engine", PLAIN, ids=lambda e: e.chunks)
    def test_more_threads_are_never_much_slower_without_a_limit(self, engine: Engine) -> None:
        times = [simulate(NODE, threads, FREE, engine) for threads in range(1, NODE.cpus + 1)]
        # One that ends a core's time alone may leave a tail of one chunk of stock's.
        assert all(b <= a * 1.1 for a, b in itertools.pairwise(times))
        assert times[7] < times[0] / 7 and times[15] < times[7]

    @pytest.mark.parametrize("engine", PLAIN, ids=lambda e: e.chunks)
    def test_never_quicker_than_its_cores(self, engine: Engine) -> None:
        alone = simulate(NODE, 1, FREE, engine)
        for threads in range(1, NODE.cpus + 1):
            cores = min(threads, 8) + (FREE.smt_gain - 1) * max(0, threads - 8)
            assert simulate(NODE, threads, FREE, engine) >= alone / cores * 0.999999

    @pytest.mark.parametrize("knee", [1.5, 4, 12])
    @pytest.mark.parametrize("engine", PLAIN, ids=lambda e: e.chunks)
    def test_saturates_at_the_bandwidth(self, engine: Engine, knee: float) -> None:
        hardware = dataclasses.replace(FREE, bandwidth=10, knee=knee)
        least_ms = NODE.range.pages * engine.bytes_per_page / hardware.bandwidth / 1e6
        done = simulate(NODE, 16, hardware, engine)
        assert least_ms * 0.999999 <= done <= least_ms * (1.02 if knee == 12 else 1.25)

    def test_saturates_at_the_lock(self) -> None:
        engine = structs.replace(plain(KERNELS.stock), lock_ns=10240)
        least_ms = NODE.range.pages * 10 / 1e6
        assert simulate(NODE, 16, FREE, engine) == pytest.approx(least_ms, rel=0.05)

    def test_siblings_share_a_core(self) -> None:
        one_core = Shape(Range(0, 4000 * SECTION), cores=1)
        alone = simulate(one_core, 1, FREE, PLAIN[1])
        assert alone / simulate(one_core, 2, FREE, PLAIN[1]) == pytest.approx(FREE.smt_gain, rel=0.01)

    def test_helpers_that_come_late_do_less_and_then_nothing(self) -> None:
        def ms(each_us: float) -> float:
            return simulate(NODE, 8, FREE, structs.replace(PLAIN[1], first_us=each_us, each_us=each_us))

        assert ms(0) < ms(1000) < ms(10**6)
        assert ms(10**6) == pytest.approx(simulate(NODE, 1, FREE, PLAIN[1]))

    def test_no_more_threads_than_sections(self) -> None:
        small = Shape(Range(0, 3 * SECTION), 8)
        three, all_cpus = (simulate(small, threads, FREE, PLAIN[1]) for threads in (3, 16))
        assert three == all_cpus

    def test_more_threads_than_cpus_are_refused(self) -> None:
        with pytest.raises(ValueError, match="17 threads on 8 cores"):
            simulate(NODE, 17, FREE, KERNELS.ours)

    def test_a_soft_knee_is_never_quicker_than_a_hard_one(self) -> None:
        for weight in (0.1, 1, 3, 10, 40):
            hard = slowdown(weight, dataclasses.replace(FREE, bandwidth=40, knee=12), KERNELS.stock)
            soft = slowdown(weight, dataclasses.replace(FREE, bandwidth=40, knee=2), KERNELS.stock)
            assert 1 <= hard <= soft <= 1.5 * hard

    def test_serial_time_is_added(self) -> None:
        with_serial = dataclasses.replace(FREE, serial_ms=7)
        more = simulate(NODE, 4, with_serial, KERNELS.stock) - simulate(NODE, 4, FREE, KERNELS.stock)
        assert more == pytest.approx(7)


def test_kernels() -> None:
    assert KERNELS.stock.chunk_end is stock_chunk_end
    assert KERNELS.ours.chunk_end is our_chunk_end
    assert [ours.page_ratio for ours in KERNELS.ours_span] == list(KERNELS.ours.page_ratio_range)
