import { useState } from "preact/hooks";
import { Problem } from "../api/client";
import { mayDo } from "../parts/acts";
import { Failed } from "../parts/views";
import { go, linkTo } from "../state/location";
import { startDemo } from "./demo";

/** Stores and starts the demo job, and shows its run. */
export function DemoStart() {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const may = mayDo("edit");
  const start = async () => {
    setBusy(true);
    setProblem(null);
    try {
      go(linkTo(await startDemo()));
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" class="main" disabled={busy || !may} onClick={() => void start()} title={may ? undefined : "This needs the role edit."}>
        {busy ? "Asked…" : "Start the demo job"}
      </button>
      {problem ? <Failed problem={problem} /> : null}
    </>
  );
}
