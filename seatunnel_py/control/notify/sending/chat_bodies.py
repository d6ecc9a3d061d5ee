"""The bodies that chats take: Slack, Microsoft Teams, Feishu and DingTalk. Pure.

Names of jobs and texts of errors are data: none of them mentions a person, makes a link, or formats the message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from seatunnel_py.control.notify.sending.plain_message import PlainMessage

Body = Mapping[str, Any]
_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
FIELD_CHARACTERS_MAX = 2_000
KEYWORD = "[seatunnel]"
"""Robots of Feishu and DingTalk may ask for a word in each message."""


def slack(message: PlainMessage) -> Body:
    """For an incoming webhook of Slack, or of what is compatible with it, such as Mattermost."""
    blocks: list[dict[str, Any]] = [{"type": "section", "text": _plain(message.title)}]
    if message.lines:
        blocks.append({"type": "section", "text": _plain("\n".join(message.lines))})
    if message.link:
        blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": f"<{message.link}|Open the run>"}]})
    return {"text": _for_slack(message.title), "blocks": blocks}


def teams(message: PlainMessage) -> Body:
    """For a webhook of a workflow of Teams: an adaptive card. Runs of text are shown as they are."""
    title = {"type": "TextRun", "text": message.title, "weight": "Bolder"}
    lines = [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": line}]} for line in message.lines]
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [title]}, *lines],
    }
    if message.link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open the run", "url": message.link}]
    content = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [content]}


def feishu(message: PlainMessage) -> Body:
    """Make the body for a robot of Feishu, or Lark. Angle brackets are replaced: a tag would mention persons."""
    return {"msg_type": "text", "content": {"text": _without_tags(f"{KEYWORD} {message.text}")}}


def dingtalk(message: PlainMessage) -> Body:
    """For a robot of DingTalk, without mentions."""
    content = {"content": f"{KEYWORD} {message.text}"}
    return {"msgtype": "text", "text": content, "at": {"atMobiles": [], "isAtAll": False}}


BODIES: Mapping[str, Callable[[PlainMessage], Body]] = {
    "slack": slack, "teams": teams, "feishu": feishu, "dingtalk": dingtalk,
}  # fmt: skip


def refusal(chat: str, answer: bytes) -> str:
    """Why a chat has refused a message although its answer is 200; empty: it has not."""
    name = {"feishu": "code", "dingtalk": "errcode"}.get(chat)
    if name is None:
        return ""
    try:
        found = json.loads(answer)
        code = found.get(name, found.get("StatusCode", 0))
        return "" if code == 0 else f"it has refused the message: {name} {code} {found.get('msg', found.get('errmsg'))}"
    except (ValueError, AttributeError, RecursionError):
        return "its answer is not that of the chat"


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text[:FIELD_CHARACTERS_MAX], "emoji": False}


def _for_slack(text: str) -> str:
    return "".join(_ESCAPED.get(letter, letter) for letter in text)


def _without_tags(text: str) -> str:
    return text.replace("<", "\u2039").replace(">", "\u203a")
