// One side of the picture: the columns of the sources, or those of the target, of which only those in view are drawn.

import { Name } from "../parts/marks";
import { plainName } from "../text/format";
import { type Box, HEAD, ROW as HEIGHT, type Spot } from "./layout";
import { UseMark } from "./marks";
import { type Mark, ROWS } from "./uses";
import type { Walk } from "./walking";

export interface Words {
  mark: Mark;
  sentence: string;
}

interface Props {
  kind: "source" | "target";
  label: string;
  boxes: readonly (Box & { source?: number })[];
  words: (spot: string) => Words;
  view: { top: number; bottom: number };
  lit: ReadonlySet<string>;
  pinned: string | null;
  walk: Walk;
}

export function Side({ kind, label, boxes, ...shown }: Props) {
  const { walk } = shown;
  const spots = boxes.flatMap((box) => box.spots);
  const active = spots.some((one) => one.id === walk.at) ? `spot-${walk.at}` : undefined;
  return (
    <div class={`flow-${kind}s`} data-rows role="listbox" tabIndex={0} aria-label={label} aria-activedescendant={active} onKeyDown={(event) => walk.keys(event, spots)} onFocus={(event) => walk.enter(event, spots)} onBlur={walk.leave}>
      {boxes.map((box) => (
        <Card key={box.source ?? kind} kind={kind} box={box} all={spots} {...shown} />
      ))}
    </div>
  );
}

type CardProps = Omit<Props, "label" | "boxes"> & {
  box: Box;
  /** The spots of its side. */
  all: readonly Spot[];
};

function Card({ kind, box, all, words, view, lit, pinned, walk }: CardProps) {
  if (box.y > view.bottom || box.y + box.height < view.top) return null;
  const shown = box.spots.filter((one) => box.y + one.y + HEIGHT >= view.top && box.y + one.y <= view.bottom);
  const first = all.indexOf(box.spots[0]!);
  const letters = Math.floor((box.width - 44) / 7);
  return (
    <div class={`flow-card flow-${kind}`} role="group" aria-label={plainName(box.title)} style={{ left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` }}>
      <div class="flow-head" aria-hidden="true">
        <span class="flow-title">
          <Name text={box.title} most={letters} />
        </span>
        <span class="flow-note mono">
          <Name text={box.note} most={letters} />
        </span>
      </div>
      {shown.map((one) => {
        const { mark, sentence } = words(one.id);
        const classes = ["spot", lit.has(one.id) && "lit", pinned === one.id && "pinned", walk.at === one.id && "walked", one.id === ROWS && "spot-rows", mark === "none" && kind === "target" && "spot-none"];
        return (
          <div
            key={one.id}
            id={`spot-${one.id}`}
            data-spot={one.id}
            role="option"
            aria-selected={pinned === one.id}
            aria-setsize={all.length}
            aria-posinset={first + Math.round((one.y - HEAD) / HEIGHT) + 1}
            class={classes.filter(Boolean).join(" ")}
            style={{ top: `${one.y}px` }}
            onClick={() => walk.press(one.id)}
          >
            {kind === "target" ? <UseMark mark={mark} /> : null}
            <Name text={one.name} most={letters} />
            <span class="unseen">({sentence})</span>
          </div>
        );
      })}
    </div>
  );
}
