// Reads the waits of a call, a request or an ending.

import type { Json } from "../types/common.ts";
import type { AskedWait } from "../loop/journals.ts";
import { waitKey } from "../loop/journals.ts";
import { toWaitId } from "../loop/replay/answers.ts";
import type { Wait } from "../types/middleware.ts";

type Read = <T>(key: string) => Promise<T | undefined>;

export interface RecordedWait extends Wait {
  /** The beginning of the keys of its records. */
  readonly key: string;
  readonly answer?: { readonly value: Json } | undefined;
}

/** Returns the waits whose ids begin with `path`, which is the whole path of the place that waits, in order. */
export async function readWaits(read: Read, path: string): Promise<readonly RecordedWait[]> {
  const waits: RecordedWait[] = [];
  for (let count = 1; ; count += 1) {
    const wait = await readWait(read, count === 1 ? path : `${path}#${count}`);
    if (wait === undefined) return waits;
    waits.push(wait);
  }
}

/** Reads the newest attempt. A wait opens again if what it shows has changed. */
async function readWait(read: Read, id: string): Promise<RecordedWait | undefined> {
  let found: RecordedWait | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const key = waitKey(id, attempt);
    const asked = await read<AskedWait>(`${key}/asked`);
    if (asked === undefined) return found;
    const { what, facts, until, call, schema } = asked;
    const answer = await read<{ readonly value: Json }>(`${key}/answer`);
    const earlier = found && { earlier: found.facts, earlierTool: found.call?.tool };
    found = { id: toWaitId({ id, attempt }), key, what, facts, until, call, schema, answer, ...earlier };
  }
}
