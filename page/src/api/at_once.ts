// Asks the server and waits: a browser prints as soon as its event has been handled, and does not wait for an answer.

import { address } from "./client";

/** The answer; null: there is none. Only for print: the tab stands still meanwhile. */
export function askAtOnce<T>(path: string): T | null {
  const request = new XMLHttpRequest();
  request.open("GET", address(path), false);
  try {
    request.send();
    return request.status === 200 ? (JSON.parse(request.responseText) as T) : null;
  } catch {
    return null; // no server, or half an answer
  }
}
