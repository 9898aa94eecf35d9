import fc from "fast-check";
import MarkdownIt from "markdown-it";
import { describe, expect, it } from "vitest";
import { type LoggedRun, toMarkdown } from "turnwright/inspect";
import { runWith } from "./run-with.ts";

/** This viewer allows HTML and turns addresses into links, so it shows every attack that a transcript contains. */
const viewer = new MarkdownIt({ html: true, linkify: true, typographer: true });

const tags = (html: string): ReadonlySet<string> =>
  new Set([...html.matchAll(/<\/?([^\s>]+)[^>]*>/g)].map(([, tag = ""]) => tag));

/** Returns the rendered page without the content of its code. Texts from the run may change only that content. */
function skeletonOf(run: LoggedRun): string {
  return viewer
    .render(toMarkdown(run, { maxChars: Number.POSITIVE_INFINITY }))
    .replaceAll(/(<code[^>]*>)[^<]*<\/code>( \(cut\))?/g, "$1</code>")
    .replaceAll("(empty)", "<code></code>")
    .replaceAll("language-json", "language-text");
}

const payloads: readonly string[] = [
  "<script>alert(1)</script>",
  '<img src="x" onerror="alert(1)">',
  "```\n</code></pre><script>alert(1)</script>",
  "````\n# Heading\n~~~~~\n> quote",
  "`".repeat(40),
  "`` ` `` <b>bold</b> ``",
  "[click](javascript:alert(1)) ![pixel](https://evil.example/p.png)",
  "https://evil.example/auto <https://evil.example>",
  "[ref]: https://evil.example\n\n[ref]",
  "</details><details open>\n\n## Run",
  "\r```\r# Heading\r",
  "\u2028```\u2028# Heading\u0085```\u000b```",
  "\u202E\u2066\u001b[31m ANSI \u0000",
  "    indented\n\ttab\n1. list\n- list\n---\n***\n===",
  "| a | b |\n|---|---|\n| `|` | x |",
  "&lt;script&gt; &#60;b&#62; \\` \\\\",
  "$$x$$ :smile: @someone #1 <!-- comment",
  "<svg><animate onbegin=alert(1)></svg>",
];

describe("toMarkdown with hostile text", () => {
  it.for(payloads)("writes %j as plain characters in all places", (payload) => {
    const texts = { system: payload, said: payload, text: payload, reasoning: payload, name: payload, error: payload };
    expect(skeletonOf(runWith({ ...texts, args: payload, result: payload }))).toBe(skeletonOf(runWith()));
    expect(skeletonOf(runWith({ args: { [payload]: payload }, result: [payload] }))).toBe(skeletonOf(runWith()));
  });

  it("writes any random text as plain characters", () => {
    const piece = fc.oneof(
      fc.constantFrom(...payloads, "`", "\n", "\r", " ", "<", ">", "~", "#", "[", "]("),
      fc.string(),
      fc.string({ unit: "binary" }),
    );
    const text = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => `${pieces.join("")}.`);
    const texts = fc.record({
      system: text,
      said: text,
      text,
      reasoning: text,
      name: text,
      args: fc.oneof(text, fc.dictionary(text, text)),
      result: text,
      error: text,
    });
    const expected = skeletonOf(runWith());
    fc.assert(
      fc.property(texts, (all) => {
        expect(skeletonOf(runWith(all))).toBe(expected);
      }),
    );
  });

  it("produces only the elements of a transcript", () => {
    expect([...tags(skeletonOf(runWith()))].toSorted()).toEqual([
      "blockquote",
      "code",
      "details",
      "em",
      "h1",
      "h2",
      "h3",
      "li",
      "p",
      "pre",
      "strong",
      "summary",
      "ul",
    ]);
  });

  it("keeps the exact text of a code block", () => {
    const text = "  # A\n\n```js\nlet a = 1;\n```\n\tB  \n";
    const code = viewer.parse(toMarkdown(runWith({ text })), {}).filter(({ type }) => type === "fence");
    expect(code.map(({ content }) => content)).toContain(`${text}\n`);
  });
});
