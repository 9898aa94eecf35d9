// Ids of calls on a page. Ids of calls are unique in a run only, and a page shows many runs.

/** Returns the beginning of all ids of a run. It ends at the first ":", whatever the id of the run contains. */
export function toPrefix(runId: string): string {
  return `${runId.replaceAll("%", "%25").replaceAll(":", "%3A")}:`;
}

/** Splits an id of a page into the run and the id that the run knows. An id of another form has no run. */
export function fromPageId(id: string): { readonly runId: string | undefined; readonly id: string } {
  const end = id.indexOf(":");
  if (end <= 0 || end === id.length - 1) return { runId: undefined, id };
  const runId = id.slice(0, end).replaceAll("%3A", ":").replaceAll("%25", "%");
  return { runId, id: id.slice(end + 1) };
}

/** Returns the id of the message with the result of a call. */
export function toResultId(toolCallId: string): string {
  return `${toolCallId}:result`;
}
