// Adds the `runId` to call ids, because a web page can show several runs and call ids are unique only within a run.

/** Returns the prefix of all ids of a run: the `runId`, with `%` and `:` escaped, followed by a colon. */
export function toPrefix(runId: string): string {
  return `${runId.replaceAll("%", "%25").replaceAll(":", "%3A")}:`;
}

/** Splits an id from a page into the `runId` and the id within the run. If the id has no prefix, `runId` is undefined. */
export function fromPageId(id: string): { readonly runId: string | undefined; readonly id: string } {
  const end = id.indexOf(":");
  if (end <= 0 || end === id.length - 1) return { runId: undefined, id };
  const runId = id.slice(0, end).replaceAll("%3A", ":").replaceAll("%25", "%");
  return { runId, id: id.slice(end + 1) };
}

export function toResultMessageId(toolCallId: string): string {
  return `${toolCallId}:result`;
}
