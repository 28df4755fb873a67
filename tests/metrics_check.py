#!/usr/bin/env python3
"""Computes a run's metrics from `automem export`, by the definitions of docs/METRICS.md.

    automem export RUN --jsonl - | python3 tests/metrics_check.py

Independent of the program's own code; Python's standard library only. Prints one JSON document.
"""

import collections
import functools
import json
import re
import sys

THINGS = {
    "crafter": "water grass stone path sand tree lava coal iron diamond table furnace cow zombie skeleton arrow plant".split()
}
BLANK = " \t\n\x0c\r"
STAMPS = {"step", "steps", "turn", "tick", "time", "t"}
COMPASS = {"north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest"}
OPPOSITES = [
    ("north", "south"), ("east", "west"), ("northeast", "southwest"), ("northwest", "southeast"),
    ("up", "down"), ("left", "right"), ("forward", "backward"),
]
WORD = re.compile(r"[A-Za-z0-9\u0080-\U0010ffff]+")
MARK = re.compile(r"[A-Za-z_\u0080-\U0010ffff]+|-?[0-9]+, ?-?[0-9]+|-?[0-9]+|-")
PAIR = re.compile(r"-?[0-9]+, ?-?[0-9]+")
LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def lines(text):
    return [line for line in (piece.strip(BLANK) for piece in text.split("\n")) if line]


@functools.lru_cache(maxsize=64)
def counted(text):
    return collections.Counter(lines(text))


@functools.lru_cache(maxsize=64)
def meanings(text):
    return {meaning(line) for line in counted(text)}


def words(text):
    """Words with the characters beside them."""
    for found in WORD.finditer(text):
        start, end = found.span()
        word = found.group()
        if re.fullmatch("[0-9]+", word) and text[start - 1:start] == "-":
            if not WORD.match(text[start - 2:start - 1] if start >= 2 else ""):
                start, word = start - 1, "-" + word
        yield word, text[start - 1:start] if start else "", text[end:end + 1]


@functools.lru_cache(maxsize=None)
def meaning(line):
    said = []
    first = True
    for word, before, after in words(line):
        if re.fullmatch("-?[0-9]+", word):
            bracketed = before == "[" and after == "]"
            numbered = first and after in (":", ".", ")", "|")
            named = bool(said) and said[-1] in STAMPS
            if bracketed or numbered or named:
                if named and not bracketed:
                    said.pop()
                first = False
                continue
        first = False
        said.append(word.translate(LOWER))
    return tuple(said)


def marks(text):
    found = []
    for one in MARK.finditer(text):
        mark = one.group()
        if PAIR.fullmatch(mark) or (not re.match("[-0-9]", mark) and len(mark) >= 4):
            found.append(mark)
    return found


def named_things(text, things):
    found = set()
    for word, _, _ in words(text):
        word = word.translate(LOWER)
        for thing in things:
            if word == thing or (word.endswith("s") and word[:-1] == thing):
                found.add(thing)
    return found


def says_where(line):
    return any(PAIR.fullmatch(mark) for mark in marks(line)) or any(
        word.translate(LOWER) in COMPASS for word, _, _ in words(line)
    )


def direction(action):
    said = [word.translate(LOWER) for word, _, _ in words(action)]
    if len(said) == 2 and said[0] in ("move", "go", "walk"):
        return said[1]
    return said[0] if len(said) == 1 else None


def opposite(one, other):
    pair = (direction(one), direction(other))
    return pair in OPPOSITES or pair[::-1] in OPPOSITES


def applied(text, edit):
    kind = edit["kind"]
    if kind == "append":
        return text + edit["text"]
    if kind in ("replace", "create"):
        return edit["text"]
    if kind == "splice":
        raw, gone = text.encode(), edit["deleted"].encode()
        at = edit["at"]
        assert raw[at:at + len(gone)] == gone, "a change does not fit"
        return (raw[:at] + edit["inserted"].encode() + raw[at + len(gone):]).decode()
    assert kind == "delete"
    return None


class Episode:
    def __init__(self, things):
        self.things = things
        self.files = {}
        self.start = {}
        self.count = {}
        self.per_file = {}
        # Of every line's text: the steps in which the model added copies that were not shown yet.
        self.unread = {}
        # Of every line's text that stands in memory: the first step in which the model added it.
        self.own_since = {}
        self.seen = set()
        self.progression = 0.0
        self.reward = 0.0
        self.storage = 0
        self.at_end = {}
        self.finished = []

    def add(self, name, by=1):
        self.count[name] = self.count.get(name, 0) + by

    def file(self, path):
        return self.per_file.setdefault(path, {})

    def begin(self, inherited):
        self.files = dict(inherited)
        self.start = {path: len(text.encode()) for path, text in inherited.items()}
        self.keep_files()

    def keep_files(self):
        self.at_end = dict(self.files)
        self.storage = sum(len(text.encode()) for text in self.files.values())
        for path in list(self.files):
            self.file(path)

    def copies(self, line):
        return sum(counted(text)[line] for text in self.files.values())

    def play(self, steps):
        """Steps in order: (number, events)."""
        for number, events in steps:
            done = next((i for i, body in enumerate(events) if body["event"] == "step_finished"), None)
            before = (dict(self.count), json.dumps(self.per_file))
            state = {"informed": False, "rejected": False, "invalid": False, "action": "", "frame": None}
            for body in events[: len(events) if done is None else done + 1]:
                self.take(number, body, state)
            if done is None:
                # Its changes of memory stand; what it counted does not.
                self.count, per_file = before
                self.per_file = json.loads(per_file)
                if state["frame"] is not None:
                    self.finished.append((number, state, False))
                continue
            end = events[done]
            self.add("steps")
            self.add("step_ms", end["ms"])
            for key in ("informed", "rejected", "invalid"):
                self.add(key, int(state[key]))
            self.progression = end["progression"]
            self.reward += end["reward"]
            state["reward"] = end["reward"]
            self.keep_files()
            self.finished.append((number, state, True))
        self.judge()

    def take(self, number, body, state):
        kind = body["event"]
        if kind == "observed":
            state["frame"] = body["frame"]
            for text in (body["frame"]["long"], body["frame"]["short"]):
                self.seen |= named_things(text, self.things)
        elif kind == "turn_finished":
            self.turn(number, body["turn"], state)
        elif kind == "memory_op":
            self.op(number, body["op"])
        elif kind == "human_edited":
            for change in body["changes"]:
                self.apply(number, change, False)
        elif kind == "action_rejected":
            state["rejected"] = True
        elif kind == "action_committed":
            state["action"] = body["validated"]
            state["invalid"] = body["by"] == "fallback"
        elif kind == "context_overflow":
            self.add("overflows")

    def turn(self, number, turn, state):
        self.add("calls")
        self.add("call_ms", turn["ms"])
        for name in ("prompt_tokens", "cached_tokens", "completion_tokens"):
            self.add(name, turn[name])
        prompt = turn["prompt"]
        self.add("prompt_bytes", len(prompt.encode()))
        standing = collections.ChainMap(*(counted(text) for text in self.files.values()))
        shown, others = [], []
        for line in lines(prompt):
            inside = re.fullmatch(r"(?:- |\* |[0-9]+: )(.*)", line)
            found = line if line in standing else None
            if found is None and inside and inside.group(1).strip(BLANK) in standing:
                found = inside.group(1).strip(BLANK)
            if found is None:
                others.append(line)
                continue
            shown.append(line)
            self.add("memory_bytes", len(line.encode()))
            waiting = self.unread.get(found, [])
            self.add("lines_read", sum(1 for step in waiting if step != number))
            self.unread[found] = [step for step in waiting if step == number]
            if turn["phase"] == "PLAN" and self.own_since.get(found, number) < number:
                state["informed"] = True
        memory, rest = "\n".join(shown), "\n".join(others)
        only = {mark for mark in marks(turn["response"]) if mark in memory and mark not in rest}
        used = [line for line in shown if any(mark in line for mark in only)]
        self.add("used_bytes", sum(len(line.encode()) for line in used))

    def op(self, number, op):
        own = op["by"] == "model"
        told = [self.apply(number, change, own) for change in op["changes"]]
        if not own:
            return
        name, status = op["op"], op["outcome"]["status"]
        if name in ("APPEND", "WRITE", "CREATE", "DELETE"):
            writes = True
        elif name in ("SEARCH", "READ", "TAIL", "COUNT", "LIST"):
            writes = False
        else:
            writes = bool(op["changes"]) or status == "unchanged"
        self.add("ops")
        path = (op["args"] or [""])[0].strip()
        while path.startswith("./"):
            path = path[2:]
        if status in ("refused", "malformed", "failed") or (writes and status == "missing"):
            self.add("failed_ops")
        elif writes and name != "DELETE":
            added = [known for lines_of in told for said, known in lines_of if said]
            redundant = int(not op["changes"] or (bool(added) and all(added)))
            chars = sum(len(arg) for arg in op["args"][1:])
            self.add("writes")
            self.add("log_writes", int(op["phase"] == "LOG"))
            self.add("redundant_writes", redundant)
            self.add("chars_written", chars)
            file = self.file(op["changes"][0]["path"] if op["changes"] else path)
            for key, by in (("writes", 1), ("redundant_writes", redundant), ("chars_written", chars)):
                file[key] = file.get(key, 0) + by
        elif not writes and name != "LIST":
            empty = int(status != "ok")
            self.add("retrievals")
            self.add("empty_retrievals", empty)
            if name == "SEARCH":
                self.add("searches")
                self.add("empty_searches", empty)
            if path in self.files:
                size = len(self.files[path].encode())
                given = len(op["outcome"]["text"].encode())
                whole = int(name != "SEARCH" and not empty and op["outcome"]["cut"] == 0 and given >= size)
                file = self.file(path)
                for key, by in (("retrievals", 1), ("empty_retrievals", empty), ("whole_reads", whole)):
                    file[key] = file.get(key, 0) + by

    def apply(self, number, change, own):
        path = change["path"]
        old = self.files.get(path)
        new = applied(old or "", change["edit"])
        was, now = counted(old or ""), counted(new or "")
        known = meanings(old or "")
        gone, more = was - now, now - was
        before = {line: self.copies(line) for line in gone}
        if new is None:
            self.files.pop(path)
        else:
            self.files[path] = new
        for line, count in gone.items():
            after = before[line] - count
            if after == 0:
                self.unread.pop(line, None)
                self.own_since.pop(line, None)
            else:
                # Copies of an earlier step go first where the copies left are fewer than those unread.
                waiting = self.unread.get(line, [])
                fresh = [step for step in waiting if step == number]
                keep = min(len(waiting), after)
                fresh = fresh[:keep]
                self.unread[line] = [step for step in waiting if step != number][: keep - len(fresh)] + fresh
        came = list(more.elements())
        told = []
        for line in came:
            told.append((meaning(line), meaning(line) in known))
            if own:
                self.add("lines_written")
                self.unread.setdefault(line, []).append(number)
                self.own_since.setdefault(line, number)
                things = named_things(line, self.things)
                if things and says_where(line):
                    self.add("facts")
                    self.add("unsupported_facts", int(not things <= self.seen))
        return told

    def judge(self):
        frames = {number: state["frame"] for number, state, _ in self.finished}
        done = {number: state for number, state, finished in self.finished if finished}

        def position(frame):
            return tuple(frame["view"]["player"]) if frame["view"]["kind"] == "tiles" else None

        def asleep(frame):
            return frame["view"]["kind"] == "tiles" and frame["view"]["asleep"]

        for number, state in done.items():
            here, there = frames.get(number), frames.get(number + 1)
            if here is None or there is None or asleep(here) or asleep(there):
                continue
            stuck = (here["long"], here["short"]) == (there["long"], there["short"])
            undid = False
            if number - 1 in done:
                if position(here) is not None and position(there) is not None:
                    undid = position(here) != position(there) == position(frames[number - 1])
                else:
                    undid = opposite(done[number - 1]["action"], state["action"])
            unproductive = stuck or undid
            self.add("judged")
            self.add("stuck", int(stuck))
            self.add("oscillating", int(undid and not stuck))
            if state["informed"]:
                self.add("informed_judged")
                self.add("informed_unproductive", int(unproductive))
        order = list(done.values())
        for at, state in enumerate(order):
            key = "reward_after_informed" if state["informed"] else "reward_after_others"
            self.add(key, sum(later["reward"] for later in order[at:at + 10]))


def share(part, whole):
    return part / whole if whole else None


def metrics(episodes):
    total = {}
    for episode in episodes:
        for key, by in episode.count.items():
            total[key] = total.get(key, 0) + by
    get = lambda key: total.get(key, 0)  # noqa: E731
    steps = get("steps")
    each = lambda key: share(get(key), steps)  # noqa: E731
    mean = lambda pick: sum(pick(e) for e in episodes) / len(episodes) if episodes else 0.0  # noqa: E731
    size = lambda episode, path: len(episode.at_end.get(path, "").encode())  # noqa: E731
    files, grown_in_all = [], 0
    for path in sorted({path for episode in episodes for path in episode.per_file}):
        having = [episode for episode in episodes if path in episode.per_file]
        of = lambda key: sum(e.per_file[path].get(key, 0) for e in having)  # noqa: E731, B023
        grown = sum(size(e, path) - e.start.get(path, 0) for e in having)
        grown_in_all += grown
        files.append({
            "path": path,
            "bytes": sum(size(e, path) for e in having) / len(having),
            "lines": sum(len(lines(e.at_end.get(path, ""))) for e in having) / len(having),
            "growth_per_step": share(grown, steps),
            "writes": of("writes"),
            "redundant_writes": of("redundant_writes"),
            "chars_written_per_step": share(of("chars_written"), steps),
            "retrievals": of("retrievals"),
            "empty_retrievals": of("empty_retrievals"),
            "whole_reads": of("whole_reads"),
        })
    return {
        "steps": steps,
        "progression": mean(lambda e: e.progression),
        "return": mean(lambda e: e.reward),
        "unproductive_rate": share(get("stuck") + get("oscillating"), get("judged")),
        "stuck_rate": share(get("stuck"), get("judged")),
        "oscillating_rate": share(get("oscillating"), get("judged")),
        "invalid_action_rate": each("invalid"),
        "rejected_action_rate": each("rejected"),
        "redundant_write_rate": share(get("redundant_writes"), get("writes")),
        "redundant_writes_per_step": each("redundant_writes"),
        "writes_per_step": each("writes"),
        "chars_written_per_step": each("chars_written"),
        "writes_per_search": share(get("log_writes"), get("searches")),
        "writes_per_retrieval": share(get("log_writes"), get("retrievals")),
        "retrievals_per_step": each("retrievals"),
        "empty_retrieval_rate": share(get("empty_retrievals"), get("retrievals")),
        "empty_retrievals": get("empty_retrievals"),
        "empty_search_rate": share(get("empty_searches"), get("searches")),
        "hit_rate": share(get("retrievals") - get("empty_retrievals"), get("retrievals")),
        "failed_op_rate": share(get("failed_ops"), get("ops")),
        "written_line_read_rate": share(get("lines_read"), get("lines_written")),
        "informed_step_rate": each("informed"),
        "unproductive_after_read_rate": share(get("informed_unproductive"), get("informed_judged")),
        "reward_after_read": share(get("reward_after_informed"), get("informed")),
        "reward_after_no_read": share(get("reward_after_others"), steps - get("informed")),
        "memory_context_share": share(get("memory_bytes"), get("prompt_bytes")),
        "context_efficiency": share(get("used_bytes"), get("prompt_bytes")),
        "unsupported_fact_rate": share(get("unsupported_facts"), get("facts")),
        "prompt_tokens_per_step": each("prompt_tokens"),
        "cached_tokens_per_step": each("cached_tokens"),
        "completion_tokens_per_step": each("completion_tokens"),
        "calls_per_step": each("calls"),
        "context_overflows": get("overflows"),
        "ms_per_step": each("step_ms"),
        "ms_per_call": share(get("call_ms"), get("calls")),
        "memory_bytes": mean(lambda e: e.storage),
        "memory_growth_per_step": share(grown_in_all, steps),
        "files": files,
    }


def main():
    things, steps, inherited, seeds = [], {}, {}, {}
    for text in sys.stdin:
        event = json.loads(text)
        at, body = event["at"], event["body"]
        if body["event"] == "run_started":
            things = THINGS.get(body["meta"]["world"]["name"], [])
            continue
        if body["event"] == "run_finished":
            continue
        if body["event"] == "episode_started":
            inherited[at["episode"]], seeds[at["episode"]] = body["inherited"], body["seed"]
        steps.setdefault(at["episode"], {}).setdefault(at["step"], []).append(body)
    episodes = {}
    for number in sorted(steps):
        episode = Episode(things)
        episode.begin(inherited.get(number, {}))
        episode.play(sorted(steps[number].items()))
        episodes[number] = episode
    json.dump({
        "metrics": metrics(list(episodes.values())),
        "episodes": [
            {"episode": number, "seed": seeds.get(number, 0), "steps": e.count.get("steps", 0), "metrics": metrics([e])}
            for number, e in episodes.items()
        ],
    }, sys.stdout)


main()
