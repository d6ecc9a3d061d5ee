// A choice of one of a few values.

interface Props {
  value: string;
  of: readonly (readonly [value: string, word: string])[];
  chosen: (value: string) => void;
  /** For those who do not see a label beside it. */
  label?: string;
}

export function Choice({ value, of, chosen, label }: Props) {
  return (
    <select aria-label={label} value={value} onChange={(event) => chosen(event.currentTarget.value)}>
      {of.map(([one, word]) => (
        <option key={one} value={one}>
          {word}
        </option>
      ))}
    </select>
  );
}
