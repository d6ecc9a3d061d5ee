// The same as a list: for each column of the target what it depends on. For readers that have no picture, and for paper.

import type { TableLineage } from "../api/lineage_shapes";
import { Name } from "../parts/marks";
import { VirtualRows } from "../parts/virtual";
import { setQuery } from "../state/location";
import { UseMark } from "./marks";
import { useLines } from "./sentences";
import { addressOf } from "./uses";

const HEADS = ["Column", "How", "Source columns", "Table", "Step"];
export function UseList({ lineage, pinned, paper, close }: { lineage: TableLineage; pinned: string | null; paper: boolean; close: () => void }) {
  const lines = useLines(lineage);
  const list = { total: lines.length, turn: 0, at: (row: number) => lines[row], need: () => {} };
  return (
    <div class="use-lines">
      <VirtualRows
        list={list}
        label="columns and what they depend on; j and k move, Enter keeps one in the address"
        column="u"
        heads={HEADS}
        cells={(one) => [<Name text={one.column} most={60} />, <><UseMark mark={one.mark} /> <span class="how">{one.how}</span></>, <Name text={one.names} most={400} />, <Name text={one.table} most={60} />, <Name text={one.step} most={40} />]}
        chosen={(one) => one.spot === pinned}
        open={(one) => setQuery(addressOf(lineage, one.spot === pinned ? "" : one.spot))}
        close={close}
        whole={() => lines}
        paper={paper}
        noun="line"
      />
    </div>
  );
}
