from collections.abc import Iterator
from pathlib import Path

from seatunnel_py.api import Batch, SimpleSink, WriteContext, option


class Append(SimpleSink):
    name = "Append"
    path: str = option(doc="the file that rows are appended to")

    def write(self, batches: Iterator[Batch], context: WriteContext) -> None:
        with Path(self.path).open("a") as file:
            file.writelines(f"{row}\n" for batch in batches for row in batch.data.to_pylist())
