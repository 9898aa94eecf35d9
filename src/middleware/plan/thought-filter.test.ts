import fc from "fast-check";
import { expect, it } from "vitest";
import { ThoughtFilter } from "./plan-scanner.ts";

it.for<[text: string, left: string]>([
  ['{"a":1}', '{"a":1}'],
  ["<think>{}</think>{}", "{}"],
  ["\n <think>so</think> {}", " {}"],
  ["<think>a</think>b<think>c</think>", "b<think>c</think>"],
  ["<thing>{}</thing>", "<thing>{}</thing>"],
  ["x<think>{}</think>", "x<think>{}</think>"],
  ["<think>never ends {}", ""],
  ["<think></thin</think>x", "x"],
  [" \n x ", "x "],
  ["", ""],
])("ThoughtFilter: turns the text %j into %j, in pieces of any size", ([text, left]) => {
  const pieces = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: text.length, maxLength: text.length });
  fc.assert(
    fc.property(pieces, (sizes) => {
      const filter = new ThoughtFilter();
      let said = "";
      for (let at = 0, size = 0; at < text.length; at += size) {
        size = sizes[at] ?? 1;
        said += filter.take(text.slice(at, at + size));
      }
      expect(said).toBe(left);
    }),
  );
});
