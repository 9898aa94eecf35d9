// Each rule of each service: one request that keeps it is accepted, and one that breaks it gets the service's error body.

import { describe, expect, it } from "vitest";
import { strictService } from "turnwright/testing";
import { chatCases } from "./chat-cases.ts";
import { googleCases } from "./google-cases.ts";
import { preservedThinkingRule } from "../../src/testing/strict/prefix.ts";
import { listRules } from "./list-rules.ts";
import { messagesCases } from "./messages-cases.ts";
import { responsesCases } from "./responses-cases.ts";
import type { RuleCase } from "./rule-case.ts";

const cases: readonly RuleCase[] = [...chatCases, ...responsesCases, ...messagesCases, ...googleCases];

async function send({ kind, path, headers = {} }: RuleCase, body: object) {
  const service = strictService(kind);
  const init = { method: "POST", body: JSON.stringify(body), headers: { "anthropic-version": "2023-06-01", ...headers } };
  const response = await service.fetch(`https://service.test${path}`, init);
  return { service, status: response.status, answer: await response.text() };
}

describe.for(cases)('strictService: the $kind rule "$rule"', (ruleCase) => {
  it("accepts a request that follows it", async () => {
    const { service, status } = await send(ruleCase, ruleCase.accepted);
    expect([status, service.refusals.map(({ rule }) => rule)]).toEqual([200, []]);
  });

  it("refuses a request that breaks it", async () => {
    const { service, status, answer } = await send(ruleCase, ruleCase.refused);
    const [refusal] = service.refusals;
    expect(refusal?.rule.slice(0, ruleCase.rule.length)).toBe(ruleCase.rule);
    expect(status).toBe(refusal?.status);
    expect(answer).toContain(JSON.stringify(refusal?.message).slice(-13, -1));
  });
});

it.for<readonly [place: string, property: object]>([
  ["contains", { type: "array", items: {}, contains: { type: "array" } }],
  ["propertyNames", { type: "object", propertyNames: { type: "array" } }],
  ["else", { if: { type: "string" }, else: { type: "array" } }],
  ["not", { not: { type: "array" } }],
  ["dependentSchemas", { dependentSchemas: { b: { type: "array" } } }],
  ["patternProperties", { patternProperties: { b: { type: "array" } } }],
  ["prefixItems.0", { type: "array", prefixItems: [{ type: "array" }] }],
  ["unevaluatedItems", { type: "array", items: {}, unevaluatedItems: { type: "array" } }],
  ["$defs.b", { $defs: { b: { type: "array" } } }],
])("strictService: the rules for tool schemas apply to a schema in %s", async ([place, property]) => {
  const parameters = { type: "object", properties: { a: property } };
  const tools = [{ type: "function", function: { name: "look", description: "", parameters } }];
  const chat = { kind: "openai-chat" as const, path: "/v1/chat/completions", rule: "", accepted: {}, refused: {} };
  const { answer } = await send(chat, { model: "gpt-4.1", messages: [{ role: "user", content: "Hi" }], tools });
  expect(answer).toContain(["properties", "a", ...place.split(".")].join("', '"));
});

it("strictService: every rule has a test case", () => {
  // test/services/preserved-thinking.test.ts tests the rule about prefixes.
  const missing = listRules().filter(
    (rule) => rule !== preservedThinkingRule && !cases.some((known) => rule.rule.startsWith(known.rule)),
  );
  expect(missing.map(({ rule }) => rule)).toEqual([]);
});
