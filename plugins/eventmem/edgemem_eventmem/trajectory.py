"""How a question was answered, as training data: thoughts, actions, observations, tokens, log-probabilities, reward (section 3.4, eq. 3).

A session that the memory keeps holds all of it. What is exported can be read by TRL, ms-swift and verl; the model that is trained with it
needs a machine with a GPU.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.extend import Prompt, Record, Reply, TokenLogprob
from edgemem_eventmem.formats import Format
from edgemem_eventmem.grpo import advantages
from edgemem_eventmem.react import TASK
from edgemem_eventmem.wire import schema

if TYPE_CHECKING:
    from edgemem.extend import SessionLog

DATA_SOURCE = "edgemem"
Row = dict[str, Any]


class Truth(Record, frozen=True):
    """The right answer to a question, as a line of the file of truths."""

    question: str
    answer: str = ""
    """Wordings that are right, separated by "|"."""
    options: tuple[str, ...] = ()
    option: int | None = None
    """The right option, from 0."""


class Message(Record, frozen=True):
    """One turn; pictures by the ids of their moments."""

    role: str
    content: str
    pictures: tuple[str, ...] = ()


class Trajectory(Record, frozen=True):
    """One question and every step to its answer."""

    session: int
    group: str
    """The same for the same question with the same options about the same past."""
    question: str
    asked_us: int
    as_of_us: int
    messages: tuple[Message, ...]
    """As the model read and wrote them; without a model the actions and what they brought."""
    steps: tuple[tuple[str, str], ...]
    """Actions and observations, as JSON."""
    answer: str
    option: int | None
    status: str
    tokens_in: int
    tokens_out: int
    logprob: float | None = None
    """Sum over the tokens of all replies; None where the server gave none."""
    reward: float | None = None
    """1 for a right answer, 0 for another (eq. 5); None where the truth is not known."""
    advantage: float | None = None
    """Of the reward within its group."""
    truth: str = ""

    @property
    def prompt(self) -> tuple[Message, ...]:
        """What came before the first reply."""
        first = next((index for index, message in enumerate(self.messages) if message.role == "assistant"), len(self.messages))
        return self.messages[:first]

    @property
    def reply(self) -> tuple[Message, ...]:
        """Everything from the first reply on."""
        return self.messages[len(self.prompt) :]


def trajectory(log: SessionLog, truth: Truth | None = None) -> Trajectory:
    """A session of the log as a trajectory."""
    calls = [call for call in log.calls if call.task == TASK and not call.error]
    steps = tuple((step.action_json, step.result_json) for step in log.steps)
    logprobs = [one for call in calls if call.logprobs for one in msgspec.msgpack.decode(call.logprobs, type=tuple[TokenLogprob, ...])]
    options = truth.options if truth is not None else ()
    return Trajectory(
        session=log.id, group=group_of(log.question, options, log.as_of_us), question=log.question, asked_us=log.asked_us,
        as_of_us=log.as_of_us, messages=_said(calls[-1].request, calls[-1].reply) if calls else _done(log.question, steps), steps=steps,
        answer=log.answer, option=log.option, status=log.status, tokens_in=log.tokens_in, tokens_out=log.tokens_out,
        logprob=sum(one.logprob for one in logprobs) if logprobs else None,
        reward=None if truth is None else outcome(log.status, log.answer, log.option, truth),
        truth="" if truth is None else chr(65 + truth.option) if truth.option is not None else truth.answer,
    )  # fmt: skip


def group_of(question: str, options: Sequence[str], as_of_us: int) -> str:
    """Sixteen hex digits of the SHA-256 of what makes a group."""
    return hashlib.sha256(msgspec.json.encode([question, list(options), as_of_us])).hexdigest()[:16]


def outcome(status: str, answer: str, option: int | None, truth: Truth) -> float:
    """The reward of eq. 5. Without a right answer in the truth, abstaining is right."""
    if truth.option is not None:
        return float(option == truth.option)
    wordings = [wording for wording in map(_plain, truth.answer.split("|")) if wording]
    if not wordings:
        return float(status == "abstained")
    said = f" {_plain(answer)} "
    return float(status == "answered" and any(f" {wording} " in said for wording in wordings))


def with_advantages(found: Iterable[Trajectory]) -> list[Trajectory]:
    """The trajectories, in their order, each with its advantage within its group; those without a reward as they are."""
    kept = list(found)
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(kept):
        if one.reward is not None:
            groups[one.group].append(index)
    for indices in groups.values():
        for index, value in zip(indices, advantages([kept[i].reward or 0.0 for i in indices]), strict=True):
            kept[index] = msgspec.structs.replace(kept[index], advantage=float(value))
    return kept


def export(found: Sequence[Trajectory], form: Format, split: str = "train", files: Mapping[str, str] | None = None) -> list[Row]:
    """Rows for one JSON Lines file. `files`: path of each picture by its id; pictures without a path are left out."""
    pictures = files or {}
    if form == "trl":
        return [_trl(one) for one in found]
    if form == "preferences":
        return [row for group in _groups(found) for row in _preferences(group)]
    if form == "swift":
        return [_swift(one, pictures) for one in found]
    return [_verl(one, index, split, pictures) for index, one in enumerate(found)]


def tools() -> list[Row]:
    """The tools of the planner in OpenAI's form, which all three libraries take."""
    turn = schema()
    names = {"SearchCall": "search_memory", "OcrCall": "ocr", "DetectCall": "detect_objects"}
    said = {
        "search_memory": "Find events in long-term memory, by words or by a stretch of time in seconds.",
        "ocr": "Read the text in one picture.",
        "detect_objects": "Look for named objects in one picture.",
    }
    found = []
    for title, name in names.items():
        own = turn["$defs"][title]
        properties = {key: value for key, value in own["properties"].items() if key != "tool"}
        required = [key for key in own.get("required", ()) if key != "tool"]
        parameters = {"type": "object", "properties": properties, "required": required}
        found.append({"type": "function", "function": {"name": name, "description": said[name], "parameters": parameters}})
    return found


def _trl(one: Trajectory) -> Row:
    """A prompt-only row in TRL's conversational form. Other columns reach the reward functions of its GRPO trainer."""
    return {
        "prompt": _plain_messages(one.prompt), "solution": one.truth, "reward": one.reward, "advantage": one.advantage,
        "group_id": one.group, "logprob": one.logprob, "session": one.session,
    }  # fmt: skip


def _preferences(group: Sequence[Trajectory]) -> Iterable[Row]:
    """TRL's preference form: each right trajectory against each wrong one of its group."""
    for right in (one for one in group if one.reward == 1):
        for wrong in (one for one in group if one.reward == 0):
            chosen, rejected = _plain_messages(right.reply), _plain_messages(wrong.reply)
            yield {"prompt": _plain_messages(right.prompt), "chosen": chosen, "rejected": rejected}


def _swift(one: Trajectory, files: Mapping[str, str]) -> Row:
    """ms-swift: `messages`, with one `<image>` in the text for each path in `images`; tools as a JSON string."""
    messages, images = _with_images(one.messages, files)
    return {"messages": messages, "images": images, "tools": msgspec.json.encode(tools()).decode(), "solution": one.truth}


def _verl(one: Trajectory, index: int, split: str, files: Mapping[str, str]) -> Row:
    """Verl's RL data: prompt, the rule that judges, and what identifies the row."""
    prompt, images = _with_images(one.prompt, files)
    return {
        "data_source": DATA_SOURCE, "prompt": prompt, "images": [{"image": path} for path in images], "ability": "video_qa",
        "reward_model": {"style": "rule", "ground_truth": one.truth},
        "extra_info": {"index": index, "split": split, "session": one.session, "group_id": one.group},
    }  # fmt: skip


def _groups(found: Sequence[Trajectory]) -> list[list[Trajectory]]:
    groups: defaultdict[str, list[Trajectory]] = defaultdict(list)
    for one in found:
        groups[one.group].append(one)
    return list(groups.values())


def _plain_messages(messages: Sequence[Message]) -> list[Row]:
    return [{"role": message.role, "content": message.content} for message in messages]


def _with_images(messages: Sequence[Message], files: Mapping[str, str]) -> tuple[list[Row], list[str]]:
    rows, images = [], []
    for message in messages:
        own = [files[name] for name in message.pictures if name in files]
        text = message.content.replace("<image>", "<picture>")  # the word itself, read somewhere, is no picture
        rows.append({"role": message.role, "content": "<image>" * len(own) + text})
        images += own
    return rows, images


def _said(request: bytes, reply: str) -> tuple[Message, ...]:
    prompt = msgspec.msgpack.decode(request, type=Prompt)
    told = [Message(role=message.role, content=message.text, pictures=message.image_ids) for message in prompt.messages]
    return (*told, Message(role="assistant", content=reply))


def _done(question: str, steps: Sequence[tuple[str, str]]) -> tuple[Message, ...]:
    """Without a model: each action as if it had been said, each result as if it had been told."""
    told = [Message(role="user", content=question)]
    for action, result in steps:
        told.append(Message(role="assistant", content=action))
        if not _ends(action):
            told.append(Message(role="user", content=result))
    return tuple(told)


def _ends(action: str) -> bool:
    try:
        msgspec.json.decode(action, type=Reply)
    except msgspec.DecodeError:
        return False
    return True


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
