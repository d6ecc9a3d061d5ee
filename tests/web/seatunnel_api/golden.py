"""Stored answers of SeaTunnel's API, and how they are compared: exactly, but for values that differ from run to run.

Each rule names the keys, the form that their values have, and the word that stands for them in the stored answer. A
value of another form fails. ``UPDATE_GOLDEN=1`` writes the stored answers anew, for a review of the difference.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"
TIME = r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}"
UTC = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}\+00:00"
RULES = [
    (r"(create|start|finish|finished)Time", f"({TIME})?", "TIME"),
    (r"(create|start|finish|finished)TimeUtc", f"({UTC})?", "UTC"),
    (r"timestamp", r"\d{4}-\d{2}-\d{2}T[\d:.]+(\+00:00|Z)", "UTC"),
    (r".*(QPS|BytesPerSeconds)", r"\d+(\.\d+)?", "RATE"),
    (
        r"(trigger|completed)Timestamp|updatedAt|(oldest|newest)?[eE]nqueueTimestamp|checkTime",
        r"\d{13}",
        "MILLISECONDS",
    ),
    (r"durationMillis|stateSize|waitDurationMs", r"\d+", "NUMBER"),
    (r"request", r"[0-9a-f]{16}", "REQUEST"),
    (r"address|node|host|port|worker", r"[\w.:-]+", "HOST"),
    (r"logLink", r"http://[\w.:]+/logs/job-\d+\.log", "LINK"),
    (r"projectVersion", r"\d+\.\d+\.\d+\S*", "VERSION"),
    (r"processors|thread\.count", r"\d+", "NUMBER"),
    (r".*used/.*|load\.system", r"\d+\.\d\d%", "SHARE"),
    (r"(physical|swap|heap|disk)\..*(total|free|used|max)", r"\d+(\.\d+[KMGT])?", "SIZE"),
    (r"load\.systemAverage", r"\d+\.\d\d", "NUMBER"),
]


def masked(value: Any, key: str = "") -> Any:
    """The answer with the words of the rules; an empty text stays."""
    if isinstance(value, dict):
        return {
            name: masked(one, key if re.fullmatch(r"Table.*(QPS|Seconds)", key) else name)
            for name, one in value.items()
        }
    if isinstance(value, list):
        return [masked(one, "") for one in value]
    if isinstance(value, str):
        value = re.sub(r"/\S*/in\.json", "FOLDER/in.json", value)
    for keys, form, word in RULES:
        if re.fullmatch(keys, key) and value not in ("", None):
            assert re.fullmatch(form, str(value)), (key, value)
            return word
    return value


def compare(name: str, answer: Any) -> None:
    """Fails where an answer is not the stored one."""
    file = GOLDEN / f"{name}.json"
    found = masked(answer)
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(file.read_text()), name
