// The login: a token is exchanged for a session, whose cookie scripts cannot read. The token is kept nowhere.

import { useState } from "preact/hooks";
import { ask, Problem, session } from "./api/client";
import type { Session } from "./api/shapes";
import { drafts, isChanged } from "./state/drafts";

/** Log in with a token, or with the code of the link that the server has printed. */
export async function logIn(given: { token: string } | { code: string }): Promise<void> {
  session.value = await ask<Session>("session", { method: "POST", body: given });
}

/** The code in the fragment of a login link, which is then removed from the address and from the history. */
export function takenCode(): string {
  const found = /^#login=([\w-]+)$/.exec(location.hash);
  if (found) history.replaceState(null, "", location.pathname + location.search);
  return found?.[1] ?? "";
}

export function Login({ failed }: { failed?: Problem | undefined }) {
  const [problem, setProblem] = useState<Problem | undefined>(failed);
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem("token") as HTMLInputElement;
    const token = field.value.trim();
    if (!token) return;
    setBusy(true);
    setProblem(undefined);
    try {
      await logIn({ token });
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error)));
      field.select();
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form onSubmit={(event) => void submit(event)}>
        <svg viewBox="0 0 32 32" aria-hidden="true" class="login-mark">
          <rect width="32" height="32" rx="7" />
          <path d="M6 20c4 0 4-8 8-8s4 8 8 8 4-4 4-4" />
        </svg>
        <h1>SeaTunnel</h1>
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="off" spellcheck={false} autofocus placeholder="stp_…" aria-describedby="token-hint" />
        <p id="token-hint" class="faint">
          The first one is in <code>server/admin.token</code> of the home. <code>seatunnel server token create NAME</code> makes
          another one.
        </p>
        {[...drafts.value.values()].some(isChanged) ? <p role="status">The text that was edited here is kept until the tab is closed.</p> : null}
        {problem ? (
          <div class="failed" role="alert">
            <p>
              <strong>{problem.message}</strong>
            </p>
            {problem.remedy ? <p>{problem.remedy}</p> : null}
          </div>
        ) : null}
        <button type="submit" class="main" disabled={busy}>
          {busy ? "Logging in…" : "Log in"}
        </button>
      </form>
    </main>
  );
}
