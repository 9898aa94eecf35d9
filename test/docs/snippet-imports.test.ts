import { expect, it } from "vitest";
import { importsOf, namesIn } from "../../scripts/page-imports.ts";
import { readPageProse, readStringProse } from "../../scripts/read-prose.ts";

const example = `import { readFile } from "node:fs/promises";
import OpenAI from "openai";
import { approve, type Approve, runToolLoop, type Tool } from "turnwright";
import { helper } from "./helper.ts";

const provider = connect(new OpenAI());
const tools: readonly Tool[] = [];
`;

it.for<[what: string, code: string, lines: readonly string[]]>([
  ["a value", "await runToolLoop({ provider });", ['import { runToolLoop } from "turnwright";', ""]],
  ["a value that is passed on", "use([approve, helper]);", ['import { approve } from "turnwright";', ""]],
  ["a default import", "new OpenAI();", ['import OpenAI from "openai";', ""]],
  ["types alone", "const policy: Approve = undefined;", ['import type { Approve } from "turnwright";', ""]],
  ["no field that only shares an import's name", "show({ approve: true }.approve);", []],
  ["no name that the snippet declares", "function runToolLoop() {}\nrunToolLoop();", []],
])("importsOf: copies the imports of %s", ([, code, lines]) => {
  expect(importsOf(code, example)).toEqual(lines);
});

it("namesIn: lists the names that only the example declares", () => {
  const { borrowed } = namesIn("const result = await runToolLoop({ provider, tools });\nshow(result);", example);
  expect(borrowed).toEqual(["provider", "tools"]);
});

it("readStringProse: reads messages with their line numbers, but skips short strings", () => {
  const source = 'const code = "not-found";\nthrow new Error(`The file ${path} is gone. Restore it.`);';
  const found = readStringProse(source).map(({ line, text }) => [line, text]);
  expect(found).toEqual([
    [2, "The file … is gone."],
    [2, "Restore it."],
  ]);
});

it("readPageProse: reads headings, but not comments in code", () => {
  const page = "# A tool of itself\n\nText.\n\n```sh\n# not a heading\n```\n";
  expect(readPageProse(page).map(({ kind, text }) => [kind, text])).toEqual([
    ["heading", "A tool of itself"],
    ["text", "Text."],
  ]);
});
