"""What a trace shows, on traces small enough to add up by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import LOADER, PAGEABLE, PINNED, call, event, facts_of, kernel, loader, step

from costplan.profiler.events import read
from costplan.profiler.traced import trace_verdict
from costplan.profiler.tracefile import About, facts
from costplan.records.traces import Copies, TraceFacts

# Two steps of 100 us each; whatever stands between 0 and 200 is a share of 200.
TWO = (step(1, 0, 100), step(2, 100, 100))


def shares(found: TraceFacts) -> dict[str, float | None]:
    names = ("busy_share", "loader_share", "idle_in_loader_share")
    return {name.removesuffix("_share"): getattr(found, name) for name in names}


# --- busy, loader, both ---------------------------------------------------------------------------


def test_two_streams_at_once_are_busy_once() -> None:
    # 10-50 and 30-70 are 60 together, 80 added up; 150-160 is 10 more: 70 of 200
    found = facts_of(*TWO, kernel(10, 40), kernel(30, 40, stream=20), kernel(150, 10))
    assert found.busy_share == pytest.approx(0.35)
    assert found.streams == 2
    assert [each.busy_share for each in found.steps] == [pytest.approx(0.6), pytest.approx(0.1)]


def test_a_kernel_that_hangs_over_the_edge_counts_inside_only() -> None:
    # 20 of 50 before the end of the last marker
    found = facts_of(*TWO, kernel(180, 50))
    assert found.busy_share == pytest.approx(0.1)
    assert found.kernels_per_step == 0.5


def test_copies_and_memory_sets_keep_the_device_busy_too() -> None:
    found = facts_of(
        *TWO,
        kernel(0, 10, name=PINNED, cat="gpu_memcpy"),
        kernel(50, 10, name="Memset (Device)", cat="gpu_memset"),
    )
    assert found.busy_share == pytest.approx(0.1)
    assert found.kernels_per_step == 0


@pytest.mark.parametrize(
    ("cats", "marker"),
    [
        (("Kernel", "Memcpy", "Memset", "Runtime"), "Operator"),
        (("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime"), "user_annotation"),
        (("kernel", "gpu_memcpy", "gpu_memset", "cuda_driver"), "cpu_op"),
    ],
)
def test_old_and_new_category_names_say_the_same(cats: tuple[str, ...], marker: str) -> None:
    found = facts_of(
        event(marker, "ProfilerStep#3", 0, 100),
        event(marker, LOADER, 0, 30),
        event(cats[3], "cudaLaunchKernel", 40, 5, args={"correlation": 9}),
        kernel(50, 20, cat=cats[0], correlation=9),
        kernel(80, 5, cat=cats[1], name=PAGEABLE, correlation=10, bytes=4096),
        kernel(90, 5, cat=cats[2], name="Memset (Device)"),
    )
    expected = {"busy": 0.3, "loader": 0.3, "idle_in_loader": 0.3}
    assert shares(found) == pytest.approx(expected)
    assert found.launch_delay_s == pytest.approx(10e-6)


def test_the_loader_behind_a_busy_device_costs_nothing() -> None:
    # the loader holds 0-40 and 100-140; the device works 20-60 and 90-150: idle in it 20 + 0
    found = facts_of(*TWO, loader(0, 40), loader(100, 40), kernel(20, 40), kernel(90, 60))
    assert shares(found) == pytest.approx({"busy": 0.5, "loader": 0.4, "idle_in_loader": 0.1})
    assert [each.idle_in_loader_share for each in found.steps] == [pytest.approx(0.2), 0]


def test_a_step_that_accumulates_holds_several_batches() -> None:
    adam = event("user_annotation", "Optimizer.step#Adam.step", 180, 10)
    found = facts_of(
        *TWO, loader(0, 10), loader(40, 10), loader(100, 10), loader(140, 10), adam, kernel(20, 5)
    )
    assert found.loader_calls_per_step == 2
    assert found.loader_share == pytest.approx(0.2)
    assert found.optimizer_steps_per_step == 0.5


def test_a_loader_that_wraps_another_is_one_call() -> None:
    outer = event("user_annotation", "step/dataload", 0, 30)
    found = facts_of(*TWO, outer, loader(5, 20), kernel(50, 5))
    assert found.loader_calls_per_step == 0.5
    assert found.loader_share == pytest.approx(0.15)


def test_a_loader_on_another_thread_is_no_wait() -> None:
    found = facts_of(*TWO, loader(0, 90, tid=2), kernel(50, 5))
    assert found.loader_share is None
    assert "another thread" in found.reasons["loader_share"]


def test_of_two_devices_the_busier_is_read() -> None:
    found = facts_of(*TWO, kernel(0, 50, device=0), kernel(60, 100, device=1))
    assert found.device == "1"
    assert found.busy_share == pytest.approx(0.5)
    assert "2 devices: the busiest is read" in found.notes


def test_of_two_processes_the_one_with_more_steps_is_read() -> None:
    other = step(7, 0, 400, pid=2)
    found = facts_of(*TWO, other, loader(0, 300, pid=2), loader(0, 20), kernel(0, 20))
    assert found.span_s == pytest.approx(200e-6)
    assert found.loader_share == pytest.approx(0.1)
    assert "2 processes mark steps: process 1 is read" in found.notes


def test_of_two_processes_with_a_device_each_the_doubt_is_said() -> None:
    found = facts_of(*TWO, step(7, 0, 100, pid=2), kernel(0, 50), kernel(0, 60, device=1))
    assert found.notes[-1] == "which device belongs to which process is not known"


def test_markers_of_one_step_on_host_and_gpu_are_one_step() -> None:
    shadow = event("gpu_user_annotation", "ProfilerStep#1", 20, 300, pid=0, tid=7)
    again = step(1, 10, 20)
    assert len(facts_of(*TWO, shadow, again, kernel(0, 5)).steps) == 2


# --- launches and gaps ----------------------------------------------------------------------------


def test_the_delay_is_the_median_from_call_to_kernel() -> None:
    found = facts_of(
        *TWO,
        *(call("cudaLaunchKernel", at, 5, number) for number, at in enumerate((0, 20, 40), 1)),
        kernel(10, 4, correlation=1),  # 10 after, shorter than its call
        kernel(50, 20, correlation=2),  # 30 after
        kernel(140, 20, correlation=3),  # 100 after
    )
    assert found.launch_delay_s == pytest.approx(30e-6)
    assert found.short_kernels_share == pytest.approx(1 / 3)
    assert found.kernels_per_step == found.launches_per_step == 1.5


def test_without_correlation_the_delay_is_not_known() -> None:
    found = facts_of(*TWO, call("cudaLaunchKernel", 0, 5), kernel(10, 4))
    assert found.launch_delay_s is None
    assert found.host_wait_share is None
    assert "linked to the call" in found.reasons["launch_delay_s"]
    assert found.busy_share == pytest.approx(0.02)


def test_of_two_calls_with_one_number_the_earlier_launched_the_kernel() -> None:
    # a driver's call inside that of the runtime
    inner = event("cuda_driver", "cuLaunchKernel", 4, 2, args={"correlation": 1})
    found = facts_of(*TWO, inner, call("cudaLaunchKernel", 0, 8, 1), kernel(10, 20, correlation=1))
    assert found.launch_delay_s == pytest.approx(10e-6)


def test_a_kernel_beside_a_longer_one_of_its_stream_opens_no_gap() -> None:
    # 0-100 and 10-20 side by side, then 120-130: one gap of 20
    found = facts_of(
        *TWO,
        *(call("cudaLaunchKernel", number, 1, number) for number in (1, 2, 3)),
        kernel(4, 96, correlation=1),
        kernel(10, 10, correlation=2),
        kernel(120, 10, correlation=3),
    )
    assert found.kernel_wait_share == pytest.approx(0.1)
    assert found.other_idle_share == 0


def test_gaps_are_told_apart_as_holistic_trace_analysis_does() -> None:
    found = facts_of(
        *TWO,
        call("cudaLaunchKernel", 0, 2, 1),
        call("cudaLaunchKernel", 2, 2, 2),
        call("cudaLaunchKernel", 60, 2, 3),
        call("cudaLaunchKernel", 63, 2, 4),
        kernel(10, 30, correlation=1),
        kernel(42, 8, correlation=2),  # 2 after the last, launched long ago: the device's own
        kernel(70, 10, correlation=3),  # 20 after, launched after the gap began: the host
        kernel(130, 10, correlation=4),  # 50 after, launched before: something else
        kernel(85, 5, stream=20),  # another stream fills no gap of this one
    )
    assert found.stream == "7"
    assert found.kernel_wait_share == pytest.approx(0.01)
    assert found.host_wait_share == pytest.approx(0.1)
    assert found.other_idle_share == pytest.approx(0.25)


# --- copies, calls, communication, classes --------------------------------------------------------


def test_copies_by_direction_and_kind_of_memory() -> None:
    found = facts_of(
        *TWO,
        kernel(0, 10, name=PAGEABLE, cat="gpu_memcpy", bytes=1000),
        kernel(20, 30, name=PAGEABLE, cat="gpu_memcpy", bytes=3000),
        kernel(60, 5, name="Memcpy DtoH (Device -> Pinned)", cat="gpu_memcpy", bytes=8),
        kernel(70, 2, name="Memcpy DtoD (Device -> Device)", cat="gpu_memcpy"),
    )
    assert found.copies == (
        Copies(direction="HtoD", host_memory="pageable", count=2, copy_s=40e-6, size_bytes=4000),
        Copies(direction="DtoH", host_memory="pinned", count=1, copy_s=5e-6, size_bytes=8),
        Copies(direction="DtoD", host_memory="none", count=1, copy_s=2e-6),
    )


def test_rocm_names_and_the_size_that_its_call_tells() -> None:
    sized = {"correlation": 3, "size": "2560"}
    found = facts_of(
        *TWO,
        event("cuda_runtime", "hipMemcpyWithStream", 0, 20, args=sized),
        event("cuda_runtime", "hipDeviceSynchronize", 100, 30, args={"correlation": 5}),
        event("cuda_runtime", "hipMalloc", 140, 5, args={"correlation": 6}),
        event("cuda_runtime", "hipHostMalloc", 150, 5, args={"correlation": 7}),
        kernel(5, 10, name="Memcpy HtoD (Host -> Device)", cat="gpu_memcpy", correlation=3),
        kernel(30, 10, name="Cijk_Ailk_Bljk_SB_MT32x32x16_MI16", correlation=4),
        kernel(50, 30, name="rcclGenericKernel_1(ncclDevComm*)", correlation=8),
    )
    assert found.copies == (
        Copies(direction="HtoD", host_memory="unknown", count=1, copy_s=10e-6, size_bytes=2560),
    )
    assert found.syncs_per_step == 1
    assert found.blocked_share == pytest.approx(0.25)
    assert found.allocations_per_step == 0.5
    assert found.kernel_classes is not None
    assert [each.name for each in found.kernel_classes] == ["communication", "gemm/conv"]


def test_a_copy_of_pageable_memory_holds_the_host_like_a_synchronising_call() -> None:
    found = facts_of(
        *TWO,
        call("cudaMemcpyAsync", 0, 40, 1),
        call("cudaMemcpyAsync", 60, 40, 2),
        kernel(30, 10, name=PAGEABLE, cat="gpu_memcpy", correlation=1),
        kernel(90, 10, name=PINNED, cat="gpu_memcpy", correlation=2),
    )
    assert found.syncs_per_step == 0.5
    assert found.blocked_share == pytest.approx(0.2)


def test_waits_inside_each_other_block_once() -> None:
    found = facts_of(
        *TWO, call("cudaStreamSynchronize", 10, 50), call("cudaEventSynchronize", 20, 20)
    )
    assert found.syncs_per_step == 1
    assert found.blocked_share == pytest.approx(0.25)


def test_communication_that_compute_hides_is_not_exposed() -> None:
    # 20-80 communicates; 10-50 computes: 30 of 60 are hidden
    talk = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    found = facts_of(*TWO, kernel(20, 60, name=talk, stream=20), kernel(10, 40))
    assert found.communication_share == pytest.approx(0.3)
    assert found.exposed_communication_share == pytest.approx(0.15)
    assert found.busy_share == pytest.approx(0.35)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn", "gemm/conv"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64>(...)", "gemm/conv"),
        ("cudnn_infer_ampere_scudnn_winograd_128x128_ldg1_ldg4_relu", "gemm/conv"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>", "gemm/conv"),
        ("miopenSp3AsmConv_v21_1_2_gfx9_fp32_f2x3_stride1", "gemm/conv"),
        ("triton_tem_fused_addmm_3", "gemm/conv"),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>", "attention"),
        ("fmha_cutlassF_f16_aligned_64x64_rf_sm80", "attention"),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", "norm/reduce"),
        ("MIOpenBatchNormFwdTrainSpatialNorm", "norm/reduce"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", "norm/reduce"),
        ("triton_red_fused_native_layer_norm_0", "norm/reduce"),
        (
            "void at::native::vectorized_elementwise_kernel<4, AddFunctor>",
            "elementwise",
        ),
        ("triton_poi_fused_convolution_relu_1", "elementwise"),
        ("distribution_elementwise_grid_stride_kernel<normal_and_transform>", "elementwise"),
        ("void at::native::CatArrayBatchedCopy<float, unsigned int, 1, 128, 1>", "copy"),
        ("void cudnn::ops::nchwToNhwcKernel<float, float>", "copy"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "communication"),
        ("my_own_kernel", "other"),
    ],
)
def test_kernels_by_what_they_do(name: str, expected: str) -> None:
    found = facts_of(*TWO, kernel(0, 10, name=name))
    assert found.kernel_classes is not None
    assert [(each.name, each.share) for each in found.kernel_classes] == [(expected, 1)]


# --- what a trace may lack or garble --------------------------------------------------------------


def test_times_as_text_and_fractions_are_times() -> None:
    odd = step(1, 0, 0) | {"ts": "0.5", "dur": "100.0"}
    found = facts_of(odd, kernel(0, 0) | {"ts": "10.5", "dur": "25"})
    assert found.busy_share == pytest.approx(0.25)


def test_begin_and_end_are_one_range_and_nested_ones_keep_apart() -> None:
    def half(phase: str, ts: float, **more: Any) -> dict[str, Any]:
        return {"ph": phase, "pid": 1, "tid": 1, "ts": ts, **more}

    found = facts_of(
        half("B", 0, cat="user_annotation", name="ProfilerStep#1"),
        half("B", 10, cat="user_annotation", name=LOADER),
        half("B", 12, cat="python_function", name="collate"),
        half("E", 14),
        half("E", 30),
        half("E", 100),
        kernel(50, 5),
    )
    assert found.span_s == pytest.approx(100e-6)
    assert found.loader_share == pytest.approx(0.2)


def test_ranges_that_touch_are_two_whatever_stands_first() -> None:
    def half(phase: str, ts: float, number: int) -> dict[str, Any]:
        name = f"ProfilerStep#{number}"
        return {"ph": phase, "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts}

    nameless = {key: value for key, value in half("E", 50, 1).items() if key != "name"}
    found = facts_of(half("B", 50, 2), half("B", 0, 1), nameless, half("E", 90, 2))
    assert [each.step_s for each in found.steps] == pytest.approx([50e-6, 40e-6])


def test_halves_and_events_without_time_or_duration_are_counted_and_left_out() -> None:
    no_time = kernel(0, 5)
    del no_time["ts"]
    no_duration = kernel(0, 5)
    del no_duration["dur"]
    begin = {"ph": "B", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": 3}
    end = {"ph": "E", "pid": 9, "tid": 9, "ts": 3}
    found = facts_of(*TWO, kernel(10, 20), no_time, no_duration, begin, end)
    assert found.busy_share == pytest.approx(0.1)
    assert found.notes == (
        "1 events with a begin alone are left out",
        "1 events with an end alone are left out",
        "1 events without a duration are left out",
        "1 events without a time are left out",
    )


def test_no_markers_no_device_no_host_each_has_its_reason_and_nothing_is_zero() -> None:
    for events, name, why in (
        ([kernel(0, 5)], "busy_share", "no step markers"),
        ([*TWO, loader(0, 5)], "busy_share", "no events of a GPU"),
        ([*TWO, kernel(0, 5)], "syncs_per_step", "no calls of the GPU's runtime"),
        ([*TWO, kernel(0, 5)], "loader_share", "no events of the host"),
        ([], "step_s", "no step markers"),
    ):
        found = facts_of(*events)
        assert getattr(found, name) is None
        assert why in found.reasons[name]


def test_every_figure_that_is_missing_says_why() -> None:
    for events in ([], [kernel(0, 5)], [*TWO], [*TWO, kernel(0, 5)], [step(1, 5, 0), kernel(0, 9)]):
        found = facts_of(*events)
        missing = {name for name, value in found if value is None}
        assert missing == set(found.reasons)


def test_a_last_step_that_the_tracer_cut_is_said() -> None:
    found = facts_of(step(1, 0, 100), step(2, 100, 5), kernel(0, 5))
    assert "cut off as the tracer stopped" in found.notes[0]


def test_of_a_cut_file_in_order_of_time_the_whole_steps_are_read() -> None:
    # the third step was still running when the file ended
    events = [*TWO[:1], kernel(0, 50), TWO[1], kernel(100, 50), step(3, 200, 100), kernel(250, 10)]
    found = facts_of(*events, about=About(cut=True))
    assert len(found.steps) == 2
    assert found.busy_share == pytest.approx(0.5)
    assert "ends in the middle" in found.notes[-1]


def test_of_a_cut_file_in_no_order_nothing_is_known_but_the_steps() -> None:
    found = facts_of(kernel(100, 50), *TWO, kernel(0, 50), about=About(cut=True))
    assert found.step_s == pytest.approx(100e-6)
    assert found.busy_share is None
    assert [each.busy_share for each in found.steps] == [None, None]
    assert trace_verdict(found).word == "inconclusive"
    assert "no order of time" in trace_verdict(found).why


# --- laws -----------------------------------------------------------------------------------------

Times = st.integers(0, 300)
Lengths = st.integers(0, 120)
_made = st.one_of(
    st.builds(kernel, Times, Lengths, stream=st.integers(7, 9), correlation=st.integers(0, 5)),
    st.builds(kernel, Times, Lengths, cat=st.just("gpu_memcpy"), name=st.just(PAGEABLE)),
    st.builds(loader, Times, Lengths, tid=st.integers(1, 2)),
    st.builds(call, st.sampled_from(["cudaLaunchKernel", "cudaFree", "cudaDeviceSynchronize"]),
              Times, Lengths, st.integers(0, 5)),
    st.builds(step, st.integers(1, 4), Times, Lengths),
)  # fmt: skip
Events = st.lists(_made, max_size=25)


@given(Events)
def test_the_union_is_never_above_the_span_nor_above_the_sum(events: list[dict[str, Any]]) -> None:
    found = facts_of(*TWO, *events)
    assert found.span_s is not None
    sum_s = sum(each["dur"] for each in events if each["cat"] in ("kernel", "gpu_memcpy")) / 1e6
    if found.busy_share is not None:
        assert found.busy_share * found.span_s <= min(found.span_s, sum_s) + 1e-12
    idle = found.idle_in_loader_share
    if idle is not None and found.loader_share is not None and found.busy_share is not None:
        assert idle <= min(found.loader_share, 1 - found.busy_share) + 1e-9


@given(Events, st.randoms(use_true_random=False))
def test_the_order_of_events_changes_nothing(
    events: list[dict[str, Any]], chance: random.Random
) -> None:
    shuffled = list(events)
    chance.shuffle(shuffled)
    assert facts_of(*shuffled) == facts_of(*events)


KEYS = ["ph", "cat", "name", "ts", "dur", "pid", "tid", "args"]
_junk = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=5), st.floats(),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=3), st.integers()),
)  # fmt: skip


@given(Events, st.data())
def test_whatever_is_dropped_or_garbled_there_is_an_answer(
    events: list[dict[str, Any]], data: st.DataObject
) -> None:
    garbled: list[object] = []
    for each in [*TWO, *events]:
        if data.draw(st.booleans()):
            key = data.draw(st.sampled_from(KEYS))
            garbled.append({**each, key: data.draw(_junk)})
    garbled.append(data.draw(_junk))
    found = facts(read(garbled), About(cut=data.draw(st.booleans())))
    assert {name for name, value in found if value is None} == set(found.reasons)
    assert trace_verdict(found).word in ("dataloader", "host", "gpu", "mixed", "inconclusive")
