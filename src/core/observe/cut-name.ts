// Shortens names for logs, spans and channels.

/** Ids and names that a model made up can be of any length. */
const longestName = 128;

/** A foreign id or name, no longer than attributes ought to be. */
export function cutName(name: string): string {
  return name.slice(0, longestName);
}
