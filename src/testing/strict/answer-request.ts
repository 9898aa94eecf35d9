import { isRecord } from "../../core/kit.ts";
import { parseJson } from "../../shared/json.ts";
import type { Rule, ToErrorBody } from "../../services/rule.ts";
import { refusalBy } from "../../services/rule-checks.ts";
import { checkMockMessage, type MockMessage, text as say } from "../mock-parts.ts";
import { toAnswer, type ToCallId } from "./answer.ts";
import type { Family, Kind, ServedWire } from "./kinds.ts";
import { readRequest, wireOf } from "./read-wire.ts";
import { type OddityChoice, type Reply, toJsonReply, writeAnswer } from "./write-answer.ts";

/** A request that a strict service received. */
export interface StrictRequest {
  readonly url: string;
  readonly headers: Headers;
  /** The body, as the client sent it. */
  readonly body: { readonly [field: string]: unknown };
  /** The names of the tools that the client runs. */
  readonly tools: readonly string[];
}

/** A request that a strict service refused. */
export interface StrictRefusal {
  /** The rule in one sentence. */
  readonly rule: string;
  /** A vendor's page, a type file or a public report that shows the rule. */
  readonly source: string;
  readonly status: number;
  /** The message in the error body. */
  readonly message: string;
  readonly request: StrictRequest;
}

/** An HTTP request with its body as text. */
export interface ReceivedText {
  readonly url: string;
  readonly headers: Headers;
  readonly text: string;
}

interface AnswerPorts {
  readonly kind: Kind;
  readonly oddities: OddityChoice;
  readonly onRequest: (request: StrictRequest) => void;
  readonly onRefusal: (refusal: StrictRefusal) => void;
  readonly nextMessage: (request: StrictRequest) => MockMessage | undefined;
}

const unreadable: Rule = {
  rule: "The body is a JSON object.",
  source: "https://www.rfc-editor.org/rfc/rfc8259",
  refuses: () => "We could not parse the JSON body of your request.",
};
const unserved: Rule = {
  rule: "The service has this address.",
  source: "https://www.rfc-editor.org/rfc/rfc9110#name-404-not-found",
  status: 404,
  refuses: () => "Not found",
};

/** Refuses a request that breaks a rule, and answers any other request. */
export function answerRequest({ url, headers, text }: ReceivedText, ports: AnswerPorts): Reply {
  const parsed = parseJson(text);
  const body = isRecord(parsed) ? parsed : {};
  const wire = wireOf(url) ?? "chat";
  const read = readRequest(wire, { url, headers, body, text });
  const request: StrictRequest = { url, headers, body, tools: read.tools.map(({ name }) => name) };
  ports.onRequest(request);
  const served = wireOf(url) === undefined ? undefined : ports.kind.wires[wire];
  const toError = errorsOf(ports.kind, served);
  const families = familiesOf(served, read.model);
  const rules = isRecord(parsed) ? rulesFor(served, families) : [unreadable];
  for (const rule of rules) {
    const message = refusalBy(rule, read);
    if (message === undefined) continue;
    const { status = 400, source, code, type } = rule;
    ports.onRefusal({ rule: rule.rule, source, status, message, request });
    return toJsonReply(status, rule.toBody?.(message) ?? toError({ status, message, code, type }));
  }
  const script = ports.nextMessage(request) ?? say("ok");
  checkMockMessage(script, 0);
  const streams = url.includes(":streamGenerateContent") || body.stream === true;
  const answer = toAnswer(script, read, idsOf(ports.kind, families));
  return writeAnswer(answer, { wire, kind: ports.kind, toError, oddities: ports.oddities, streams });
}

/** Returns the API's error format, or that of the service's first API for an unknown address. */
function errorsOf({ wires }: Kind, served: ServedWire | undefined): ToErrorBody {
  const [first] = Object.values(wires);
  return (served ?? first)?.toError ?? ((refused) => refused);
}

function familiesOf(served: ServedWire | undefined, model: string): readonly Family[] {
  return served === undefined ? [] : served.families.filter((family) => family.model.test(model));
}

function idsOf({ toCallId }: Kind, families: readonly Family[]): ToCallId {
  return families.find((family) => family.toCallId !== undefined)?.toCallId ?? toCallId;
}

function rulesFor(served: ServedWire | undefined, families: readonly Family[]): readonly Rule[] {
  return served === undefined ? [unserved] : [...served.rules, ...families.flatMap(({ rules }) => rules)];
}
