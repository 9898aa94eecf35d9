import { googleGenerateContent } from "turnwright/google";
import { checkGenerateContract } from "./generate-contract.ts";
import { connectGoogle } from "./google-client.ts";
import { callPart, chunk, piece, says, stop, text as textOf } from "./google-frames.ts";
import { json } from "./raw-sse-server.ts";
import { type Ends, halvesOf, type ScriptedCall, type ScriptedTurn, type ScriptedUsage, toStream, usual } from "./scripted.ts";
import type { Wire } from "./wire.ts";

const ends: Ends = {
  stop: ["STOP"],
  tools: [{ word: "STOP", reads: "stop", because: "Gemini reports STOP for calls as well" }],
  length: ["MAX_TOKENS"],
  "context-full": { none: "a full context is a request error" },
  "content-filter": [
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
  ],
  refusal: { none: "models refuse in their text" },
  paused: { none: "the API has no paused messages" },
  continue: ["CONTINUATION"],
  "malformed-call": ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"],
  error: ["OTHER", "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS", "NO_IMAGE", "IMAGE_OTHER"],
  unknown: ["WEATHER", "FINISH_REASON_UNSPECIFIED", "FUNCTION_CALL", "toString"],
  lost: ["silence"],
  dropped: ["a reset"],
  broken: ["an error"],
};

/**
 * Gemini sends arguments as an object. Arguments that are invalid JSON are therefore written as a streamed call, which is
 * inconsistent or incomplete.
 */
function toCall([id, name, args]: ScriptedCall): string {
  try {
    const whole: unknown = args === "" ? undefined : JSON.parse(args);
    return says(callPart(id, name, whole));
  } catch {
    const begun = piece({ id, name, willContinue: true });
    return args.endsWith(":") ? begun + piece({ partialArgs: [{ jsonPath: "$.city[1]", stringValue: "" }] }) : begun;
  }
}

/** Writes a call as Vertex AI streams it, with each string argument in two halves. */
function toStreamedCall([id, name, args]: ScriptedCall): string {
  const fields: { readonly [field: string]: string } = JSON.parse(args);
  const values = Object.entries(fields).flatMap(([field, text]) =>
    halvesOf(text).map((stringValue, half) => ({ jsonPath: `$.${field}`, stringValue, willContinue: half === 0 })),
  );
  const pieces = values.map((value) => piece({ partialArgs: [value], willContinue: true }));
  return [piece({ id, name, willContinue: true }), ...pieces, piece({})].join("");
}

/** `candidatesTokenCount` does not include reasoning tokens. */
function toCounts({ input, output, cached, reasoning = 0 }: ScriptedUsage): object {
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    ...(cached === undefined ? {} : { cachedContentTokenCount: cached }),
    ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }),
    totalTokenCount: input + output,
  };
}

function toChunks({ reasoning, text = "", calls = [], inPieces = false }: ScriptedTurn): readonly string[] {
  const thoughts = reasoning === undefined ? [] : [{ text: reasoning[0], thought: true, thoughtSignature: reasoning[1] }];
  return [...thoughts.map((part) => says(part)), ...Array.from(text, textOf), ...calls.map(inPieces ? toStreamedCall : toCall)];
}

export const generate: Wire = {
  name: "google",
  ends,
  toReply(scripted) {
    if ("status" in scripted) {
      const { status, message, retryAfter } = scripted;
      const details = retryAfter === undefined ? [] : [{ retryDelay: `${retryAfter}s` }];
      return json(status, { error: { code: status, message, details } });
    }
    const usage = toCounts(scripted.usage ?? usual);
    return toStream(scripted, toChunks(scripted), {
      ends,
      finish: (word, end) => stop(word, end === "continue" ? { continuationToken: "bmV4dA==" } : {}, usage),
      broken: () => chunk({ error: { code: 503, message: "Busy.", status: "UNAVAILABLE" } }),
    });
  },
  connect(baseURL, { options, vertexai } = {}) {
    const { client, bodies } = connectGoogle(baseURL, { vertexai: vertexai ?? false });
    return { provider: googleGenerateContent({ client, model: "m", ...options }), bodies };
  },
  check: (body) => checkGenerateContract(body),
};
