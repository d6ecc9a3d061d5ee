// The field of a filter, whose text is a part of the address.

import { useEffect, useRef } from "preact/hooks";
import { setQuery } from "../state/location";
import { Empty } from "./views";

interface Props {
  /** The parameter of the address. */
  name?: string;
  text: string;
  hint: string;
  /** For those who do not see the hint. */
  label: string;
  pause: number;
}

export function FilterField({ name = "q", text, hint, label, pause }: Props) {
  const timer = useRef(0);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = text;
  }, [text]);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  return (
    <input
      ref={field}
      data-filter={name}
      class="filter"
      type="search"
      placeholder={hint}
      aria-label={label}
      defaultValue={text}
      onInput={(event) => {
        const value = event.currentTarget.value;
        window.clearTimeout(timer.current);
        timer.current = window.setTimeout(() => setQuery({ [name]: value, after: "" }), pause);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== "ArrowDown") return;
        (event.currentTarget.closest("section") ?? document).querySelector<HTMLElement>("[data-rows]")?.focus();
        event.preventDefault();
      }}
    />
  );
}

/** In the place of a list of tables of which the filter shows none. */
export function NoTableMatches() {
  return (
    <Empty title="No table matches the filter.">
      <button type="button" onClick={() => setQuery({ q: "" })}>
        Show all tables
      </button>
    </Empty>
  );
}
