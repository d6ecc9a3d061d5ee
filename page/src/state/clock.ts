// The time that ages are shown against. It stands while the connection is lost: a clock that goes on would make old
// numbers look alive.

import { signal } from "@preact/signals";
import { connection } from "../api/stream";

export const now = signal(Date.now() / 1000);

window.setInterval(() => {
  if (!document.hidden && connection.peek().is !== "lost") now.value = Date.now() / 1000;
}, 1000);
