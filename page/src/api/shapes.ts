// Shapes of the server's answers, as far as the page reads them. Keys may be added by the server.

export type Role = "read" | "operate" | "edit" | "admin";

export type RunState =
  | "RUNNING"
  | "STALLED"
  | "SUCCESS"
  | "SOME_TABLES_FAILED"
  | "FAILED"
  | "ROWS_FAILED_AGAIN"
  | "STOPPED"
  | "KILLED"
  | "NOT ENDED"
  | "DROPPED"
  | "UNKNOWN"
  | "UNREADABLE"
  | "GONE";

export type TableState =
  | "PENDING"
  | "RUNNING"
  | "RETRYING"
  | "COMMITTING"
  | "DONE"
  | "FAILED"
  | "ISOLATED"
  | "STOPPED";

export type Counts = Partial<Record<string, number>>;

export interface Session {
  csrf?: string;
  /** The server is one of several of its home. */
  several?: boolean;
  role: Role;
  name: string;
}

/** A fault of a job file; lines and columns count from 1, columns in characters. */
export interface Fault {
  message: string;
  line?: number | null;
  column?: number | null;
  path?: string;
  remedy?: string;
  suggestion?: string;
}

export interface Check {
  valid: boolean;
  problems?: Fault[];
  notes?: string[];
}

export interface RunRow {
  job_id: string;
  job_name: string;
  job_file: string;
  started: number;
  state: RunState;
  seconds: number | null;
  rows_read: number | null;
  rows_read_this_run: number | null;
  tables: Counts | null;
  exit_code: number | null;
  fault: string;
  /** When it was seen last, if the storage of the home is away. */
  last_seen?: number | null;
}

/** The role of the server among those of its home; `leader`: the address of the one that leads. */
export interface About {
  role: "leader" | "follower";
  leader: string | null;
  lease: { number: number; age: number } | null;
  home_away: boolean;
}

export interface RunList {
  runs: RunRow[];
  next: string | null;
  total: number;
  states: Counts;
}

export interface Totals {
  rows_read: number;
  rows_written: number;
  rows_filtered: number;
  rows_rejected: number;
  bytes_written: number;
}

export interface Checkpoints {
  completed: number;
  failed: number;
  restarts: number;
  ended: number | null;
  bytes: number;
}

export interface RunHead extends RunRow {
  job: { host?: string; pid?: number; failed?: string; driver?: string } | null;
  receipt: { totals: Totals; seconds: { total: number }; this_run: { rows_per_second: number | null }; driver: number } | null;
  counters: { totals: Totals; checkpoints?: Checkpoints; mode?: string; interval?: number } | null;
}

export interface Cause {
  error_type: string;
  message: string;
  remedy?: string;
}

export interface Target {
  target: string;
  rows_written: number;
  bytes_written: number;
  state: TableState;
  cause: Cause | null;
  stands: string | null;
}

export interface TableRow {
  key: string;
  table: string;
  state: TableState;
  targets?: Target[];
  rows_read: number;
  rows_written: number;
  rows_filtered: number;
  rows_rejected: number;
  bytes_written: number;
  attempts: number;
  seconds: number;
  cause: Cause | null;
}

export interface TableList {
  tables: TableRow[];
  next: string | null;
  total: number;
  states: Counts;
}

export interface Failure {
  at: string;
  driver: number | null;
  what: string;
  table: string;
  attempt: number;
  split: string;
  cause: string;
  remedy: string;
  checkpoint: number | null;
  follows: string;
}

export interface FailureList {
  total: number;
  failures: Failure[];
  tables: number;
}

export interface Attempt {
  pipeline: string;
  table: string;
  checkpoint: number;
  kind: string;
  savepoint: string;
  driver: number;
  triggered: number;
  ended: number;
  slowest: string;
  bytes: number;
  rows: number;
  reason: string;
  missing: string[];
  seconds: number;
  phases: { align: number; store: number; commit: number };
  completed: boolean;
}

export interface AttemptList {
  completed: number;
  failed: number;
  attempts: Attempt[];
}

export interface TableDetail extends TableRow {
  failures: Failure[];
  checkpoints: Attempt[];
}

/** What a part of a running job waits for. */
export interface Standing {
  table: string;
  busy: boolean;
  /** Seconds since the last row; null: none yet. */
  moved: number | null;
  waits: string[];
  /** Locks that targets have reported. */
  blocked: string[];
}

export interface LogWindow {
  lines: string[];
  next: string | null;
  end: boolean;
  from?: string;
  generations: { from: string; bytes: number }[];
}

export interface PlanNode {
  id: string;
  step: string;
  plugin: string;
  table?: string;
  target?: string;
  columns?: Record<string, string>;
  rows_estimate?: number | null;
}

export interface PlanPipeline {
  id: string;
  name: string;
  vertices: { id: string; parallelism: number; nodes: PlanNode[]; splits_total?: number; problem?: string; remedy?: string }[];
  guarantees: { guarantee: string; why: string }[];
  sinks: { table: string; target: string; problem?: string; remedy?: string; effects?: { action: string; target: string; statement?: string; destructive?: boolean }[] }[];
}

export interface Plan {
  job: string;
  mode: string;
  file: string;
  steps: { id: string; kind: string; plugin: string }[];
  pipelines: PlanPipeline[];
}

/** The plan of a text before a run; of a wrong text only its problems. */
export interface Planned extends Partial<Plan> {
  exit_code: number;
  problems?: Fault[];
  graph?: Graph;
  notes?: string[];
  isolated?: { table: string; problem: string; remedy: string }[];
  summary?: { tables: number; rows_estimate: number | null };
}

export interface GraphNode {
  id: string;
  kind: "source" | "transform" | "sink";
  plugin: string;
  label: string;
  x: number;
  y: number;
  width: number;
  height: number;
  tables: Counts;
  rows_in: number | null;
  rows_out: number | null;
  folded: number;
}

export interface Graph {
  digest: string;
  width: number;
  height: number;
  nodes: GraphNode[];
  edges: { from: string; to: string; points: [number, number][]; rows: number | null }[];
}

export interface Series {
  metric: string;
  unit: string;
  points: [number, number | null][];
}

export interface Definition {
  id: string;
  created_by: string;
  newest: Revision;
}

export interface DefinitionRow extends Definition {
  schedules: number;
  next_start: number | null;
}

export interface DefinitionText extends Definition {
  newest: Revision & { text: string };
}

export interface Revision {
  number: number;
  author: string;
  at: number;
  comment: string;
}

export interface PluginRow {
  kind: "source" | "transform" | "sink";
  name: string;
  distribution: string;
  summary: string;
}

export interface PluginOption {
  key: string;
  fallback: string[];
  type: string;
  default: string;
  required: boolean;
  secret: boolean;
  doc: string;
  choices: string[];
}

export interface PluginList {
  plugins: PluginRow[];
  /** The sources that list the tables of a connection. */
  discover: string[];
  env: PluginOption[];
}

export interface PluginDetail extends PluginRow {
  schema: unknown;
  options: PluginOption[];
}

export interface DefinitionList {
  definitions: DefinitionRow[];
  next: string | null;
  total: number;
}

export interface QueueList {
  queue: { job_id: string; definition: string; waits_for: string; place: number }[];
  total: number;
}

export interface Start {
  job_id: string;
  definition: string;
  revision: number;
  state: "WAITING" | "STARTING" | "STARTED" | "ENDED" | "NOT_STARTED" | "DROPPED";
  at: number;
  exit_code: number | null;
  signal: number | null;
  output: string[];
}

export interface Asked {
  job_id: string;
  request?: string;
  wish?: string;
  state?: string;
}

export interface RequestProgress {
  wish: string;
  name: string;
  progress: string;
  answer: { done: boolean; text: string; remedy: string } | null;
}

export interface LiveTable extends Omit<TableRow, "key"> {
  rows_per_second: number | null;
}

export interface LiveRun {
  job_id: string;
  state: RunState;
  exit_code: number | null;
  tables: Counts | null;
  rows_read: number | null;
  fault?: string;
  live: {
    started: number;
    silent_seconds: number | null;
    /** Null before the first counters. */
    totals: Totals | null;
    rows_per_second: number | null;
    states: Counts | null;
    tables: LiveTable[];
    checkpoint: number | null;
  } | null;
}

export interface LiveRuns {
  states: Counts;
  change: number;
  newest: { job_id: string; state: RunState; rows_read: number | null }[];
}
