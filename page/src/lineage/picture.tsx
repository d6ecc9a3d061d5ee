// The picture of a table's lineage. Of its rows and lines only those in view are drawn.

import { useMemo, useRef, useState } from "preact/hooks";
import type { TableLineage } from "../api/lineage_shapes";
import { query } from "../state/location";
import { useHeight, useWidth } from "../state/size";
import { About } from "./about";
import { laidOut, linesAt, paths, type Picture } from "./layout";
import { sentenceOf } from "./sentences";
import { Side, type Words } from "./side";
import { dependencies, markOf, spotIn } from "./uses";
import { useWalk } from "./walking";

/** Drawn above and below the view; a scroll draws again after so many. */
const MORE = 300;
const STEP = 150;
/** On paper. */
const PAPER = 940;

interface Props {
  lineage: TableLineage;
  paper: boolean;
  close: () => void;
}

export function Flow({ lineage, paper, close }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [width, height] = [useWidth(place, 900), useHeight(place, 600)];
  const [top, setTop] = useState(0);
  const [pointed, setPointed] = useState<string | null>(null);
  const wide = paper ? PAPER : width;
  const picture = useMemo(() => laidOut(lineage, wide), [lineage, wide]);
  const words = useMemo(() => wordsOf(lineage), [lineage]);
  const asked = query.value;
  const pinned = useMemo(() => spotIn(lineage, asked), [lineage, asked]);
  const walk = useWalk({ lineage, picture, place, pinned, close });
  const spot = pointed ?? (walk.at || pinned);
  const lit = useMemo(() => new Set(spot ? [spot, ...dependencies(lineage, spot).flatMap((one) => one.spots)] : []), [lineage, spot]);
  const view = paper ? { top: 0, bottom: picture.height } : { top: Math.max(0, top - MORE), bottom: Math.min(picture.height, top + height + STEP + MORE) };
  const side = { words, view, lit, pinned, walk };
  return (
    <>
      <div
        ref={place}
        class={spot ? "flow dim" : "flow"}
        style={{ "--flow-height": `${Math.ceil(picture.height) + 2}px` }}
        onScroll={(event) => setTop(Math.floor(event.currentTarget.scrollTop / STEP) * STEP)}
        onPointerOver={(event) => { if (event.pointerType === "mouse") setPointed((event.target as Element).closest("[data-spot]")?.getAttribute("data-spot") ?? null); }}
        onPointerLeave={() => setPointed(null)}
      >
        <div class="flow-space" style={{ width: `${picture.width}px`, height: `${picture.height}px` }}>
          <Lines picture={picture} view={view} spot={spot} lit={lit} />
          <Side kind="source" label="source columns" boxes={picture.sources} {...side} />
          <Side kind="target" label="columns of the target" boxes={[picture.target]} {...side} />
        </div>
      </div>
      <About lineage={lineage} spot={spot} go={walk.pin} />
    </>
  );
}

interface LinesProps {
  picture: Picture;
  view: { top: number; bottom: number };
  spot: string | null;
  lit: ReadonlySet<string>;
}

function Lines({ picture, view: { top, bottom }, spot, lit }: LinesProps) {
  const all = useMemo(() => paths(picture, picture.drawn, top, bottom), [picture, top, bottom]);
  const own = spot ? paths(picture, linesAt(picture, spot, lit), top, bottom) : [];
  return (
    <svg aria-hidden="true" width={picture.width} height={bottom - top} viewBox={`0 ${top} ${picture.width} ${bottom - top}`} style={{ top: `${top}px` }}>
      {all.map(([look, path]) => (
        <path key={look} d={path} class={`flow-line line-${look}`} />
      ))}
      {own.map(([look, path]) => (
        <path key={`lit ${look}`} d={path} class={`flow-line line-${look} lit`} />
      ))}
    </svg>
  );
}

/** The words of spots, each made when it is drawn for the first time: a list is drawn again with each movement. */
function wordsOf(lineage: TableLineage): (spot: string) => Words {
  const known = new Map<string, Words>();
  return (spot) => {
    const found = known.get(spot) ?? { mark: markOf(lineage, spot), sentence: sentenceOf(lineage, spot) };
    known.set(spot, found);
    return found;
  };
}
