import { expect, it } from "vitest";
import { findClaudeFacts } from "./claude-models.ts";

it.for<[model: string, thinking: string, forced: string, sampling: string, checksPrefix: boolean, prefill: boolean]>([
  ["claude-fable-5-2", "adaptive", "no", "no", true, false],
  ["claude-mythos-5-1", "adaptive", "no", "no", true, false],
  ["claude-fable-5", "adaptive", "yes", "no", false, false],
  ["claude-mythos-preview", "adaptive enabled", "yes", "no", false, false],
  ["claude-opus-5-5", "adaptive", "no", "no", true, false],
  ["claude-opus-5-5@20261001", "adaptive", "no", "no", true, false],
  ["anthropic/claude-opus-5.5", "adaptive", "no", "no", true, false],
  ["eu.anthropic.claude-opus-5-5-20261001-v1:0", "adaptive", "no", "no", true, false],
  ["databricks-claude-opus-5-5", "adaptive", "no", "no", true, false],
  ["claude-opus-5", "adaptive disabled", "yes", "no", false, false],
  ["claude-opus-5-20260601", "adaptive disabled", "yes", "no", false, false],
  ["anthropic.claude-opus-5-v1:0", "adaptive disabled", "yes", "no", false, false],
  ["claude-sonnet-5-5", "adaptive between_tools", "no", "no", true, false],
  ["claude-sonnet-5", "adaptive disabled", "yes", "no", false, false],
  ["claude-haiku-5-5", "adaptive disabled", "yes", "no", true, false],
  ["us.anthropic.claude-opus-4-8-v1:0", "adaptive disabled", "yes", "no", false, false],
  ["claude-opus-4-7", "adaptive disabled", "yes", "no", false, false],
  ["claude-sonnet-4-6", "adaptive enabled disabled", "without-budget", "without-thinking", false, false],
  ["anthropic/claude-sonnet-4.5", "enabled disabled", "without-budget", "without-thinking", false, true],
  ["claude-haiku-4-5@20251001", "enabled disabled", "without-budget", "without-thinking", false, true],
  ["claude-opus-4-20250514", "enabled disabled", "without-budget", "without-thinking", false, true],
  ["claude-3-7-sonnet-latest", "enabled disabled", "without-budget", "without-thinking", false, true],
  ["anthropic.claude-3-5-sonnet-20241022-v2:0", "enabled disabled", "without-budget", "without-thinking", false, true],
  ["claude-2.1", "enabled disabled", "without-budget", "without-thinking", false, true],
  ["claude-opus-latest", "adaptive", "no", "no", true, false],
  ["claude-opus-7", "adaptive", "no", "no", true, false],
  ["claude-fable-6-1", "adaptive", "no", "no", true, false],
  ["claude-saga-1", "adaptive", "no", "no", true, false],
])("findClaudeFacts: %s", ([model, thinking, forcedChoice, sampling, checksPrefix, prefill]) => {
  const facts = findClaudeFacts(model);
  expect(facts?.thinking.join(" ")).toBe(thinking);
  expect(facts).toMatchObject({ forcedChoice, sampling, checksPrefix, prefill });
});

it.each(["m", "MiniMax-M2.5", "gpt-6.2-sol", "glm-5.3"])("findClaudeFacts: %s is not a Claude model", (model) => {
  expect(findClaudeFacts(model)).toBeUndefined();
});
