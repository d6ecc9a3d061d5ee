// Asks the server. Addresses are relative to the place of the scripts, so the page works below any path of a proxy.

import { signal } from "@preact/signals";
import type { Fault, Session } from "./shapes";

const here = import.meta.url;
/** Where the server's own addresses begin. */
export const root = new URL("../", here);

/** Who has logged in; null: not known yet; "out": a login is needed. */
export const session = signal<Session | "out" | null>(null);

/** An answer that is not a success, or no answer at all (`status` 0). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly remedy = "",
    readonly request = "",
    readonly kind = "",
    /** The faults of a job file, each with its place. */
    readonly faults: readonly Fault[] = [],
  ) {
    super(message);
  }
}

interface Options {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  body?: unknown;
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

/** The headers of a request by a page that has logged in: other sites cannot send the second one. */
export function ownHeaders(writes: boolean): Record<string, string> {
  const known = session.peek();
  return writes && known !== null && known !== "out" && known.csrf ? { "X-CSRF-Token": known.csrf } : {};
}

/** The address of an answer of the interface. */
export const address = (path: string): URL => new URL(`api/v1/${path}`, root);

/** Send a request. Throws Problem for everything but a success. */
export async function send(path: string, options: Options = {}): Promise<Response> {
  const method = options.method ?? "GET";
  const body = method === "GET" || method === "DELETE" ? undefined : JSON.stringify(options.body ?? {});
  const headers: Record<string, string> = { ...ownHeaders(method !== "GET"), ...options.headers };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(address(path), { method, headers, body, signal: options.signal ?? null, credentials: "same-origin" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(0, "The server does not answer.", "It may have ended, or the network is away. The page tries again.");
  }
  if (answer.ok) return answer;
  const problem = await problemOf(answer);
  if (problem.status === 401 && path !== "session") session.value = "out";
  throw problem;
}

/** Send a request and read its answer as JSON. */
export async function ask<T>(path: string, options: Options = {}): Promise<T> {
  const answer = await send(path, options);
  return (await answer.json()) as T;
}

/** How long to wait before a server that is too busy is asked again. */
export const BUSY_MS = 2_000;
const BUSY_TRIES = 8;

/**
 * Perform an act once: a repetition of the same request does nothing new. If the server is too busy to look at the job
 * file first, nothing has begun, and the request is sent again.
 */
export async function act<T>(path: string, body: unknown = {}): Promise<T> {
  const headers = { "Idempotency-Key": newKey() };
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask<T>(path, { method: "POST", body, headers });
    } catch (error) {
      if (!(error instanceof Problem && error.kind === "busy") || attempt === BUSY_TRIES) throw error;
      await new Promise((resume) => setTimeout(resume, BUSY_MS));
    }
  }
}

/** A key that no other request has. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((one) => one.toString(16).padStart(2, "0")).join("");
}

async function problemOf(answer: Response): Promise<Problem> {
  const text = await answer.text();
  try {
    const told = JSON.parse(text) as Record<string, unknown>;
    const faults = Array.isArray(told.problems) ? (told.problems as Fault[]) : [];
    const more = faults.filter((one) => one.message).map((one) => (one.line ? `${one.message} (line ${one.line}, column ${one.column ?? 1})` : one.message));
    const detail = [String(told.detail ?? told.title ?? ""), ...more].filter(Boolean).join(": ");
    const kind = String(told.type ?? "").replace("urn:seatunnel:problem:", "");
    return new Problem(answer.status, detail, String(told.remedy ?? ""), String(told.request ?? ""), kind, faults);
  } catch {
    return new Problem(answer.status, `The server answered with status ${answer.status}.`, "Try again.");
  }
}
