// One target table: the picture of its lineage, or the same as a list.

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { TableLineage } from "../api/lineage_shapes";
import { FilterField } from "../parts/filter";
import { Empty, Shown } from "../parts/views";
import { useAnswer } from "../state/asking";
import { query, setQuery } from "../state/location";
import { usePrinting } from "../state/printing";
import { count, counted, plainName } from "../text/format";
import { UseList } from "./lines";
import { Legend } from "./marks";
import { Flow } from "./picture";
import { isUnknown, lookOfUse, narrowed, spotIn, targetSpots, usesOf } from "./uses";

/** A table with more columns has a filter for them. */
const SHORT = 12;
/** A picture with more columns is not printed: the list is. */
const PRINTED_MAX = 30;
/** The parameters of the address that are about one table. */
export const NO_SPOT = { step: "", from: "", column: "", rows: "", columns: "" };

interface Props {
  run: string;
  table: string;
  turn: unknown;
  /** There are others. */
  close: (() => void) | null;
}

export function TableCard({ run, table, turn, close }: Props) {
  const found = useAnswer<TableLineage>(`runs/${encodeURIComponent(run)}/lineage/${encodeURIComponent(table)}`, turn);
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (close) place.current?.focus({ preventScroll: true });
  }, [table]);
  return (
    <section ref={place} class="card lineage-table" aria-label="lineage of the table" tabIndex={-1} onKeyDown={(event) => { if (event.key === "Escape" && event.target === event.currentTarget) close?.(); }}>
      <Shown of={found} rows={8}>
        {(data) => <OneTable whole={data} close={close} />}
      </Shown>
      {found.problem?.status === 404 && close ? (
        <button type="button" onClick={close}>
          Show all tables
        </button>
      ) : null}
    </section>
  );
}

function OneTable({ whole, close }: { whole: TableLineage; close: (() => void) | null }) {
  const asked = query.value;
  const [text, asList] = [asked.get("columns") ?? "", asked.get("as") === "list"];
  const paper = usePrinting(() => true) ?? false;
  const lineage = useMemo(() => narrowed(whole, text), [whole, text]);
  const looks = useMemo(() => new Set(targetSpots(lineage).flatMap((spot) => usesOf(lineage, spot).map((use) => lookOfUse(use, isUnknown(lineage, spot))))), [lineage]);
  const drawn = paper ? lineage.columns.length <= PRINTED_MAX : !asList;
  const leave = () => close?.();
  return (
    <>
      <div class="card-head">
        <h2 class="whole">
          <bdi>{plainName(whole.target)}</bdi>
        </h2>
        <span class="faint num">{text ? `${count(lineage.columns.length)} of ${counted(whole.columns.length, "column")}` : counted(whole.columns.length, "column")}</span>
        {whole.columns.length > SHORT ? <FilterField name="columns" text={text} hint="Filter columns" label="filter columns by name, or by a source column" pause={120} /> : null}
        <div class="chips" role="group" aria-label="form">
          <button type="button" class="chip" aria-pressed={!asList} onClick={() => setQuery({ as: "" })}>
            Picture
          </button>
          <button type="button" class="chip" aria-pressed={asList} onClick={() => setQuery({ as: "list" })}>
            List
          </button>
        </div>
        {close ? (
          <button type="button" class="quiet close" onClick={close} aria-label="close the table">
            ×
          </button>
        ) : null}
      </div>
      <Legend lineage={lineage} looks={looks} />
      {lineage.columns.length === 0 ? (
        <Empty title="No column matches the filter.">
          <button type="button" onClick={() => setQuery({ columns: "" })}>
            Show all columns
          </button>
        </Empty>
      ) : null}
      {lineage.columns.length > 0 && drawn ? <Flow key={lineage.key} lineage={lineage} paper={paper} close={leave} /> : null}
      {lineage.columns.length > 0 && (asList || paper) ? <UseList lineage={lineage} pinned={spotIn(lineage, asked)} paper={paper} close={leave} /> : null}
    </>
  );
}
