import "./style/tokens.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/jobs.css";
import "./style/job.css";
import "./style/forced_colours.css";
import "./style/print.css";

import { render } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { ask, Problem, session } from "./api/client";
import type { Session } from "./api/shapes";
import { follow } from "./api/stream";
import { JobPage } from "./job/page";
import { JobsPage } from "./jobs/page";
import { logIn, Login, takenCode } from "./login";
import { Frame } from "./parts/frame";
import { pageKeys } from "./parts/keys";
import { lazily } from "./parts/lazily";
import { Empty, Failed } from "./parts/views";
import { followLink, linkTo, route } from "./state/location";

const EditorPage = lazily(() => import("./edit/page").then((one) => one.EditorPage));

const DiscoverPage = lazily(() => import("./later").then((one) => one.DiscoverPage));

const CataloguePage = lazily(() => import("./later").then((one) => one.CataloguePage));

/** Begin with the code of a login link, or with the session that the browser has. */
async function begin(code: string): Promise<void> {
  if (code) await logIn({ code });
  else session.value = await ask<Session>("whoami");
}

function Page() {
  const [problem, setProblem] = useState<Problem | undefined>();
  const [tries, setTries] = useState(0);
  useEffect(() => {
    begin(takenCode()).catch((error: unknown) => {
      const found = error instanceof Problem ? error : new Problem(0, String(error));
      const plain = found.status === 401 && found.kind === "token";
      if (found.status !== 0) session.value = "out";
      setProblem(plain ? undefined : found);
    });
  }, [tries]);
  const known = session.value;
  if (known === "out") return <Login failed={problem} />;
  if (known === null) return problem ? <main class="login"><Failed problem={problem} again={() => setTries(tries + 1)} /></main> : null;
  return (
    <Frame>
      <Shown />
    </Frame>
  );
}

function Shown() {
  const found = route.value;
  const [broken, whole] = useErrorBoundary();
  useEffect(() => {
    if (found.page !== "job") follow(["runs"]); // the page of a job adds its run, once it is there
  }, [found]);
  if (broken) return <Failed problem={new Problem(0, "The page has a fault and cannot show this.", `${String(broken)}. Please report it.`)} again={whole} />;
  if (found.page === "jobs") return <JobsPage />;
  if (found.page === "job") return <JobPage key={found.run} run={found.run} tab={found.tab} />;
  if (found.page === "catalogue") return <CataloguePage />;
  if (found.page === "discover") return <DiscoverPage />;
  if (found.page === "edit") return <EditorPage key={found.id} id={found.id} />;
  return (
    <Empty title="There is no such page.">
      <p>
        <a href={linkTo()}>Go to the list of jobs</a>
      </p>
    </Empty>
  );
}

// A relative address would be read against each further address of the page.
for (const icon of document.querySelectorAll<HTMLLinkElement>("link[rel=icon]")) icon.setAttribute("href", icon.href);
document.addEventListener("click", followLink);
document.addEventListener("keydown", pageKeys);
render(<Page />, document.getElementById("page")!);
