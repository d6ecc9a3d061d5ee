// Shapes of the server's answers about the lineage of a run. Keys may be added.

export interface SourceName {
  step: string;
  table: string;
}

/** A target table in the list. */
export interface LineageLine {
  key: string;
  step: string;
  target: string;
  table: string;
  columns: number;
  unknown: number;
  masked: number;
  /** The first ones. */
  sources: SourceName[];
  sources_total: number;
}

export interface LineageLines {
  tables: LineageLine[];
  next: string | null;
  total: number;
}

/** How something depends on a source column, which is named by its numbers. */
export interface Use {
  source: number;
  column: number;
  kind: string;
  masking: boolean;
}

export interface TargetColumn {
  name: string;
  /** The number of its list of uses. */
  uses: number;
  /** A step before it does not declare which columns it uses. */
  unknown: boolean;
}

/** A target table: equal lists of uses stand once. */
export interface TableLineage {
  key: string;
  step: string;
  target: string;
  table: string;
  sources: (SourceName & { columns: string[] })[];
  uses: Use[][];
  columns: TargetColumn[];
  /** The list of those that only decide which rows come out. */
  rows: number;
}
