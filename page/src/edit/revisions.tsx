// The revisions of a definition, and the difference of two of them.

import { useState } from "preact/hooks";
import { ask, Problem } from "../api/client";
import type { Revision } from "../api/shapes";
import { Choice } from "../parts/choice";
import { Ago, Name } from "../parts/marks";
import { Failed, Shown } from "../parts/views";
import { useAnswer } from "../state/asking";
import { type Draft, isChanged } from "../state/drafts";
import { query, setQuery } from "../state/location";
import { plainName } from "../text/format";
import { difference } from "./difference";

interface RevisionList {
  revisions: Revision[];
  next: number | null;
}

interface Props {
  id: string;
  draft: Draft;
  /** The newest one: another one is read again. */
  newest: number;
  take: ((text: string, number: number) => void) | null;
}

export function Revisions({ id, draft, newest, take }: Props) {
  const path = `definitions/${encodeURIComponent(id)}`;
  const before = query.value.get("before");
  const found = useAnswer<RevisionList>(`${path}/revisions${before ? `?before=${before}` : ""}`, newest);
  const [problem, setProblem] = useState<Problem | null>(null);
  const to = Number(query.value.get("to")) || newest;
  const from = Number(query.value.get("from")) || Math.max(1, to - 1);
  const put = async (number: number) => {
    try {
      setProblem(null);
      take?.((await ask<{ text: string }>(`${path}/revisions/${number}`)).text, number);
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error)));
    }
  };
  return (
    <>
      {problem ? <Failed problem={problem} /> : null}
      {isChanged(draft) ? (
        <section aria-label="not saved">
          <h3>not saved: from revision {draft.base} to the text as it is here</h3>
          <DiffLines lines={difference(draft.saved, draft.text, ["saved", "here"])} />
        </section>
      ) : null}
      <Shown of={found} rows={3}>
        {(data) => (
          <>
            <ol class="revisions" aria-label="revisions">
              {data.revisions.map((one) => (
                <li key={one.number}>
                  <span class="num">{one.number}</span>
                  <span>
                    <Ago at={one.at} /> by <Name text={one.author} most={24} />
                    {one.comment ? <span class="sub">{plainName(one.comment)}</span> : null}
                  </span>
                  <button type="button" class="quiet" onClick={() => setQuery({ from: String(Math.max(1, one.number - 1)), to: String(one.number) })}>
                    Changes
                  </button>
                  {take ? (
                    <button type="button" class="quiet" onClick={() => void put(one.number)} title="Put this text into the editor; it is not saved by that.">
                      Take
                    </button>
                  ) : null}
                </li>
              ))}
            </ol>
            {data.next !== null || before ? (
              <p class="pages">
                {before ? <button type="button" onClick={() => setQuery({ before: "" })}>Newest</button> : null}
                {data.next !== null ? <button type="button" onClick={() => setQuery({ before: String(data.next) })}>Older</button> : null}
              </p>
            ) : null}
          </>
        )}
      </Shown>
      {newest > 1 ? <Difference path={path} from={from} to={to} newest={newest} /> : null}
    </>
  );
}

function Difference({ path, from, to, newest }: { path: string; from: number; to: number; newest: number }) {
  const found = useAnswer<{ diff: string[] }>(`${path}/diff?from=${from}&to=${to}`);
  const shown = [...new Set([...Array.from({ length: Math.min(newest, CHOICES_MAX) }, (_, at) => newest - at), to, from])];
  const numbers = shown.map((one) => [String(one), `revision ${one}`] as const);
  return (
    <section aria-label="difference">
      <h3>
        <Choice label="from revision" value={String(from)} of={numbers} chosen={(value) => setQuery({ from: value })} /> to{" "}
        <Choice label="to revision" value={String(to)} of={numbers} chosen={(value) => setQuery({ to: value })} />
      </h3>
      <Shown of={found} rows={3}>
        {(data) => (data.diff.length === 0 ? <p class="none">Their texts are equal.</p> : <DiffLines lines={data.diff} />)}
      </Shown>
    </section>
  );
}

const CHOICES_MAX = 100;
const LOOKS: Record<string, string> = { "+": "diff-added", "-": "diff-removed", "@": "diff-place" };

/** Lines in the form of `diff -u`, without the names of both texts. */
export function DiffLines({ lines }: { lines: readonly string[] }) {
  return (
    <pre class="diff mono" tabIndex={0}>
      {lines.slice(2).map((line, at) => (
        <span key={at} class={LOOKS[line[0] ?? ""] ?? "diff-same"}>
          {plainName(line)}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
