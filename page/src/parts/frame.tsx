// The frame of every page: the head with the connection, and the bar that shows when it is lost.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem, send, session } from "../api/client";
import type { About } from "../api/shapes";
import { connection, tryNow } from "../api/stream";
import { useAnswer } from "../state/asking";
import { switchTheme, switchZone, theme, zone } from "../state/choices";
import { now } from "../state/clock";
import { lockDrafts } from "../state/drafts";
import { linkTo, linkToCatalogue, linkToDiscover, linkToEditor } from "../state/location";
import { clock, offset, plainName } from "../text/format";
import { helpOpen, KEYS } from "./keys";

const ABOUT_MS = 15_000;

export function Frame({ children }: { children: ComponentChildren }) {
  const lost = connection.value.is === "lost";
  return (
    <div class={lost ? "page stale" : "page"}>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>
        to the content
      </a>
      <Head />
      <LostBar />
      <FollowerBar />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <Help />
    </div>
  );
}

function Head() {
  const known = session.value;
  return (
    <header class="head">
      <a class="brand" href={linkTo()}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" />
          <path d="M6 20c4 0 4-8 8-8s4 8 8 8 4-4 4-4" />
        </svg>
        SeaTunnel
      </a>
      <nav aria-label="pages">
        <a href={linkTo()}>Jobs</a>
        <a href={linkToEditor()}>New job</a>
        <a href={linkToDiscover()}>Discover</a>
        <a href={linkToCatalogue()}>Catalogue</a>
      </nav>
      <div class="head-end">
        <Light />
        <button type="button" class="quiet" onClick={switchZone} title={zone.value === "UTC" ? "times are in UTC; show them in the zone of this browser" : "times are in the zone of this browser; show them in UTC"}>
          <span class="unseen">times in </span>
          <Offset />
        </button>
        <button type="button" class="quiet" onClick={switchTheme} title="colours: as the system has them, light, dark">
          {theme.value === "system" ? "auto" : theme.value}
          <span class="unseen"> colours</span>
        </button>
        <button type="button" class="quiet" onClick={() => { helpOpen.value = true; }} aria-label="keys">
          ?
        </button>
        {known !== null && known !== "out" ? (
          <span class="who">
            <span class="who-name">{known.name}</span> <span class="tag">{known.role}</span>
            <button type="button" class="quiet" onClick={() => void logOut()}>
              Log out
            </button>
          </span>
        ) : null}
      </div>
    </header>
  );
}

async function logOut(): Promise<void> {
  try {
    await send("session", { method: "DELETE" });
  } catch (error) {
    // The server is away, or the login is over already: this tab forgets it in any case.
    if (!(error instanceof Problem)) throw error;
  }
  lockDrafts();
  session.value = "out";
}

function Light() {
  const words = { open: "live", asking: "every 3 s", opening: "connecting", paused: "paused", lost: "no connection" };
  const is = connection.value.is;
  return (
    <span class={`light light-${is}`} role="status">
      <span class="dot" aria-hidden="true" />
      {words[is]}
    </span>
  );
}

function LostBar() {
  const found = connection.value;
  if (found.is !== "lost" || found.why === "the tab was hidden") return null;
  return (
    <div class="lost" role="alert">
      <strong>Connection lost since {clock(found.since / 1000, zone.value)}.</strong> Numbers stand as they were then. The page connects
      again by itself.
      <button type="button" onClick={tryNow}>
        Connect now
      </button>
    </div>
  );
}

/** The offset of the zone. A part of its own: it is drawn again each second, and the frame is not. */
function Offset() {
  return <>{offset(now.value, zone.value)}</>;
}

/** Several servers have one home: this one reads and takes orders, and another one acts on them. */
function FollowerBar() {
  const known = session.value;
  const several = known !== null && known !== "out" && known.several === true;
  const [turn, setTurn] = useState(0);
  const found = useAnswer<About>(several ? "about" : null, turn, true).data;
  useEffect(() => {
    if (!several) return;
    const timer = window.setInterval(() => setTurn((before) => before + 1), ABOUT_MS);
    return () => window.clearInterval(timer);
  }, [several]);
  if (found === null || found.role !== "follower") return null;
  return (
    <div class="follows" role="status">
      {found.leader === null ? (
        "No server leads at this moment: nothing is started or restarted until one does."
      ) : (
        <>
          This server follows. Runs are started and restarted by <bdi class="mono">{plainName(found.leader)}</bdi>.
        </>
      )}
    </div>
  );
}

function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (helpOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [helpOpen.value]);
  return (
    <dialog ref={dialog} class="help" aria-label="keys" onClose={() => { helpOpen.value = false; }}>
      <h2>Keys</h2>
      <dl>
        {KEYS.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              {keys.split("  ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
