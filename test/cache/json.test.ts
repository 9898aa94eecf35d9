import fc from "fast-check";
import { JSONPathEnvironment } from "json-p3";
import { describe, expect, it } from "vitest";
import { createResultCache } from "turnwright/cache";
import { readPart, storedIn } from "./read-stage.ts";

const bytesOf = (text: string): number => Buffer.byteLength(text);

async function query(document: unknown, path: string, more: object = {}): Promise<string> {
  const cache = createResultCache();
  const text = typeof document === "string" ? document : JSON.stringify(document);
  return readPart(cache, { action: "json", id: await storedIn(cache, text), path, ...more });
}

const fleet = {
  ships: Array.from({ length: 1_000 }, (_, index) => ({
    name: `Ship ${index}`,
    port: ["Oslo", "Bergen"][index % 2],
    at: { x: index, y: -index },
  })),
};

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

describe("read_part with the json action", () => {
  it.for<[path: string, answer: string]>([
    ["$.ships[3].name", 'Matches 1 to 1 of 1.\n$.ships[3].name: "Ship 3"'],
    ["$.ships[-1].at", 'Matches 1 to 1 of 1.\n$.ships[999].at: {"x":999,"y":-999}'],
    [
      "$.ships[:4:3]['name','port']",
      'Matches 1 to 4 of 4.\n$.ships[0].name: "Ship 0"\n$.ships[0].port: "Oslo"\n$.ships[3].name: "Ship 3"\n$.ships[3].port: "Bergen"',
    ],
    ["$.ships[?@.at.x > 997 && @.port == 'Oslo'].name", 'Matches 1 to 1 of 1.\n$.ships[998].name: "Ship 998"'],
    [
      "$.ships[?match(@.name, 'Ship 7.7')].at.x",
      "Matches 1 to 10 of 10.\n$.ships[707].at.x: 707\n$.ships[717].at.x: 717\n$.ships[727].at.x: 727\n$.ships[737].at.x: 737\n$.ships[747].at.x: 747\n$.ships[757].at.x: 757\n$.ships[767].at.x: 767\n$.ships[777].at.x: 777\n$.ships[787].at.x: 787\n$.ships[797].at.x: 797",
    ],
    ["$.ships[?search(@.name, '^Ship 5$')].port", 'Matches 1 to 1 of 1.\n$.ships[5].port: "Bergen"'],
    ["$.ships[?match(@.at, '.*')]", "The path matches nothing. The path $ shows how the text begins."],
    ["$[?count(@..x) > 5][0].name", 'Matches 1 to 1 of 1.\n$.ships[0].name: "Ship 0"'],
    ["$.nothing", "The path matches nothing. The path $ shows how the text begins."],
    ["$.__proto__", "The path matches nothing. The path $ shows how the text begins."],
  ])("returns the matches for the path %s", async ([path, answer]) => {
    expect(await query(fleet, path)).toBe(answer);
  });

  it("shows the beginning of a document that is longer than one result", async () => {
    const answer = await query(fleet, "$");
    expect(answer).toMatch(/^Matches 1 to 1 of 1\.\n\$: \{"ships":\[\{"name":"Ship 0",.*…$/);
    expect(bytesOf(answer)).toBeLessThan(6_300);
  });

  it("names the match at which the next call must start, so repeated calls return each match once", async () => {
    const found: string[] = [];
    let next: number | undefined = 1;
    while (next !== undefined) {
      const answer: string = await query(fleet, "$.ships[*].name", { start_match: next });
      expect(bytesOf(answer)).toBeLessThan(6_300);
      found.push(...answer.split("\n").slice(1));
      const after = /^Matches \d+ to \d+ of 1000\. The rest did not fit: continue with start_match (\d+)\./.exec(answer)?.[1];
      next = after === undefined ? undefined : Number(after);
    }
    expect(found).toEqual(fleet.ships.map(({ name }, index) => `$.ships[${index}].name: "${name}"`));
    expect(await query(fleet, "$.ships[*]", { start_match: 1_001 })).toBe("The path has 1000 matches, and none from 1001 on.");
  });

  it("finds the same values as a JSONPath library without limits", async () => {
    const document = fc.jsonValue({ maxDepth: 4 });
    const part = fc.constantFrom(
      ...[
        "[*]",
        "..*",
        "[0]",
        "[-1]",
        "[1:]",
        "[::-1]",
        ".a",
        "..a",
        "['a','b']",
        "[?@ > 1]",
        "[?@.a]",
        "[?@ == $[0]]",
        "[?length(@) > 1]",
        "[?count(@.*) > 1]",
        "[?!@.b || @.a]",
        "[?value(@..a) == 1]",
      ],
    );
    await fc.assert(
      fc.asyncProperty(document, fc.array(part, { maxLength: 4 }), async (value, parts) => {
        const path = `$${parts.join("")}`;
        const nodes = new JSONPathEnvironment().query(path, JSON.parse(JSON.stringify(value)));
        const answer = await query(JSON.stringify(value), path);
        const total =
          /^Matches 1 to \d+ of (\d+)\./.exec(answer)?.[1] ?? (answer.startsWith("The path matches nothing.") ? 0 : undefined);
        expect(Number(total)).toBe(nodes.length);
        const lines = answer.split("\n").slice(1);
        const whole = lines.every((line) => !line.endsWith("…"));
        if (whole)
          expect(lines).toEqual(
            [...nodes].slice(0, lines.length).map((node) => `${node.getPath()}: ${JSON.stringify(node.value)}`),
          );
      }),
      { numRuns: 150 },
    );
  });

  it.for<[what: string, document: string, path: string, message: string]>([
    ["text that is not JSON", "line 1\nline 2", "$", "failed: The text is not JSON: "],
    [
      "a path that is not JSONPath",
      "{}",
      "$.a[",
      "failed: The path is not a valid JSONPath (RFC 9535): unclosed bracketed selection",
    ],
    ["a path without $", "{}", "a.b", "failed: The path is not a valid JSONPath (RFC 9535): expected '$'"],
    ["an unknown function", "{}", "$[?f(@)]", "failed: The path is not a valid JSONPath (RFC 9535): no such function 'f'"],
    [
      "a pattern with look-around",
      '["x"]',
      "$[?search(@,'(?=x)')]",
      "failed: The pattern of search() cannot be run in linear time",
    ],
    ["a document with 101 levels", nested(101), "$", "failed: The JSON is nested more than 100 levels deep."],
    ["a million opening brackets", "[".repeat(1e6), "$", "failed: The JSON is nested more than 100 levels deep."],
    [
      "a document with more than a million values",
      `[${"0,".repeat(1e6)}0]`,
      "$",
      "failed: The JSON has more than 1000000 values.",
    ],
    [
      "a document of more than 8 MiB",
      `"${"x".repeat(8 * 1_024 * 1_024)}"`,
      "$",
      'failed: The text has 8388610 bytes, but the action "json" reads at most 8388608.',
    ],
    ["a long unterminated string", '"\\"'.repeat(1e6), "$", "failed: The text is not JSON: "],
    ["an empty path", "{}", "", "invalid-input"],
    ["a path of more than 500 characters", "{}", `$${".a".repeat(251)}`, "invalid-input"],
  ])("rejects %s and explains the reason", async ([, document, path, message]) => {
    expect(await query(document, path)).toContain(message);
  });

  it("reads a document nested 100 levels deep", async () => {
    expect(await query(nested(100), "$..*")).toMatch(/^Matches 1 to \d+ of 99\./);
  });
});

describe("read_part with the json action and a hostile path", () => {
  const numbers = Array.from({ length: 300_000 }, (_, index) => index);
  const deep: unknown = JSON.parse(nested(95));
  const long = "a".repeat(2_000_000);
  const stopped = "The search stopped because the path needs too much work: use a narrower path.";

  it.for<[what: string, document: () => unknown, path: string]>([
    ["counts all values for each ship", () => fleet, "$.ships[?count($..*) > 1]"],
    ["counts a list for each of its items", () => numbers, "$[?count($[*]) > 1]"],
    ["compares equal lists for each item in a list", () => ({ a: numbers, b: numbers, c: numbers }), "$.c[?$.a == $.b]"],
    ["compares equal function results", () => ({ a: numbers, b: numbers, c: numbers }), "$.c[?value($.a) == value($.b)]"],
    ["compares long strings", () => ({ a: long, b: long, c: numbers }), "$.c[?$.a == $.b]"],
    ["takes the length of a large object for each item", () => ({ a: { ...numbers }, c: numbers }), "$.c[?length($.a) < 1]"],
    ["descends several times", () => Array.from({ length: 1_000 }, () => deep), "$..*..*..*..*"],
    ["descends several times in a filter", () => [Array.from({ length: 900 }, () => deep)], "$[?count(@..*..*..*) > 1]"],
    ["repeats a selector", () => numbers, `$[${Array.from({ length: 200 }, () => "*").join()}]`],
    ["repeats a comparison", () => numbers, `$[?${Array.from({ length: 80 }, () => "@<0").join("||")}]`],
    ["runs a slow pattern over a long string", () => ({ a: long }), "$[?search(@, '(a*)*(a|aa)*(a?){50}b')]"],
    [
      "compiles a large pattern for each item",
      () => Array.from({ length: 5_000 }, (_, index) => ({ t: "x", p: `(a{90}){10}${index}` })),
      "$[?search(@.t, @.p)]",
    ],
  ])("stops at the work limit if the path %s", async ([, document, path]) => {
    const cache = createResultCache();
    const id = await storedIn(cache, JSON.stringify(document()));
    const before = process.cpuUsage();
    const answer = await readPart(cache, { action: "json", id, path });
    const { user, system } = process.cpuUsage(before);
    expect(answer).toContain(stopped);
    expect(bytesOf(answer)).toBeLessThan(6_400);
    expect((user + system) / 1_000_000).toBeLessThan(5);
  });

  it("returns a result even if the path's regular expression takes exponential time in other engines", async () => {
    const answer = await query([`${"a".repeat(40)}!`], "$[?match(@, '(a+)+b')]");
    expect(answer).toBe("The path matches nothing. The path $ shows how the text begins.");
  });

  it("never returns more than the size limit, whatever the document", async () => {
    const key = fc.string({ unit: fc.constantFrom("a", "'", '"', "\n", "€", "😀", "\u0000"), maxLength: 2_000, size: "max" });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(key, key), { maxLength: 20 }), async (entries) => {
        const answer = await query(Object.fromEntries(entries), "$..*");
        expect(bytesOf(answer)).toBeLessThan(6_300);
        expect(/\p{Surrogate}/u.test(answer)).toBe(false);
      }),
      { numRuns: 100 },
    );
  });
});
