// Runs the packed package with several versions of the SDKs, each on a Node version that the SDKs support.

import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findNode, type FoundNode } from "./find-nodes.ts";
import { type Installed, installPacked } from "./install-packed.ts";

type Round = readonly [status: string, reason: string, message: string, called: string];

interface Report {
  readonly node: string;
  readonly sdks: readonly string[];
  readonly results: { readonly [adapter: string]: { readonly [round: string]: Round } | undefined };
}

interface Row {
  readonly title: string;
  readonly node: FoundNode;
  /** The folder in node_modules of each SDK: of @anthropic-ai/sdk, @google/genai and openai. */
  readonly sdks: readonly [anthropic: string, google: string, openai: string];
  readonly majors: readonly number[];
}

const run = promisify(execFile);
const names = ["@anthropic-ai/sdk", "@google/genai", "openai"];

const rows: readonly Row[] = [
  // openai 7 and @google/genai 3 need Node 22.
  { title: "the newest SDKs", node: findNode(22), sdks: ["@anthropic-ai/sdk", "@google/genai", "openai"], majors: [1, 3, 7] },
  { title: "older SDKs", node: findNode(20), sdks: ["anthropic-0", "genai-2", "openai-6"], majors: [0, 2, 6] },
];

const adapters = ["openaiChat", "openaiResponses", "googleGenerateContent", "anthropicMessages"];

const expected: { readonly [round: string]: Round } = {
  call: ["completed", "answered", "Hello", "Rome"],
  error: ["error", "rate-limit", "Slow down.", ""],
  "early end": ["error", "stream-ended-early", expect.stringContaining("end"), ""],
  abort: ["stopped-by-user", "aborted", "Hel", ""],
};

describe.for(rows)("packed package with $title on Node $node.major", ({ node, sdks, majors }) => {
  if (node.kind === "absent") {
    it(`is not tested because ${node.why}`, () => {
      expect(["this is not Linux with glibc on x64", "the npm registry is out of reach"]).toContain(node.why);
    });
    return;
  }
  let installed: Installed;
  let report: Report;

  beforeAll(async () => {
    installed = installPacked(["eventemitter3"]);
    for (const [index, name] of names.entries()) {
      const path = join(installed.folder, "node_modules", name);
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync(resolve("node_modules", sdks[index] ?? name), path, "junction");
    }
    const { stdout } = await run(node.program, ["sdk-rounds.mjs"], { cwd: installed.folder, timeout: 60_000 });
    report = JSON.parse(stdout);
  });
  afterAll(() => installed.remove());

  it("runs on the expected versions", () => {
    expect(report.node).toMatch(new RegExp(`^v${node.major}\\.`));
    expect(report.sdks.map((version) => Number.parseInt(version, 10))).toEqual(majors);
  });

  it.for(adapters)("%s reads a call, an error, a stream that ends early and an abort", (adapter) => {
    expect(report.results[adapter]).toEqual(expected);
  });
});
