"""The page about the server does what it says: each of its commands runs, against a server that it has started."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.web.how_to_pages import blocks, curl, lines

PAGE = "run-the-server.md"
NIGHTLY = """
env { job.name = nightly }
source { FakeSource { row.num = 10, schema { table = "shop.t", fields { id = bigint } } } }
sink { Console {} }
"""


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    """Every command in its order: installed already, so `pip` is left out; the server gets a free port."""
    program = [sys.executable, "-m", "seatunnel_py"]
    (tmp_path / "nightly.conf").write_text(NIGHTLY)
    environment = {**os.environ, "SEATUNNEL_HOME": ".seatunnel"}
    subprocess.run(
        [*program, "run", "nightly.conf", "--job-id", "nightly", "--here"],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    server = subprocess.Popen(
        [*program, "server", "run", "--port", "0", "--warm-drivers", "0"],
        cwd=tmp_path,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    printed = [server.stdout.readline(), server.stdout.readline()]
    try:
        shown = blocks(PAGE, "text")[0].splitlines()
        url = re.search(r"http://\S+(?=;)", printed[1])
        assert url is not None
        wanted = [
            line.replace("http://127.0.0.1:5801", url[0]).replace(".seatunnel", str(tmp_path / ".seatunnel"))
            for line in shown
        ]
        assert [line.rstrip() for line in printed] == wanted
        token = (tmp_path / ".seatunnel/server/admin.token").read_text().strip()
        places = {"TOKEN": token, "URL": f"{url[0]}/api/v1", "server": url[0]}
        done = []
        for line in lines(PAGE):
            if line.startswith("curl "):
                answer = curl(line, places)
                assert answer.is_success, (line, answer.text)
                done.append(answer)
            elif line.startswith("seatunnel server token"):
                subprocess.run(
                    [*program, *shlex.split(line)[1:]], cwd=tmp_path, env=environment, check=True, capture_output=True
                )
            else:
                assert re.match(r"pip install |seatunnel server run$|TOKEN=|URL=", line), line
        assert len(done) == 7 and [one.status_code for one in done[-2:]] == [201, 202]
        assert [row["job_id"] for row in done[0].json()["runs"]] == ["nightly"]
    finally:
        server.terminate()
        assert server.wait(20) == 0
        server.stdout.close()
