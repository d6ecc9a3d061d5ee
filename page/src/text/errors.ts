// Messages of errors. Pure.

/** The fields that an error is about: those that stand in it in single quotes, else as words, unless all do. */
export function namedIn(error: string, fields: readonly string[]): string[] {
  const quoted = fields.filter((field) => error.includes(`'${field}'`));
  if (quoted.length > 0) return quoted;
  const plain = (field: string): string => field.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const words = fields.filter((field) => new RegExp(`(^|[^\\p{L}\\p{N}_])${plain(field)}($|[^\\p{L}\\p{N}_])`, "u").test(error));
  return words.length < fields.length ? words : [];
}
