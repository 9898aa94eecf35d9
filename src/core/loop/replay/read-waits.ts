// Reads what a call, a request or the end of a run is waiting for.

import type { Json } from "../../types/common.ts";
import type { Wait, WaitingSubject } from "../../types/middleware.ts";
import type { ToolChange } from "../../types/tool-outcome.ts";
import { findToolChanges } from "../../tools/registry.ts";
import { type AskedWait, waitKey } from "../journals.ts";

type Read = (key: string) => Promise<unknown>;

export interface RecordedWait extends Wait {
  /** The prefix of the wait's keys. */
  readonly key: string;
  readonly answer?: { readonly value: Json } | undefined;
}

/**
 * Returns a wait's id. For a reopened wait, the id ends with the attempt's number, because an answer applies only to the facts that were
 * shown.
 */
export function toWaitId(id: string, attempt: number): string {
  return attempt === 1 ? id : `${id}~${attempt}`;
}

/** Returns how the tool of a wait has changed since the wait was opened before. The facts of approvals and results describe the tool. */
export function changesSince(before: AskedWait, now: AskedWait): readonly ToolChange[] {
  const isInFacts = now.what === "approval" || now.what === "result";
  const [was, shown] = [before, now].map(({ facts, call }) => (isInFacts ? (facts as unknown as WaitingSubject) : call));
  return was?.tool === undefined ? [] : findToolChanges(was.name, was.tool, shown?.tool);
}

/** Returns, in order, the newest attempt of each wait whose id begins with `path`, the full path of whatever is waiting. */
export async function readWaits(read: Read, path: string): Promise<readonly RecordedWait[]> {
  const waits: RecordedWait[] = [];
  for (let count = 1; ; count += 1) {
    const wait = (await readAttempts(read, count === 1 ? path : `${path}#${count}`)).at(-1);
    if (wait === undefined) return waits;
    waits.push(wait);
  }
}

/** Returns the attempts of one wait, in order. A wait is opened again if the facts that it shows have changed. */
export async function readAttempts(read: Read, id: string): Promise<readonly RecordedWait[]> {
  const attempts: RecordedWait[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const key = waitKey(id, attempt);
    const asked = (await read(`${key}/asked`)) as AskedWait | undefined;
    if (asked === undefined) return attempts;
    const { what, facts, until, call, schema, fromPage } = asked;
    const answer = (await read(`${key}/answer`)) as RecordedWait["answer"];
    const before = attempts.at(-1);
    const toolChanges = before && changesSince(before, asked);
    attempts.push({ id: toWaitId(id, attempt), key, what, facts, until, call, schema, fromPage, answer, toolChanges });
  }
}
