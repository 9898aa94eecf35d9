// Writes docs/service-rules.md. `npm run docs:rules` writes the page again.

import { expect, it } from "vitest";
import { chatOddities } from "../../src/services/oddities.ts";
import type { Rule } from "../../src/services/rule.ts";
import { kinds, type StrictServiceKind } from "../../src/testing/strict/kinds.ts";

const head = `# Rules that model services enforce

[\`strictService\`](guides/testing.md#a-fake-service-that-rejects-bad-requests) refuses a request that breaks one of these rules, with the status and the error body
of the service. The adapters of this package follow the rules. Each heading is a kind of \`strictService\`, with its APIs below it.

A service may change its rules and its messages at any time. Each rule therefore names its source: a page of the vendor, a type file of a
package, or a public report. A short source such as \`crush#279\` is an issue or a pull request of the project with this name on GitHub.

This page is generated from the rules in \`src/services\`. To write it again, run \`npm run docs:rules\`.
`;

const wireTitles = {
  chat: "Chat Completions",
  responses: "Responses",
  messages: "Messages",
  generate: "generateContent",
} as const;

const cell = (text: string): string => text.replaceAll("|", "\\|");

function toTable(rules: readonly Rule[]): string {
  const rows = rules.map(({ rule, source, status = 400 }) => `| ${cell(rule)} | ${status} | ${cell(source)} |`);
  return ["| Rule | Status | Source |", "|---|---|---|", ...rows].join("\n");
}

/** Lists only the rules that an earlier service does not have, if the service has all rules of that one. */
function toRules(rules: readonly Rule[], earlier: ReadonlyMap<string, readonly Rule[]>): readonly string[] {
  const [base] = [...earlier].filter(([, known]) => known.every((rule) => rules.includes(rule)));
  if (base === undefined) return [toTable(rules)];
  const [name, known] = base;
  const more = rules.filter((rule) => !known.includes(rule));
  return [`All rules of \`${name}\`${more.length === 0 ? "." : ", and these:"}`, ...(more.length === 0 ? [] : [toTable(more)])];
}

/** The services whose rules others have too come first. */
const order: readonly StrictServiceKind[] = ["anthropic", "openai-chat", "openai-responses"];

function toSections(): readonly string[] {
  const earlier = new Map<string, readonly Rule[]>();
  const names = [
    ...order,
    ...Object.keys(kinds).filter((name) => !order.some((first) => first === name)),
  ] as readonly StrictServiceKind[];
  return names.flatMap((name) => {
    const { title, wires, style } = kinds[name];
    const tables = Object.entries(wires).flatMap(([wire, { rules, families }]) => [
      `### ${title}: ${wireTitles[wire as keyof typeof wireTitles]}`,
      ...toRules(rules, earlier),
      ...families.flatMap((family) => [`${family.title} have these rules too:`, toTable(family.rules)]),
    ]);
    const oddities = style.oddities.map(
      (oddity) => `- \`${oddity}\`: ${chatOddities[oddity].rule} (${chatOddities[oddity].source})`,
    );
    const streams = oddities.length === 0 ? [] : ["With `oddities`, its streams have these oddities:", oddities.join("\n")];
    for (const { rules } of Object.values(wires)) if (order.includes(name)) earlier.set(name, rules);
    return [`## \`${name}\``, ...tables, ...streams];
  });
}

it("docs/service-rules.md lists the rules of every service", async () => {
  await expect(`${head}\n${toSections().join("\n\n")}\n`).toMatchFileSnapshot("../../docs/service-rules.md");
});

it.each(Object.entries(chatOddities))("at least one strict service simulates the oddity %s", (name) => {
  const played = Object.values(kinds).flatMap(({ style }) => style.oddities);
  expect(played).toContain(name);
});
