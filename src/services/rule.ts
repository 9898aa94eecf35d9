// A rule of a model service, taken from its documentation or a public report. `strictService` in `turnwright/testing` refuses requests that
// break a rule. Adapters do not import rules, so that their bundles stay small.

import type { UnknownRecord } from "../shared/guards.ts";

interface RuleFacts {
  /** The rule in one sentence. */
  readonly rule: string;
  /** A vendor's page, a type file, or a public report, for example "github.com/owner/repo#1". */
  readonly source: string;
  /** The HTTP status of the refusal. Default 400. */
  readonly status?: number | undefined;
  /** The code in the error body. */
  readonly code?: string | undefined;
  /** The type in the error body. Default: the type that the service uses for invalid requests. */
  readonly type?: string | undefined;
  /** Builds the error body, if its form differs from that of the service's other errors. */
  readonly toBody?: ((message: string) => object) | undefined;
}

export type PartList = "items" | "tools" | "calls" | "results" | "history" | "media";

/** A rule about the request, or about each part in a list. */
export interface RuleAbout<About> extends RuleFacts {
  readonly breaks: (about: About, request: WireRequest) => boolean;
  /** The service's error message for a request that breaks the rule. */
  readonly says: string | ((about: About, request: WireRequest) => string);
}

type PartRule<List extends PartList> = RuleAbout<WireRequest[List][number]> & { readonly of: List };

/** A rule that has several messages, or whose message depends on what the check finds. */
interface FindingRule extends RuleFacts {
  readonly of?: undefined;
  readonly breaks?: undefined;
  /** Returns the service's message if the request breaks the rule. */
  readonly refuses: (request: WireRequest) => string | undefined;
}

/** One of a service's rules. */
export type Rule =
  | { [List in PartList]: PartRule<List> }[PartList]
  | (RuleAbout<WireRequest> & { readonly of?: undefined })
  | FindingRule;

/** The facts about a refusal, from which `ToErrorBody` builds an error body in the service's own format. */
export interface Refused {
  readonly status: number;
  readonly message: string;
  readonly code: string | undefined;
  readonly type: string | undefined;
}

/** Builds an error body in a service's own format. */
export type ToErrorBody = (refused: Refused) => object;

/** A parsed request in one form for all APIs. The values inside are exactly as the client sent them. */
export interface WireRequest {
  readonly body: UnknownRecord;
  /** The body as JSON text. */
  readonly text: string;
  readonly headers: Headers;
  readonly model: string;
  /** The messages, input items or contents. */
  readonly items: readonly WireItem[];
  readonly tools: readonly WireTool[];
  readonly calls: readonly WireCall[];
  readonly results: readonly WireResult[];
  /** All calls, followed by all results. */
  readonly history: readonly (WireCall | WireResult)[];
  readonly media: readonly WireMedia[];
}

/** One message, input item or content in a request. */
export interface WireItem {
  readonly at: number;
  /** The role. For an input item of the Responses API without a role, its type. */
  readonly role: string;
  readonly fields: UnknownRecord;
  /** The blocks of the content. A string counts as one block of type "text". */
  readonly parts: readonly UnknownRecord[];
}

/** A request's definition of a tool that the client runs. */
export interface WireTool {
  readonly at: number;
  readonly name: string;
  /** The JSON Schema of the arguments. */
  readonly schema: unknown;
  readonly strict: boolean;
}

interface HistoryItem {
  /** The index, in `items`, of the message that contains the call or result. */
  readonly at: number;
  /** The path in the body, written as services write it in error messages. */
  readonly path: string;
  readonly id: unknown;
  readonly name: string;
  readonly fields: UnknownRecord;
}

/** A call in the history. */
export interface WireCall extends HistoryItem {
  /** The arguments: a string or an object, depending on the API. */
  readonly args: unknown;
}

/** The result of a call in the history. */
export interface WireResult extends HistoryItem {
  readonly parts: readonly UnknownRecord[];
}

/** An image or a file. */
export interface WireMedia {
  readonly at: number;
  readonly path: string;
  readonly role: string;
  /** True if the part is in a tool's result. */
  readonly inResult: boolean;
  readonly kind: "image" | "file";
  readonly mediaType: string;
  /** The data as base64. Undefined for a URL or an id. */
  readonly data: string | undefined;
}
