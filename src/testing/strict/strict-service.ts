import { checkField, type Choice, isFunction } from "../../shared/errors/check-fields.ts";
import { checkFields, invalidOption, is } from "../../core/kit.ts";
import type { Clock } from "../../core/index.ts";
import { systemClock } from "../../shared/signals.ts";
import { checkMockMessage, type MockMessage } from "../mock-parts.ts";
import { answerRequest, type ReceivedText, type StrictRefusal, type StrictRequest } from "./answer-request.ts";
import { chatOddities } from "../../services/oddities.ts";
import { kinds, type StrictServiceKind } from "./kinds.ts";
import { playFrames, toStream } from "./play-frames.ts";
import { serveStrict, type StrictServer } from "./serve-strict.ts";
import type { OddityChoice, Reply } from "./write-answer.ts";

/**
 * The scripted messages in order, or a function that returns the message for an accepted request. `index` is the 0-based number of the
 * accepted request.
 */
export type StrictAnswers = readonly MockMessage[] | ((request: StrictRequest, index: number) => MockMessage | undefined);

/** The options for `strictService`. */
export interface StrictOptions {
  /**
   * The model's messages, built from the same parts as for `createMockProvider`: `text`, `reasoning`, `toolCall`, `fail` and others. A
   * refused request does not use up a message. After the last message, the answer is the text "ok". Default: always "ok".
   */
  readonly answers?: StrictAnswers | undefined;
  /**
   * True to simulate every known oddity in this service's streams. A number is a seed that chooses some of them for each answer. A list
   * names Chat Completions oddities, which may be those of other services. Oddities that exclude each other alternate from call to call.
   * The Responses API and the APIs of Anthropic and Gemini have no oddities. Default false: streams follow the API's documentation.
   */
  readonly oddities?: OddityChoice | undefined;
  /** The clock for `wait` parts. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** A fake model service that refuses the same requests as the real one. */
export interface StrictService {
  readonly kind: StrictServiceKind;
  /** Pass this function as `fetch` to an SDK client. The client's `baseURL` may be any address. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** All requests in order, including refused ones. */
  readonly requests: readonly StrictRequest[];
  readonly refusals: readonly StrictRefusal[];
  /** Starts a `node:http` server on 127.0.0.1, on a free port. */
  listen(): Promise<StrictServer>;
}

const oddityNames = Object.keys(chatOddities) as readonly string[] as Choice;

const checks = {
  answers: ["an array of messages or a function", (value: unknown) => Array.isArray(value) || isFunction(value)],
  oddities: [
    'true, false, a number or an array such as ["null-ids"]',
    (value: unknown) => Array.isArray(value) || typeof value === "boolean" || typeof value === "number",
  ],
  clock: is.object,
} as const;

function checkOddities(oddities: readonly string[], kind: StrictServiceKind): void {
  if (kinds[kind].wires.chat === undefined) {
    throw invalidOption(
      "oddities",
      `true, false or a number for "${kind}" because only Chat Completions has named oddities`,
      oddities,
    );
  }
  for (const [index, name] of oddities.entries()) checkField(`oddities[${index}]`, name, oddityNames);
}

/**
 * Creates a fake model service with the API of a real one. It refuses each request that breaks one of the real service's rules, with the
 * same status and error body, and answers all other requests from a script. docs/service-rules.md lists the rules.
 *
 * Throws LoopError `invalid-option` or `unknown-option` if an option is invalid, and a TypeError if a message in `answers` is invalid.
 *
 * @example
 * const service = strictService("mistral", { answers: [toolCall("look"), text("Done.")] });
 * const client = new OpenAI({ apiKey: "test", baseURL: "https://api.mistral.ai/v1", fetch: service.fetch });
 * const result = await runToolLoop({ provider: openaiChat({ client, model: "mistral-large-4" }), tools: [look], messages });
 * assert.deepEqual(service.refusals, []);
 */
export function strictService(kind: StrictServiceKind, options: StrictOptions = {}): StrictService {
  const names = Object.keys(kinds).join('", "');
  if (!Object.hasOwn(kinds, kind)) throw invalidOption("kind", `one of "${names}"`, kind);
  checkFields("options", options, checks);
  const { answers = [], oddities = false, clock = systemClock } = options;
  if (typeof oddities === "object") checkOddities(oddities, kind);
  if (typeof answers === "object") for (const [index, message] of answers.entries()) checkMockMessage(message, index);
  const requests: StrictRequest[] = [];
  const refusals: StrictRefusal[] = [];
  let accepted = 0;

  function answer(received: ReceivedText): Reply {
    return answerRequest(received, {
      kind: kinds[kind],
      oddities,
      onRequest: (request) => requests.push(request),
      onRefusal: (refusal) => refusals.push(refusal),
      nextMessage(request) {
        const index = accepted;
        accepted += 1;
        return typeof answers === "function" ? answers(request, index) : answers[index];
      },
    });
  }

  return {
    kind,
    requests,
    refusals,
    async fetch(input, init) {
      const request = new Request(input, init);
      const reply = answer({ url: request.url, headers: request.headers, text: await request.text() });
      request.signal.throwIfAborted();
      const stream = toStream(playFrames(reply.frames, { clock, signal: request.signal }));
      return new Response(stream, { status: reply.status, headers: reply.headers });
    },
    listen: () => serveStrict(answer, clock),
  };
}
