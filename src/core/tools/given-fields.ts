// Checks what a tool passes to its context's methods. The loop calls these checks only if they are installed.

import type { EmittedPart } from "../types/loop-event.ts";
import { type Check, checkField, checkFields, type Checks, is, needed } from "../../shared/errors/check-fields.ts";
import type { CheckedMethod } from "../../shared/edges.ts";
import { invalidOption } from "../../shared/errors/loop-error.ts";
import { isRecord } from "../../shared/guards.ts";
import { isPlainData } from "../../shared/json.ts";

const partType: Check = ['"text" or "data"', (type) => type === "text" || type === "data", undefined, true];

const textPart: Checks<Extract<EmittedPart, { readonly type: "text" }>> = { type: is.any, text: /* @__PURE__ */ needed(is.text) };

const dataPart: Checks<Extract<EmittedPart, { readonly type: "data" }>> = {
  type: is.any,
  name: [
    'a string of 1 to 64 letters, digits, "_" or "-"',
    (name) => typeof name === "string" && /^[\w-]{1,64}$/.test(name),
    undefined,
    true,
  ],
  data: ["plain data", isPlainData, undefined, true],
  id: is.text,
};

/** Checks the argument of a context method. Throws LoopError "unknown-option" or "invalid-option". */
export function checkGiven(method: CheckedMethod, given: unknown): void {
  if (method === "wait") return checkWait(given as GivenWait);
  if (isRecord(given)) checkField("emit(part).type", given["type"], partType);
  checkFields("emit(part)", given, isRecord(given) && given["type"] === "text" ? textPart : dataPart);
}

interface GivenWait {
  readonly what: string;
  /** The middleware or tool that is waiting, such as "@approve". */
  readonly by: string;
}

const reserved: ReadonlySet<string> = new Set(["approval", "result", "question"]);

/** Rejects waits whose kind is reserved for the loop. The loop reads the facts of these waits and accepts only certain answers. */
function checkWait({ what, by }: GivenWait): void {
  if (by !== "@approve" && reserved.has(what))
    throw invalidOption("The name of a wait", 'a name other than "approval", "result" and "question", which are reserved', what);
}
