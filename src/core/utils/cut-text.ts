// Shortens a foreign text for a place that must stay short.

/** At most `longest` UTF-16 units of a text, with "…" where something was cut; never half a character. */
export function cutText(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, "")}…` : text;
}
