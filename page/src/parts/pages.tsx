// The end of a list that comes in pages: their cursor is a parameter of the address.

import { query, setQuery } from "../state/location";
import { counted } from "../text/format";

interface Props {
  list: { next: string | null; total: number };
  /** The parameter that holds the cursor. */
  cursor: string;
  /** How many there are is shown with this word. */
  noun?: string;
}

export function Pages({ list, cursor, noun }: Props) {
  const after = query.value.get(cursor) ?? "";
  if (!noun && !after && !list.next) return null;
  return (
    <div class="pages">
      {noun ? <span class="faint num">{counted(list.total, noun)}</span> : null}
      {after ? (
        <button type="button" onClick={() => setQuery({ [cursor]: "" }, "push")}>
          First page
        </button>
      ) : null}
      {list.next ? (
        <button type="button" onClick={() => setQuery({ [cursor]: list.next ?? "" }, "push")}>
          Next page
        </button>
      ) : null}
    </div>
  );
}
