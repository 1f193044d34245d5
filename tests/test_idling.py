"""Advice in money: from a box and what is known of the absence."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.absence import History
from costplan.boxcosts import costs
from costplan.idling import advise, law_of
from costplan.records.idle import Absence, IdleBox, KeptData

if TYPE_CHECKING:
    from costplan.records.idle import Advice

VOLUME = KeptData(gb=Decimal(45), usd_per_gb_month=Decimal("0.07"), setup_minutes=5)


def box(**changed: Any) -> IdleBox:
    """Return the founding box: 3.4828 $/h, 250 GB at 0.20 and 720 h, 15 min and 0.11 $ to rebuild.

    T1 = 2.04 min, T2 = 12.4503 h; a tenth of the rebuild is 0.09807 $, or 1.4122 h stopped.
    """
    fields: dict[str, Any] = {
        "usd_per_hour": Decimal("3.4828"),
        "disk_gb": Decimal(250),
        "storage_usd_per_gb_month": Decimal("0.20"),
        "month_hours": Decimal(720),
        "restart_minutes": 2.0,
        "setup_minutes": 15.0,
        "ingress_gb": Decimal(1),
        "ingress_usd_per_gb": Decimal("0.11"),
    }
    return IdleBox(**{**fields, **changed})


def away(hours: float, **changed: Any) -> Advice:
    return advise(box(**changed), Absence(hours=hours))


def plan_of(advice: Advice) -> list[tuple[float, str]]:
    return [(round(step.from_h, 3), step.action) for step in advice.plan]


# --- the founding example ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "keep_min", "destroy_h"),
    [
        ({}, 2.04, 12.45),
        ({"restart_minutes": 0.0}, 0, 14.12),
        # 43 GB at 0.003: 0.9997/0.0694444
        (
            {"restart_minutes": 0.0, "ingress_gb": Decimal(43),
             "ingress_usd_per_gb": Decimal("0.003")},
            0, 14.40,
        ),
        ({"restart_minutes": 10.0}, 10.20, 5.76),
        ({"waiting_usd_per_hour": Decimal(30)}, 19.62, 106.05),
        ({"search_usd": Decimal(1), "restart_minutes": 0.0}, 0, 28.52),  # 1.9807/0.0694444
        # a new box at half the price: 0.25 x 1.7414 + 0.11 = 0.54535; (0.54535 - 0.116093)/S
        ({"rebuild_usd_per_hour": Decimal("1.7414")}, 2.04, 6.18),
        ({"upload_usd": Decimal("0.50")}, 2.04, 19.65),  # 1.364607/0.0694444
        # a destroy loses the same work: 0.616093/3.413356; the border between them stays
        ({"lost_usd": Decimal("0.50")}, 10.83, 12.45),
        ({"gone_share": 0.1, "gone_usd": Decimal("0.5")}, 4.44, 10.49),
        ({"month_hours": Decimal(730)}, 2.04, 12.62),  # 0.864607/0.0684932
        ({"stopped_storage_usd_per_gb_month": Decimal("0.40")}, 2.08, 6.23),
    ],
)  # fmt: skip
def test_each_input_moves_the_borders(
    changed: dict[str, Any], keep_min: float, destroy_h: float
) -> None:
    advice = advise(box(**changed), Absence())
    assert advice.keep_until_h * 60 == pytest.approx(keep_min, abs=0.006)
    assert advice.destroy_after_h == pytest.approx(destroy_h, abs=0.006)


def test_the_month_of_thirty_days_is_not_the_one_of_730_hours() -> None:
    # 250 x 0.20 = 50 $: /720 and /730
    assert round(away(1).stopped_usd_per_hour or 0, 5) == Decimal("0.06944")
    other = away(1, month_hours=Decimal(730)).stopped_usd_per_hour
    assert round(other or 0, 5) == Decimal("0.06849")


def test_nothing_known_is_a_plan_with_its_guarantee() -> None:
    advice = advise(box(), Absence())
    assert plan_of(advice) == [(0, "keep"), (0.034, "stop"), (12.45, "destroy")]
    assert advice.guarantee == 2
    assert advice.plan_usd is None
    assert all(option.cost_usd is None for option in advice.options)


def test_three_weeks_stopped_cost_thirty_five_dollars() -> None:
    advice = away(21 * 24)
    usd = {option.action: option.cost_usd or Decimal(0) for option in advice.options}
    # 504 x 0.0694444 = 35.00, and 0.116 to restart
    assert round(usd["stop"], 2) == Decimal("35.12")
    assert round(usd["destroy"], 2) == Decimal("0.98")
    assert advice.advice == "destroy"


@pytest.mark.parametrize(
    ("hours", "advised"),
    [
        (0, "keep"), (0.0340, "keep"), (0.0341, "stop"), (8, "stop"), (12.45, "stop"),
        # near tie: up to 12.4503 + 0.09807/0.0694444 = 13.8625 h the choice that can be undone
        (12.451, "stop"), (13.862, "stop"), (13.863, "destroy"), (72, "destroy"),
    ],
)  # fmt: skip
def test_near_the_border_the_choice_that_can_be_undone_is_advised(
    hours: float, advised: str
) -> None:
    advice = away(hours)
    assert advice.advice == advised
    assert advice.near_tie_h == pytest.approx((11.0381, 13.8625), abs=5e-4)
    assert ("near tie" in advice.why) == (12.4503 < hours < 13.8625)


def test_a_near_tie_is_never_wider_than_thirty_cents() -> None:
    # waiting at 30 $/h: a rebuild of 8.48 $, a tenth 0.85 $; 0.30/0.0694444 = 4.32 h
    advice = away(1, waiting_usd_per_hour=Decimal(30))
    assert advice.near_tie_h == pytest.approx((101.730, 110.370), abs=1e-3)


@pytest.mark.parametrize("hours", [0.25, 0.29])
def test_between_keep_and_destroy_there_is_no_near_tie(hours: float) -> None:
    advice = away(hours, stop=None)
    assert advice.near_tie_h is None
    assert advice.advice == ("keep" if hours < 0.281584 else "destroy")  # 0.9807/3.4828


def test_keeping_the_data_elsewhere_is_a_fourth_state() -> None:
    advice = advise(box(kept_data=VOLUME), Absence())
    # 0.290233 to come back, 0.004375 $/h: (0.290233 - 0.116093)/0.0650694, 0.690467/0.004375
    assert plan_of(advice) == [
        (0, "keep"), (0.034, "stop"), (2.676, "keep-data"), (157.821, "destroy"),
    ]  # fmt: skip


def test_a_near_tie_is_where_the_last_state_that_can_be_undone_ends() -> None:
    # stop against keep-data: 2.676 h +- 0.09807/0.0650694 = 1.507 h
    advice = away(3, kept_data=VOLUME)
    assert advice.near_tie_h is not None
    assert advice.near_tie_h == pytest.approx((1.169, 4.183), abs=1e-3)
    assert advice.advice == "stop"


# --- the law -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "advised", "usd"),
    [
        # min(3.4828 m, 0.0694444 m + 0.116093, 0.9807), and no timer to destroy
        (0.03, "keep", "0.1045"),
        (4, "stop", "0.3939"),
        (12.45, "stop", "0.9807"),
        (12.46, "stop", "0.9807"),  # a near tie, up to 12.45 + 0.09807/0.0694444 = 13.86 h
        (13.85, "stop", "0.9807"),
        (13.87, "destroy", "0.9807"),
    ],
)
def test_of_a_mean_alone_the_cheapest_single_state_is_kept(
    mean: float, advised: str, usd: str
) -> None:
    advice = advise(box(), Absence(mean_hours=mean))
    assert [step.action for step in advice.plan] == [advised] == [advice.advice]
    least = min(option.cost_usd or Decimal(0) for option in advice.options)
    assert round(least, 4) == Decimal(usd)


def test_a_mean_with_a_chance_of_never_has_a_day_on_which_to_destroy() -> None:
    advice = advise(box(), Absence(mean_hours=8, never=0.05))
    assert plan_of(advice) == [(0, "stop"), (18.864, "destroy")]
    assert advice.plan_usd == pytest.approx(0.731, abs=5e-4)
    usd = {option.action: option.cost_usd for option in advice.options}
    assert usd["stop"] is None  # for ever stopped, for ever billed
    assert float(usd["destroy"] or 0) == pytest.approx(0.931665)  # 0.95 x 0.9807


@pytest.mark.parametrize(
    ("count", "plan"),
    [
        # All came back after half an hour: stop now. Of later than that the history says nothing,
        # so the money's border of 12.4503 h stays. Fewer than 10: not before 1/4 of 2.04 min; fewer
        # than 20: 1/8.
        (9, [(0, "keep"), (0.009, "stop"), (12.45, "destroy")]),
        (10, [(0, "keep"), (0.004, "stop"), (12.45, "destroy")]),
        (19, [(0, "keep"), (0.004, "stop"), (12.45, "destroy")]),
        (20, [(0, "stop"), (12.45, "destroy")]),
    ],
)
def test_a_short_history_is_believed_only_near_the_borders(
    count: int, plan: list[tuple[float, str]]
) -> None:
    assert plan_of(advise(box(), Absence(recorded_hours=(0.5,) * count))) == plan
    still = advise(box(), Absence(recorded_hours=(0.5,) * (count - 1), away_hours=(0.5,)))
    assert plan_of(still) == plan


def test_with_other_people_as_a_prior_a_short_history_is_believed_as_it_is() -> None:
    # The same three absences, but the law is learnt: no clamp beside it.
    learnt = Absence(recorded_hours=(0.5,) * 3, still_away=((0.5, 0.0),))
    assert plan_of(advise(box(), learnt)) == [(0, "stop"), (12.45, "destroy")]
    assert law_of(learnt) == History(((0.5, 0.0),), 3)


def test_a_short_history_of_long_absences_destroys_no_later_than_four_borders() -> None:
    # 30 h stopped is 2.08 $ more than a rebuild, but all return at 30 h: destroy at once is best,
    # and a quarter of 12.4503 h is as early as three absences can say it.
    advice = advise(box(), Absence(recorded_hours=(30.0,) * 3))
    assert plan_of(advice)[-1] == (3.113, "destroy")


def test_there_is_a_law_only_where_more_is_known_than_a_mean() -> None:
    assert law_of(Absence()) is None
    assert law_of(Absence(mean_hours=4)) is None
    assert law_of(Absence(mean_hours=4, never=0.1)) is not None
    assert law_of(Absence(recorded_hours=(4,))) is not None


def test_a_box_whose_stop_costs_next_to_nothing_gets_advice() -> None:
    found = advise(
        box(disk_gb=Decimal(1), storage_usd_per_gb_month=Decimal("0.005")),
        Absence(recorded_hours=(5.0,), away_hours=(10.0,)),
    )
    assert found.plan_usd is None


def test_an_expected_cost_counts_that_the_gpu_may_be_taken_meanwhile() -> None:
    changed = {"gone_half_life_hours": 6.0, "gone_usd": Decimal(1)}
    known = away(8, **changed)
    learnt = advise(box(**changed), Absence(recorded_hours=(8.0,) * 20))
    assert float(learnt.options[1].cost_usd or 0) == pytest.approx(
        float(known.options[1].cost_usd or 0), rel=1e-3
    )


# --- the GPU may be gone -------------------------------------------------------------------


@pytest.mark.parametrize(("gone_usd", "percent"), [("0", 36), ("0.50", 23), ("1", 17), ("5", 5)])
def test_the_chance_up_to_which_stop_wins_is_said(gone_usd: str, percent: int) -> None:
    share = away(8, gone_usd=Decimal(gone_usd)).gpu_gone_break_even
    assert share is not None
    assert round(share * 100) == percent


@pytest.mark.parametrize(
    ("share", "advised"),
    [(0.35, "stop"), (0.36, "destroy")],  # 0.309051/0.864607 = 0.35745
)
def test_above_that_chance_destroy_is_advised(share: float, advised: str) -> None:
    # A near tie would still say stop: 0.864607 x 0.0025 is far less than 0.098 $.
    advice = away(8, gone_share=share)
    cheapest = min(advice.options, key=lambda option: option.cost_usd or Decimal(0))
    assert cheapest.action == advised
    assert advice.advice == "stop"


def test_refused_restarts_that_take_forty_minutes_move_the_border_to_67_hours() -> None:
    advice = advise(
        box(waiting_usd_per_hour=Decimal(30), gone_share=0.1, gone_usd=Decimal(20)), Absence()
    )
    assert advice.destroy_after_h == pytest.approx(66.65, abs=0.01)  # (8.4807 - 3.852554)/S
    assert round(advice.options[1].back_usd, 2) == Decimal("3.85")


@pytest.mark.parametrize(("half_life", "hours"), [(24.0, 8.3), (6.0, 4.5)])
def test_a_gpu_that_others_take_meanwhile_brings_destroy_forward(
    half_life: float, hours: float
) -> None:
    changed = {"gone_half_life_hours": half_life, "gone_usd": Decimal("0.50")}
    advice = advise(box(**changed), Absence())
    assert round(advice.destroy_after_h or 0, 1) == hours
    assert advice.guarantee is None


# --- clocks that end a state ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("expires_h", "hours", "advised"),
    [
        # 15 days, 10 days: away for 20 days the data would be lost, however cheap the stop
        (360, 360, "stop"), (360, 361, "destroy"), (240, 239, "stop"), (240, 241, "destroy"),
        (360, 480, "destroy"), (20, 48, "destroy"),
    ],
)  # fmt: skip
def test_a_stopped_box_that_is_deleted_before_the_return_is_no_choice(
    expires_h: float, hours: float, advised: str
) -> None:
    # 1 GB: 480 h stopped cost 0.13 $
    advice = away(hours, disk_gb=Decimal(1), stop_expires_hours=expires_h)
    assert advice.advice == advised


@pytest.mark.parametrize(
    ("expires_h", "plan"),
    [
        # an hour, or a tenth of the clock, is left to save what is there: 10 - 1, 5 - 0.5
        (10.0, [(0, "keep"), (0.034, "stop"), (9, "destroy")]),
        (5.0, [(0, "keep"), (0.034, "stop"), (4.5, "destroy")]),
        (12.45, [(0, "keep"), (0.034, "stop"), (11.45, "destroy")]),
        # 13.46 - 1 = 12.46 h lies behind the border at 12.45 h
        (13.46, [(0, "keep"), (0.034, "stop"), (12.45, "destroy")]),
        (20.0, [(0, "keep"), (0.034, "stop"), (12.45, "destroy")]),
    ],
)
def test_a_plan_ends_a_state_before_the_provider_does(
    expires_h: float, plan: list[tuple[float, str]]
) -> None:
    assert plan_of(advise(box(stop_expires_hours=expires_h), Absence())) == plan


def test_destroy_is_the_cheapest_choice_left_from_the_expiry_on() -> None:
    advice = advise(box(stop_expires_hours=10.0), Absence())
    assert advice.destroy_after_h == pytest.approx(10)


def test_two_dollars_of_balance_pay_twenty_nine_hours_stopped() -> None:
    # 2/0.0694444 = 28.8 h; 0.25 x 3.4828 + 5 $ would hold the stop until 83 h otherwise
    advice = advise(box(balance_usd=Decimal(2), search_usd=Decimal(5)), Absence())
    assert advice.options[1].until_h == pytest.approx(28.8)
    # 2.04 min on cost 0.1184 $; (2 - 0.1184)/0.0694444 + 0.034 = 27.128 h: an hour before
    assert plan_of(advice)[-1] == (26.128, "destroy")
    assert advise(box(search_usd=Decimal(5)), Absence()).destroy_after_h == pytest.approx(
        84.45, abs=0.01
    )


def test_a_balance_that_keeping_eats_ends_the_stop_sooner() -> None:
    slow = box(usd_per_hour=Decimal(2), disk_gb=Decimal(50), setup_minutes=120.0,
               restart_minutes=30.0, balance_usd=Decimal("1.2"))  # fmt: skip
    plan = plan_of(advise(slow, Absence()))
    # T1 = 1/(2 - 0.0138889) = 0.5035 h, 1.007 $; (1.2 - 1.007)/0.0138889 = 13.9 h; 14.4 h less 1
    assert [name for _, name in plan] == ["keep", "stop", "destroy"]
    assert plan[-1][0] == pytest.approx(13.4, abs=0.05)


def test_six_dollars_of_balance_pay_eight_hours_on() -> None:
    # 6/0.74 = 8.108 h
    found = costs(box(usd_per_hour=Decimal("0.74"), balance_usd=Decimal(6))).options[0]
    assert found.until_h == pytest.approx(8.108, abs=5e-4)
    assert found.holds(8.1)
    assert not found.holds(8.2)


# --- no stop, or one that saves nothing ----------------------------------------------------


@pytest.mark.parametrize(("waiting", "minutes"), [("0", 16.9), ("30", 146.1)])
def test_without_a_stop_keep_or_destroy_is_left(waiting: str, minutes: float) -> None:
    advice = advise(box(stop=None, waiting_usd_per_hour=Decimal(waiting)), Absence())
    assert [option.action for option in advice.options] == ["keep", "destroy"]
    assert round(advice.keep_until_h * 60, 1) == minutes
    assert advice.stopped_usd_per_hour is None
    assert advice.saved_usd_per_hour is None
    assert advice.gpu_gone_break_even is None


def test_a_stopped_disk_of_unknown_price_is_not_taken_for_free() -> None:
    advice = away(8, storage_usd_per_gb_month=None)
    assert [option.action for option in advice.options] == ["keep", "destroy"]


@pytest.mark.parametrize("hours", [0.5, 8, 100])
def test_a_stop_that_bills_more_than_running_is_never_advised(hours: float) -> None:
    dear = {"usd_per_hour": Decimal("0.05"), "stopped_storage_usd_per_gb_month": Decimal("0.40")}
    assert away(hours, **dear).advice != "stop"  # 250 x 0.40/720 = 0.139 $/h
    plan = advise(box(**dear), Absence()).plan
    assert "stop" not in [step.action for step in plan]


def test_a_stop_is_called_what_the_provider_calls_it() -> None:
    for action in ("stop", "pause", "hibernate", "deallocate"):
        assert away(8, stop=action).advice == action


def test_a_box_that_says_why_it_has_no_stop_has_none() -> None:
    found = IdleBox.model_validate(
        {"usd_per_hour": 3, "setup_minutes": 15, "no_stop": "nobody offers one"}
    )
    assert [option.action for option in advise(found, Absence()).options] == ["keep", "destroy"]


# --- what would change the advice, and laws ------------------------------------------------


def test_what_would_change_the_advice_is_said() -> None:
    # 10 h away: stop 0.811, destroy 0.981. With 10 minutes' restart stop is 1.275.
    flips = away(10).flips
    assert "restart of 10 minutes: destroy" in flips
    assert not [text for text in flips if text.endswith(": stop")]


def test_how_far_a_longer_restart_moves_the_border_is_said() -> None:
    flips = advise(box(restart_minutes=None), Absence()).flips
    assert "restart of 10 minutes: destroy after 5.8 h instead of 12.5 h" in flips
    assert "your waiting time at $30/h: destroy after 106.1 h instead of 12.5 h" in flips
    assert "half the disk: destroy after 24.9 h instead of 12.5 h" in flips


def test_what_is_so_already_is_not_said_to_change_the_advice() -> None:
    # 10 minutes' restart: T2 = 0.400233/0.0694444 = 5.763 h, a near tie up to 7.176 h
    advice = away(6, restart_minutes=10.0)
    assert advice.advice == "stop"
    assert "restart of 10 minutes: destroy" not in advice.flips


BOXES = st.builds(
    box,
    usd_per_hour=st.decimals("0.1", 40, places=2),
    disk_gb=st.integers(0, 2_000).map(Decimal),
    restart_minutes=st.floats(0, 30),
    setup_minutes=st.floats(0, 120),
    gone_share=st.sampled_from([None, 0.1, 0.9]),
    gone_usd=st.integers(0, 20).map(Decimal),
    stop=st.sampled_from(["stop", None]),
    kept_data=st.sampled_from([None, VOLUME]),
    waiting_usd_per_hour=st.integers(0, 60).map(Decimal),
    balance_usd=st.sampled_from([None, Decimal(5)]),
    stop_expires_hours=st.sampled_from([None, 0.5, 100]),
)


@given(BOXES, st.floats(0, 2_000))
def test_what_is_advised_costs_at_most_a_near_tie_more_than_the_cheapest(
    idle: IdleBox, hours: float
) -> None:
    advice = advise(idle, Absence(hours=hours))
    usd = {
        o.action: o.cost_usd or Decimal(0)
        for o in advice.options
        if o.until_h is None or hours <= o.until_h
    }
    assert advice.advice in usd
    extra = usd[advice.advice] - min(usd.values())
    assert extra <= min(advice.rebuild_usd / 10, Decimal("0.30")) + Decimal("1e-12")
    if advice.advice in ("destroy", "keep-data"):
        assert extra == 0


@given(BOXES, st.sampled_from([Absence(), Absence(mean_hours=8, never=0.05),
                               Absence(recorded_hours=(0.5, 3, 60), away_hours=(4,))]))  # fmt: skip
def test_every_plan_is_in_order_and_stays_in_no_state_that_has_ended(
    idle: IdleBox, absence: Absence
) -> None:
    advice = advise(idle, absence)
    times = [step.from_h for step in advice.plan]
    assert times[0] == 0
    assert times == sorted(set(times))
    soon = [step.action for step in advice.plan if step.from_h <= 5 / 60]
    assert advice.advice == soon[0] or (soon[0] == "keep" and advice.advice == soon[1])
    until = {option.action: option.until_h for option in advice.options}
    for step, end in zip(advice.plan, [*times[1:], float("inf")], strict=True):
        last = until[step.action]
        assert last is None or end <= last


@given(BOXES, st.floats(0, 1_000), st.floats(0, 1_000))
def test_a_longer_absence_never_costs_less_in_any_state(
    idle: IdleBox, one_h: float, other_h: float
) -> None:
    low, high = sorted((one_h, other_h))
    for option in costs(idle).options:
        assert option.cost_usd(low) <= option.cost_usd(high) + Decimal("1e-12")
