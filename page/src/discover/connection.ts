// The connection that is being named, its tables and the chosen ones. They are kept here, and not in a component: the way
// back from the editor shows them again. They are nowhere else, and a log-out ends them.

import { signal } from "@preact/signals";
import { session } from "../api/client";
import type { FoundTable } from "./choosing";

export interface Connection {
  plugin: string;
  options: Readonly<Record<string, string>>;
  /** One `key=value` in each line. */
  further: string;
  /** An address, as `seatunnel copy` takes it. */
  target: string;
}

export interface Found {
  plugin: string;
  options: Record<string, string>;
  tables: readonly FoundTable[];
}

const NONE: Connection = { plugin: "", options: {}, further: "", target: "console:" };

export const connection = signal<Connection>(NONE);
/** Null: no list was asked for. */
export const found = signal<Found | null>(null);
export const chosen = signal<ReadonlySet<string>>(new Set());

export function change(changes: Partial<Connection>): void {
  connection.value = { ...connection.peek(), ...changes };
}

session.subscribe((known) => {
  if (known !== "out") return;
  connection.value = NONE;
  found.value = null;
  chosen.value = new Set();
});
