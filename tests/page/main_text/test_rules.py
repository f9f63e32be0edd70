"""The list of rules."""

from __future__ import annotations

from worker.page.main_text.rules import NAMES, RULES, without


def test_each_rule_has_a_number_and_a_name_of_its_own() -> None:
    assert len(NAMES) == len({rule.name for rule in RULES}) == len(RULES)
    assert 0 not in NAMES, "0 stands for what no rule drops"


def test_each_reason_is_a_sentence() -> None:
    assert all(rule.reason[0].isupper() and rule.reason.endswith(".") for rule in RULES)


def test_rules_are_left_out_by_a_bit_each() -> None:
    assert without() == 0
    assert without(*RULES) == sum(1 << number for number in NAMES)
