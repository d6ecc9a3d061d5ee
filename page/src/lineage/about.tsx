// What a column depends on, or what depends on it, in words.

import type { TableLineage } from "../api/lineage_shapes";
import { Name } from "../parts/marks";
import { count, counted } from "../text/format";
import { UseMark } from "./marks";
import { howOf, introOf, namesOf } from "./sentences";
import { dependencies, nameOf, ROWS, sourceOf } from "./uses";

/** Names of one line. */
const NAMED = 12;

interface Props {
  lineage: TableLineage;
  spot: string | null;
  go: (spot: string) => void;
}

export function About({ lineage, spot, go }: Props) {
  if (!spot) return <p class="flow-about faint">Point at a column to see what it depends on, or go there with Tab and the arrow keys. A click or Enter keeps it in the address.</p>;
  const of = sourceOf(spot);
  const found = dependencies(lineage, spot);
  return (
    <div class="flow-about">
      <p>
        <strong>
          <Name text={nameOf(lineage, spot)} most={60} />
        </strong>{" "}
        <span class="faint">
          {of ? (
            <>
              of <Name text={lineage.sources[of.source]?.table ?? ""} most={60} /> is used for
            </>
          ) : (
            introOf(lineage, spot, found.length)
          )}
        </span>
      </p>
      <ul>
        {found.map((one, at) => {
          const { names, more } = namesOf(lineage, one.spots, NAMED);
          return (
            <li key={at}>
              <UseMark mark={one.mark} />
              <span class="faint">{howOf(one, spot === ROWS || one.spots[0] === ROWS)}</span>
              {of && one.spots.length > NAMED ? <span class="faint num">in {counted(one.spots.length, "column")}</span> : null}
              {names.map(([other, name]) => (
                <button key={other} type="button" class="quiet spot-name" onClick={() => go(other)}>
                  <Name text={name} most={40} />
                </button>
              ))}
              {more > 0 ? <span class="faint num">and {count(more)} more</span> : null}
              {of ? null : (
                <span class="faint">
                  of <Name text={lineage.sources[one.source]?.table ?? ""} most={50} />
                </span>
              )}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
