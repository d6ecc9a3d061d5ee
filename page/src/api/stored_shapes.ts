// Shapes of the server's answers about what a run keeps: checkpoints, savepoints, bad rows. Keys may be added.

export interface Savepoint {
  name: string;
  taken: number;
  job_id: string;
  tables: number;
  damaged: string;
}

export interface SavepointList {
  savepoints: Savepoint[];
  next: string | null;
  total: number;
}

export interface KeptCheckpoint {
  checkpoint: number;
  kind: string;
  name: string;
  driver: number;
  rows_read: number;
  splits: number;
  finished: number;
  why: string;
  /** How many targets it had still to commit to. */
  uncommitted: number;
}

export interface KeptTable {
  table: string;
  /** Oldest first. */
  checkpoints: KeptCheckpoint[];
}

export interface KeptList {
  tables: KeptTable[];
  next: string | null;
  total: number;
}

export interface BadTable {
  table: string;
  rows: number;
  waiting: number;
  /** Of those that wait: no reader could decode them, so they cannot be delivered. */
  undecoded: number;
  replaying: number;
  replayed: number;
  reasons: { step: string; error: string; rows: number }[];
}

export interface BadList {
  tables: BadTable[];
  waiting: number;
  /** The process that delivers bad rows. */
  delivery: { alive: boolean; output: string[] };
}

export interface BadRow {
  table: string;
  step: string;
  error: string;
  values: Record<string, unknown>;
  /** No reader could decode it. */
  raw: boolean;
  unit: string;
  split: string;
  row: number;
  checkpoint: number;
  at: string;
}

export interface BadRows {
  rows: BadRow[];
  /** Types and lengths stand in place of values. */
  masked: boolean;
}

/** A change since the checkpoint that a run goes on from, as `plan --restore` has it. */
export interface Change {
  what: string;
  fate: string;
  follows: string;
  needs: string;
}

/** What an act would change: sentences, or changes since a checkpoint. */
export interface Announced {
  changes: (string | Change)[];
  refused: { message: string; remedy: string } | null;
  /** No acceptance helps. */
  fatal: boolean;
  digest: string;
  revision?: number;
}
