"""Reasoning in answers with structured output: a draft is never taken for the answer."""

from dataclasses import dataclass

import pytest

from toolsearch.errors import OutputError
from toolsearch.output import JsonOutputConverter
from toolsearch.output.extraction import unfenced


@dataclass
class Room:
    number: str
    nights: int


DRAFT = 'First they said {"number": "12", "nights": 9}, then not.'
ANSWER = '{"number": "7", "nights": 2}'
PAIRS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<Thinking type='deep'>", "</THINKING>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<antThinking>", "</antThinking>"),
    ("<seed:think>", "</seed:think>"),
    ("<inner_monologue>", "</inner_monologue>"),
    ("<reason>", "</reason>"),
    ("<plan>", "</plan>"),
    ("<draft>", "</draft>"),
    ("<critique>", "</critique>"),
    ("<thought_process>", "</thought_process>"),
    ("&lt;think&gt;", "&lt;/think&gt;"),
    ("<details type='reasoning'>\n<summary>Thought for 3 seconds</summary>\n", "\n</details>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<unused94>thought", "<unused95>"),
    ("<|channel>thought\n", "<channel|>"),
    ("Here is my thought process:", "\nHere is my response:"),
    ("<think>", "</thinking>"),
    ("<thinking><think>a</think>", "</thinking>"),
    ("<think><reflection>b</reflection>", "</think>"),
    ("<think>Never write `<think>` here.", "</think>"),
    ("", "</think>"),
    ("", "</thinking>"),
    ("", "[/THINK]"),
    ("```thinking\n", "\n```\n"),
    ("```\n<think>", "</think>\n```\n"),
    ("<think>\n```json\n", "\n```\n</think>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>"),
    ("analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysisThe user: ", "assistantfinal"),
]


@pytest.mark.parametrize(("before", "after"), PAIRS)
@pytest.mark.parametrize("wrapped", ["{}", "\n{}", "```json\n{}\n```", "Sure! {} Bye."])
def test_a_draft_is_not_the_answer(before: str, after: str, wrapped: str) -> None:
    text = before + DRAFT + after + wrapped.replace("{}", ANSWER)
    assert JsonOutputConverter(Room).parse(text) == Room("7", 2)


@pytest.mark.parametrize("before", [before for before, _ in PAIRS if before])
def test_reasoning_that_never_ends_has_no_answer(before: str) -> None:
    with pytest.raises(OutputError):
        JsonOutputConverter(Room).parse(before + DRAFT)


@pytest.mark.parametrize("tag", ["<think>", "</think>", "</thinking>", "[THINK]", "<|channel|>final<|message|>"])
@pytest.mark.parametrize("text", ["{}", "Here: {}", "```json\n{}\n```"])
def test_a_tag_in_a_value_belongs_to_the_value(tag: str, text: str) -> None:
    answer = f'{{"number": "{tag}", "nights": 2}}'
    assert JsonOutputConverter(Room).parse(text.replace("{}", answer)) == Room(tag, 2)


def test_reasoning_after_the_answer_and_twice() -> None:
    text = f"<think>{DRAFT}</think> So: <think>{DRAFT}</think> {ANSWER} <thinking>{DRAFT}</thinking>"
    assert JsonOutputConverter(Room).parse(text) == Room("7", 2)


def test_scalars_come_without_reasoning() -> None:
    assert JsonOutputConverter(int).parse("<reasoning>4? 5!</reasoning>\n6") == 6


def test_other_formats_keep_their_elements() -> None:
    assert unfenced("<analysis>yes</analysis>") == "<analysis>yes</analysis>"
    assert unfenced("<thinking>a</thinking>city: Gouda") == "city: Gouda"


@pytest.mark.parametrize("text", ["&lt;think " * 5_000, "&lt;think a" * 5_000, "< " * 20_000, "&lt;" * 20_000])
def test_tags_that_never_end_are_read_in_linear_time(text: str) -> None:
    assert unfenced(text).startswith(text[:4])
