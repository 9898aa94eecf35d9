import { digest } from "../utils/json.ts";

/** The call ids that a service accepts. */
export interface IdRule {
  readonly fits: RegExp;
  /** The number of characters of the longest accepted id. */
  readonly longest: number;
}

/**
 * The rules of the services. OpenAI accepts at most 40 characters in Chat Completions and 64 in Responses, although some of its
 * backends send longer ids (github.com/Portkey-AI/gateway/issues/1062, github.com/openclaw/openclaw/pull/137489). Mistral accepts
 * exactly 9 letters and digits (github.com/karthink/gptel/issues/1203).
 */
export const idRules: { readonly [Name in "chat" | "responses" | "anthropic" | "plain" | "nine"]: IdRule } = {
  chat: { fits: /^[^]{1,40}$/, longest: 40 },
  responses: { fits: /^[^]{1,64}$/, longest: 64 },
  anthropic: { fits: /^[\w-]{1,64}$/, longest: 64 },
  plain: { fits: /^[\w-]{1,40}$/, longest: 40 },
  nine: { fits: /^[a-zA-Z\d]{9}$/, longest: 9 },
};

/**
 * Returns a call id that the service accepts. An id that fits is unchanged. Any other id becomes its first letters and digits and
 * a digest of the whole id. The call and its result get the same id, and different ids stay different. An id of the
 * maximum length that looks like a changed id is changed too, so the two never become equal.
 */
export function toWireId(callId: string, { fits, longest }: IdRule): string {
  const looksMade = callId.length === longest && /_[\da-f]{14}$/.test(callId);
  if (fits.test(callId) && !looksMade) return callId;
  const hash = digest(callId);
  const room = longest - hash.length - 1;
  if (room < 1) return Number.parseInt(hash, 16).toString(36).padStart(longest, "0").slice(-longest);
  return `${callId.replace(/[^\w-]/g, "").slice(0, room)}_${hash}`;
}
