// Checks the parts that a tool sends to pages with `context.emit`.

import type { EmittedPart } from "../types/loop-event.ts";
import { type Check, checkField, checkFields, type Checks, is, needed } from "../errors/check-fields.ts";
import { isRecord } from "../utils/guards.ts";
import { isPlainData, toJson } from "../utils/json.ts";

const partType: Check = ['"text" or "data"', (type) => type === "text" || type === "data", undefined, true];

const textPart: Checks<Extract<EmittedPart, { readonly type: "text" }>> = { type: is.any, text: /* @__PURE__ */ needed(is.text) };

const dataPart: Checks<Extract<EmittedPart, { readonly type: "data" }>> = {
  type: is.any,
  name: [
    '1 to 64 letters, digits, "_" or "-"',
    (name) => typeof name === "string" && /^[\w-]{1,64}$/.test(name),
    undefined,
    true,
  ],
  data: ["plain data", isPlainData, undefined, true],
  id: is.text,
};

export function toEmittedPart(given: unknown): EmittedPart {
  if (isRecord(given)) checkField("emit(part).type", given["type"], partType);
  checkFields("emit(part)", given, isRecord(given) && given["type"] === "text" ? textPart : dataPart);
  const part = given as EmittedPart;
  return part.type === "text" ? { ...part } : { ...part, data: toJson(part.data) };
}
