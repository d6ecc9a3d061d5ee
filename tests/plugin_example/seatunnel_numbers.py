from collections.abc import Iterator

from seatunnel_py.api import Position, SimpleSource, Split, option


class Numbers(SimpleSource):
    name = "Numbers"
    columns = {"n": "bigint"}
    upto: int = option(ge=0, doc="the last number; 1 is the first")

    def read(self, split: Split, start: Position | None) -> Iterator[dict[str, int]]:
        return ({"n": n} for n in range(1, self.upto + 1))
