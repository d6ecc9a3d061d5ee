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
