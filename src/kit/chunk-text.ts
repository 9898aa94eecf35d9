// Reads the texts of what a provider streams.

/** The text of a chunk's field. Throws where it has none: that is the provider's mistake. */
export function textIn<Field extends string>(
  chunk: { readonly type: string } & { readonly [Key in Field]: unknown },
  field: Field,
): string {
  const text: unknown = chunk[field];
  if (typeof text === "string") return text;
  throw new TypeError(`A chunk of type "${chunk.type}" must have a text as "${field}".`);
}
